-- The order of tokens is stored in every row of dedup_token, so new statistics mean a new side table. Locks in the order
-- in which a save reads: token_frequency, then dedup_token. A save that has read the old order is waited for.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.refresh_dedup() returns bigint
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_rows bigint;
begin
  if not pgmem.is_reviewer() then
    raise exception using errcode = 'PM004', message = 'refresh_dedup is maintenance: connect as the owner or a reviewer.';
  end if;
  lock table pgmem.token_frequency in access exclusive mode;
  lock table pgmem.dedup_token in access exclusive mode;
  delete from pgmem.token_frequency;
  insert into pgmem.token_frequency (token, frequency)
  select hashtextextended(word, 0), count(*) from pgmem.node n cross join unnest(n.title_tokens) word
  where n.status = 'active' group by 1 having count(*) > 1;
  truncate pgmem.dedup_token;
  insert into pgmem.dedup_token (node_seq, scope_key, token, signature, size, weight)
  select n.seq, n.scope_key, p.token, pgmem.token_signature(r.ranked), cardinality(r.ranked),
         2 * cardinality(r.ranked) - 3 * (p.position::integer - 1)
  from pgmem.node n
  cross join lateral (select pgmem.ranked_tokens(n.title_tokens) as ranked offset 0) r
  cross join lateral unnest(r.ranked[1 : cardinality(r.ranked) / 2 + 1]) with ordinality as p(token, position)
  where n.status = 'active' and n.title_tokens is not null;
  get diagnostics v_rows = row_count;
  return v_rows;
end;
$$;
comment on function pgmem.refresh_dedup() is
  'Take a new snapshot of how frequent title tokens are and rebuild the near-duplicate index by it; rows written.';
