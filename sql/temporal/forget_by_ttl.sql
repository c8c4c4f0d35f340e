-- Maintenance. Without identity the whole store is meant, else the caller's tenant. Locks: the scopes of the batch sorted, then its
-- nodes by seq.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.forget_by_ttl(p_days integer, p_label text default null, p_project_id text default null,
  p_purge boolean default false, p_dry_run boolean default false, p_limit integer default 1000,
  out affected integer, out remaining bigint)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller      pgmem.caller := pgmem.require_keeper('forget_by_ttl');
  v_project_seq bigint := pgmem.find_project(p_project_id);
  v_before      timestamptz := pgmem.now() - make_interval(days => p_days);
  v_seqs        bigint[];
  v_key         bigint;
begin
  if coalesce(p_days, -1) < 0 or coalesce(p_limit, 0) not between 1 and 5000 then
    raise exception using errcode = 'PM001', message = 'days is 0 or more, limit from 1 to 5000.';
  end if;
  if p_label is not null then
    perform pgmem.require_label(p_label);
  end if;
  affected := 0;
  select count(*), (array_agg(n.seq order by n.seq))[1 : p_limit] into remaining, v_seqs
  from pgmem.node n join pgmem.label l on l.name = n.label and l.kind = 'memory'
  where n.updated_at < v_before and (p_label is null or n.label = p_label)
    and (p_project_id is null or n.project_seq = v_project_seq)
    and (p_purge or n.status in ('active', 'approved', 'stub'))
    and (not v_caller.identified or n.tenant in (v_caller.tenant, v_caller.org_id || e'\x1f'));
  if p_dry_run or remaining = 0 then
    return;
  end if;
  for v_key in select distinct n.scope_key from pgmem.node n where n.seq = any (v_seqs) order by 1 loop
    perform pgmem.lock_scope(v_key);
  end loop;
  -- A memory that was touched while we waited is spared.
  select coalesce(array_agg(n.seq), '{}') into v_seqs from pgmem.node n where n.seq = any (v_seqs) and n.updated_at < v_before;
  perform pgmem.delete_embeddings(v_seqs);
  if p_purge then
    delete from pgmem.node n where n.seq = any (v_seqs);
  else
    update pgmem.node n set status = 'archived', updated_at = greatest(pgmem.now(), n.created_at) where n.seq = any (v_seqs);
  end if;
  affected := cardinality(v_seqs);
  remaining := remaining - affected;
end;
$$;
comment on function pgmem.forget_by_ttl is
  'Forget, or purge, one batch of the memories that nobody has touched for some days; remaining says how many are left.';
