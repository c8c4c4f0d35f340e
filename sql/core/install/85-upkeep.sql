-- Upkeep: the hourly sweep, and the numbers of a probe
--
-- sweep removes old records of finished saves and old turns, and archives memories that have decayed, a batch a call;
-- while more remains, the next call goes on. The row of the task in pgmem.upkeep says when it was last finished, and
-- its lock says that a worker is at it, so any number of workers may call.
--
-- backlog is read by probes every few seconds, so it counts neither memories nor vectors.
--
-- Locks: the row of the task, then rows of save_attempt (both skip locked); those of decay_scores.


select pgmem.declare_answer('backlog', $$
Counts of pending work over the whole store; `tenants` is whether the store has any.

tier text, isolation_layers integer, renewing text[], embeddings_waiting bigint, embeddings_refused bigint
saves_open {integer}, tenants boolean, walls former_number
$$);

create or replace function pgmem.backlog() returns pgmem.backlog
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.backlog;
begin
  if not (pgmem.is_trusted() or pgmem.is_reviewer()) then
    raise exception using errcode = 'PM004',
      message = 'backlog counts over all tenants: connect as the owner, a reviewer or a member of pgmem_trusted.';
  end if;
  select s.tier, s.isolation_layers into v_answer.tier, v_answer.isolation_layers from pgmem.server_tier() s;
  v_answer.walls := v_answer.isolation_layers;
  select count(*), count(*) filter (where q.attempts >= 5) into v_answer.embeddings_waiting, v_answer.embeddings_refused
  from pgmem.embedding_queue q;
  select coalesce(jsonb_object_agg(a.status, a.saves), '{}') into v_answer.saves_open
  from (select a.status, count(*) as saves from pgmem.save_attempt a
        where a.status not in ('saved', 'dropped') group by 1) a;
  v_answer.tenants := pgmem.has_tenants() or pgmem.setting_text('require_identity') = 'true';
  v_answer.renewing := array(select r.step from pgmem.renewal r where r.done_at is null order by r.step);
  return v_answer;
end;
$$;
comment on function pgmem.backlog is $$
The pending work of the whole store: texts to embed, open saves, rows of an earlier release.

NotPermitted: the login is neither owner, nor reviewer, nor a member of pgmem_trusted.
$$;
select pgmem.declare_verb('backlog', p_rights => 'worker', p_effect => 'look', p_answer => 'Backlog',
  p_reach => 'sum', p_least => '{isolation_layers,walls,tier}');


create or replace function pgmem.sweep_texts(p_limit integer) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_before timestamptz := pgmem.now() - make_interval(days => pgmem.setting_int('save_arguments_days'));
begin
  with old as (
    select a.tenant, a.save_id from pgmem.save_attempt a
    where a.arguments is not null and a.updated_at < v_before
    order by a.updated_at limit p_limit for update skip locked
  )
  update pgmem.save_attempt a set status = 'dropped', arguments = null, batch = null,
    message = 'Its arguments were removed after save_arguments_days.', updated_at = pgmem.now()
  from old where a.tenant = old.tenant and a.save_id = old.save_id;
  update pgmem.governance_token t set preview = '' where t.preview <> '' and t.expires_at < v_before;
end;
$$;
comment on function pgmem.sweep_texts is
  'Remove the arguments of old saves that were not made, and the previews of old approvals.';


select pgmem.declare_answer('sweep', $$
One batch of sweeping; all 0 if another worker sweeps, or if the last sweep was less than an hour ago.

saves_pruned integer, turns_expired integer, archived integer, remaining bigint
rows_pruned integer: Records of recall, changes of the feed, and rows of features.
compared integer: Sources that were compared, and states that became the present ones.
$$);

create or replace function pgmem.sweep(
  p_limit integer default 2000
) returns pgmem.sweep
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_step   name;
  v_done   integer;
  v_answer pgmem.sweep;
  v_below float8 := pgmem.setting_float('decay_archive_below');
begin
  v_answer.saves_pruned := 0;
  v_answer.turns_expired := 0;
  v_answer.archived := 0;
  v_answer.remaining := 0;
  v_answer.rows_pruned := 0;
  v_answer.compared := 0;
  perform pgmem.integer_between('limit', p_limit, 1, 5000);
  perform from pgmem.upkeep u
  where u.task = 'sweep' and u.done_at < pgmem.now() - interval '1 hour' for update skip locked;
  if not found then
    return v_answer;
  end if;
  with old as (
    select a.tenant, a.save_id from pgmem.save_attempt a
    where a.status in ('saved', 'dropped', 'partial')
      and a.updated_at < pgmem.now() - make_interval(days => pgmem.setting_int('save_attempt_days'))
    order by a.updated_at limit p_limit for update skip locked
  )
  delete from pgmem.save_attempt a using old where a.tenant = old.tenant and a.save_id = old.save_id;
  get diagnostics v_answer.saves_pruned = row_count;
  v_answer.turns_expired := pgmem.expire_turns(p_limit);
  v_answer.remaining := (p_limit in (v_answer.saves_pruned, v_answer.turns_expired))::integer;
  for v_step in select 'prune_recall' union all select * from pgmem.steps('sweep') loop
    execute format('select pgmem.%I($1)', v_step) into v_done using p_limit;
    v_answer.rows_pruned := v_answer.rows_pruned + v_done;
    v_answer.remaining := greatest(v_answer.remaining, (v_done = p_limit)::integer);
  end loop;
  perform pgmem.sweep_texts(p_limit);
  foreach v_done in array array[pgmem.check_sources(p_limit), pgmem.settle_due(p_limit)] loop
    v_answer.compared := v_answer.compared + v_done;
    v_answer.remaining := greatest(v_answer.remaining, (v_done = p_limit)::integer);
  end loop;
  -- Only the owner and reviewers may archive; a worker under another login leaves it to one of theirs.
  if v_below > 0 and pgmem.is_reviewer() then
    -- Without an identity decay_scores means every tenant, whatever identity the worker has.
    perform set_config('pgmem.org_id', '', true), set_config('pgmem.user_id', '', true);
    select d.archived, v_answer.remaining + d.remaining into v_answer.archived, v_answer.remaining
    from pgmem.decay_scores(p_archive_below => v_below, p_limit => p_limit) d;
  end if;
  if v_answer.remaining = 0 then
    update pgmem.upkeep u set done_at = pgmem.now() where u.task = 'sweep';
  end if;
  return v_answer;
end;
$$;
comment on function pgmem.sweep is $$
Do one batch of the hourly work; remaining is above 0 while more is left.

Records of finished saves are deleted after save_attempt_days; the arguments of other saves and the previews of
approvals are removed after save_arguments_days; captured turns are deleted after turn_days, changes in the feed
after feed_days, records of recall after recall_days. Memories below decay_archive_below are archived, if that setting
is above 0 and the login is the owner or a reviewer. The turns and memories that others rest on are compared once a day. A
call while another worker sweeps does nothing. States that have become true are made the present ones.

limit: How many records and memories at most, 1 to 5000.

InvalidArgument: the limit is not between 1 and 5000.
$$;
select pgmem.declare_verb('sweep', p_rights => 'worker', p_effect => 'remove', p_answer => 'Sweep',
  p_patience => 'report', p_reach => 'sum',
  p_reads => 5000);
