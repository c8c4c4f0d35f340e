-- Maintenance. Confidence is computed when read, so decay itself writes nothing: no updated_at, no version, no graph. What a
-- threshold archives is a change of status like any other: it gets a version, and keeps its updated_at. Without identity the whole
-- store is meant, else the caller's tenant. Locks: the scopes of the batch sorted, then its nodes by seq.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.decay_scores(p_max_age_days integer default null, p_decay_rate float8 default null,
  p_archive_below float8 default null, p_dry_run boolean default false, p_limit integer default 2000,
  out affected bigint, out archived integer, out remaining bigint)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller  pgmem.caller := pgmem.require_keeper('decay_scores');
  v_rate    float8 := coalesce(p_decay_rate, pgmem.setting_float('decay_rate'));
  v_days    integer := coalesce(p_max_age_days, pgmem.setting_int('decay_max_age_days'));
  v_before  timestamptz;
  v_dead    timestamptz;
  v_seqs    bigint[];
  v_key     bigint;
begin
  if v_rate < 0 or v_days < 0 or not coalesce(p_archive_below, 0) between 0 and 1 or coalesce(p_limit, 0) not between 1 and 5000 then
    raise exception using errcode = 'PM001',
      message = 'decay_rate and max_age_days are 0 or more, archive_below is from 0 to 1, limit from 1 to 5000.';
  end if;
  if not p_dry_run and (p_decay_rate is not null or p_max_age_days is not null) then
    -- From now on every reader's figure follows these.
    perform pgmem.set_setting('decay_rate', v_rate::text) where v_rate <> pgmem.setting_float('decay_rate');
    perform pgmem.set_setting('decay_max_age_days', v_days::text) where v_days <> pgmem.setting_int('decay_max_age_days');
  end if;
  v_before := pgmem.now() - make_interval(days => v_days);
  select count(*) into affected from pgmem.node n join pgmem.label l on l.name = n.label and l.kind = 'memory'
  where v_rate > 0 and n.updated_at < v_before and n.status in ('active', 'approved')
    and (not v_caller.identified or n.tenant in (v_caller.tenant, v_caller.org_id || e'\x1f'));
  archived := 0;
  remaining := 0;
  if coalesce(p_archive_below, 0) = 0 or v_rate = 0 then
    return;
  end if;
  -- initial * exp(-rate * days) < below, as a bound on updated_at that no row needs a power for where initial is 1.
  v_dead := least(v_before, pgmem.now() - make_interval(secs => greatest(0, -ln(p_archive_below)) / v_rate * 86400));
  select count(*), (array_agg(n.seq order by n.seq))[1 : p_limit] into remaining, v_seqs
  from pgmem.node n join pgmem.label l on l.name = n.label and l.kind = 'memory'
  where n.updated_at < v_before and n.status in ('active', 'approved')
    and (n.updated_at < v_dead or n.initial_confidence * exp(-v_rate * (extract(epoch from pgmem.now() - n.updated_at) / 86400)::float8) < p_archive_below)
    and (not v_caller.identified or n.tenant in (v_caller.tenant, v_caller.org_id || e'\x1f'));
  if p_dry_run or remaining = 0 then
    return;
  end if;
  for v_key in select distinct n.scope_key from pgmem.node n where n.seq = any (v_seqs) order by 1 loop
    perform pgmem.lock_scope(v_key);
  end loop;
  with gone as (
    update pgmem.node n set status = 'archived'
    where n.seq = any (v_seqs) and n.status in ('active', 'approved') and n.updated_at < v_before returning n.seq)
  select count(*) into archived from gone;
  perform pgmem.delete_embeddings(v_seqs);
  remaining := remaining - cardinality(v_seqs);
end;
$$;
comment on function pgmem.decay_scores is
  'How many memories have decayed, and one batch of those below a threshold archived; remaining says how many are left for the next call.';
