-- The order of tokens is stored in every row of dedup_token, so new statistics mean a new side table. Every writer holds
-- the same lock shared (lock_scope): a save that has read the old order is waited for. Rows are deleted, not truncated:
-- who only reads goes on with the old order and the old rows.
-- Worth it where as many titles have come as were counted (and 1000 at least): their words count as rare until then, and common
-- words bring many candidates. Each doubling pays once, and saves wait for it once.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.refresh_dedup(p_if_worth boolean default false) returns bigint
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_rows bigint;
  v_last pgmem.upkeep;
begin
  if not p_if_worth and not pgmem.is_reviewer() then
    raise exception using errcode = 'PM004', message = 'refresh_dedup is maintenance: connect as the owner or a reviewer.';
  end if;
  if p_if_worth then
    select u.* into v_last from pgmem.upkeep u where u.task = 'refresh_dedup';
    -- The newest node says at no price where nothing can have come.
    if coalesce((select max(n.seq) from pgmem.node n), 0) - v_last.last_seq < greatest(1000, v_last.counted)
       or (select count(*) from pgmem.node n where n.seq > v_last.last_seq and n.status = 'active' and n.title_tokens is not null)
          < greatest(1000, v_last.counted) then
      return 0;
    end if;
    perform from pgmem.upkeep u where u.task = 'refresh_dedup' and u.done_at = v_last.done_at for update skip locked;
    if not found then
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
  'where as many titles have come as were counted.';
