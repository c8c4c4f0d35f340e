-- Reads tables themselves: the caller names a card it has found through what the tenant may see.
create or replace function pgmem.weigh_card(p_seq bigint) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_status text;
  v_weight float8;
begin
  select n.status, pgmem.card_weight(n.props, n.status,
           (select count(*) from pgmem.card_evidence e where e.node_seq = n.seq),
           exists (select from pgmem.edge e where e.dst = n.seq and e.rel in ('CONTRADICTS', 'SUPERSEDES')))
  into v_status, v_weight from pgmem.node n where n.seq = p_seq;
  update pgmem.card_subject s set status = v_status, weight = v_weight
  where s.node_seq = p_seq and (s.status, s.weight) is distinct from (v_status, v_weight);
end;
$$;
comment on function pgmem.weigh_card(bigint) is 'Bring the status and weight on a card''s subjects up to date.';
