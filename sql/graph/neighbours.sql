-- A recursive query over the indexed edge table: breadth first, each node once, at its least depth. Reads node itself, by
-- the caller's tenants, which are looked up once.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.neighbours(p_label text, p_key text, p_hops integer default 1, p_limit integer default 50,
  p_project_id text default null)
returns table (id uuid, label text, key text, title text, status text, depth integer, path jsonb)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_tenants text[] := pgmem.visible_tenants();
  v_start   pgmem.node;
begin
  if coalesce(p_hops, 0) not between 1 and 5 then
    raise exception using errcode = 'PM001', message = 'hops is a whole number from 1 to 5.';
  end if;
  if coalesce(p_limit, 0) not between 1 and 1000 then
    raise exception using errcode = 'PM001', message = 'limit is a whole number from 1 to 1000.';
  end if;
  v_start := pgmem.find_node(p_label, p_key, case when p_project_id is not null then pgmem.find_project(p_project_id) end, v_tenants);
  return query
  with recursive walk(seq, depth, path, id, label, key, title, status) as (
    select v_start.seq, 0, '{}'::text[], v_start.id, v_start.label, v_start.key::text, v_start.title::text, v_start.status::text
    union all
    select n.seq, w.depth + 1, w.path || step.hop, n.id, n.label, n.key, n.title, n.status
    from walk w
    cross join lateral (
      select e.dst as seq, e.rel as hop from pgmem.edge e where e.src = w.seq
      union all
      select e.src, '<' || e.rel from pgmem.edge e where e.dst = w.seq) step
    join pgmem.node n on n.seq = step.seq and n.tenant = any (v_tenants)
    where w.depth < p_hops
  )
  select nearest.id, nearest.label, nearest.key, nearest.title, nearest.status, nearest.depth, to_jsonb(nearest.path)
  from (select distinct on (w.seq) w.* from walk w where w.seq <> v_start.seq order by w.seq, w.depth, w.path) nearest
  where nearest.status not in ('archived', 'merged')
  order by nearest.depth, nearest.seq limit p_limit;
end;
$$;
comment on function pgmem.neighbours is
  'The nodes within some hops of one, nearest first, with the relations on the way (< marks one walked backwards).';
