-- The order of tokens is stored in every row of dedup_token, so new statistics mean a new side table. Every writer holds
-- the same lock shared (lock_scope): a save that has read the old order is waited for. Rows are deleted, not truncated:
-- who only reads goes on with the old order and the old rows.
-- Saves wait for it, so the worker does it up to dedup_refresh_limit titles; beyond, a person does at a quiet hour.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.refresh_dedup(p_if_worth boolean default false) returns bigint
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_rows bigint;
begin
  if not p_if_worth and not pgmem.is_reviewer() then
    raise exception using errcode = 'PM004', message = 'refresh_dedup is maintenance: connect as the owner or a reviewer.';
  end if;
  if p_if_worth then
    if not (select d.due and d.by_worker from pgmem.dedup_due() d) then
      return 0;
    end if;
    perform from pgmem.upkeep u where u.task = 'refresh_dedup' for update skip locked;
    -- Asked again: another worker may have done it since.
    if not found or not (select d.due from pgmem.dedup_due() d) then
      return 0;
    end if;
    -- Every save queues behind this lock: behind a long transaction it is given up and tried in the next round.
    perform set_config('lock_timeout', '2s', true);
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
  update pgmem.upkeep u set done_at = pgmem.clock(), counted = t.titles, last_seq = t.last_seq
  from (select count(*) as titles, coalesce(max(n.seq), 0) as last_seq from pgmem.node n
        where n.status = 'active' and n.title_tokens is not null) t
  where u.task = 'refresh_dedup';
  return v_rows;
end;
$$;
comment on function pgmem.refresh_dedup(boolean) is
  'Take a new snapshot of how frequent title tokens are and rebuild the near-duplicate index by it; rows written. With p_if_worth only '
  'where dedup_due says so.';
