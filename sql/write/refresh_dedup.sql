-- The order of tokens is stored in every row of dedup_token, so new statistics mean a new side table. Every writer holds
-- the same lock shared (lock_scope): a save that has read the old order is waited for. Rows are deleted, not truncated:
-- who only reads goes on with the old order and the old rows.
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
  perform pg_advisory_xact_lock(hashtextextended('pgmem.token_order', 0));
  delete from pgmem.token_frequency;
  insert into pgmem.token_frequency (token, frequency)
  select hashtextextended(word, 0), count(*) from pgmem.node n cross join unnest(n.title_tokens) word
  where n.status = 'active' group by 1 having count(*) > 1;
  delete from pgmem.dedup_token;
  insert into pgmem.dedup_token (node_seq, scope_key, token, signature, size, weight)
  select n.seq, n.scope_key, e.token, e.signature, e.size, e.weight
  from pgmem.node n
  cross join lateral pgmem.ranked_tokens(n.title_tokens) r
  cross join lateral pgmem.title_entries(r.ranked) e
  where n.status = 'active' and n.title_tokens is not null;
  get diagnostics v_rows = row_count;
  return v_rows;
end;
$$;
comment on function pgmem.refresh_dedup() is
  'Take a new snapshot of how frequent title tokens are and rebuild the near-duplicate index by it; rows written.';
