-- Once an hour, by one worker at a time: whoever holds the row of the task is at it, the others go on. A batch a call; while there is
-- more the next call goes on.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.sweep(p_limit integer default 2000,
  out saves_pruned integer, out archived integer, out remaining bigint)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_below float8 := pgmem.setting_float('decay_archive_below');
begin
  saves_pruned := 0;
  archived := 0;
  remaining := 0;
  if coalesce(p_limit, 0) not between 1 and 5000 then
    raise exception using errcode = 'PM001', message = 'limit is a whole number from 1 to 5000.';
  end if;
  perform from pgmem.upkeep u where u.task = 'sweep' and u.done_at < pgmem.now() - interval '1 hour' for update skip locked;
  if not found then
    return;
  end if;
  with old as (
    select a.tenant, a.save_id from pgmem.save_attempt a
    where a.status in ('saved', 'dropped') and a.updated_at < pgmem.now() - make_interval(days => pgmem.setting_int('save_attempt_days'))
    order by a.updated_at limit p_limit for update skip locked
  )
  delete from pgmem.save_attempt a using old where a.tenant = old.tenant and a.save_id = old.save_id;
  get diagnostics saves_pruned = row_count;
  remaining := case when saves_pruned = p_limit then 1 else 0 end;
  -- To archive is a keeper's right; a worker that only serves agents leaves it to one that may.
  if v_below > 0 and pgmem.is_reviewer() then
    -- The whole store is meant, whoever the worker embeds for.
    perform set_config('pgmem.org_id', '', true), set_config('pgmem.user_id', '', true);
    select d.archived, remaining + d.remaining into archived, remaining
    from pgmem.decay_scores(p_archive_below => v_below, p_limit => p_limit) d;
  end if;
  if remaining = 0 then
    update pgmem.upkeep u set done_at = pgmem.now() where u.task = 'sweep';
  end if;
end;
$$;
comment on function pgmem.sweep(integer) is
  'Prune the records of saves that were finished save_attempt_days ago, and archive what has decayed below decay_archive_below; once an hour.';
