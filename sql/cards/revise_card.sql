create or replace function pgmem.revise_card(p_node pgmem.node, p_action text, p_from_status text, p_by text, p_reason text default null)
returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  insert into pgmem.card_revision (node_seq, version, action, from_status, to_status, by, reason, created_at)
  values (p_node.seq, p_node.version, p_action, p_from_status, p_node.status, p_by, p_reason, pgmem.clock());
end;
$$;
comment on function pgmem.revise_card(pgmem.node, text, text, text, text) is 'Write down who did what to a card, and why.';
