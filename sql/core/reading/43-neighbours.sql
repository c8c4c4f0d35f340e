-- Neighbours
--
-- The graph around a memory, breadth first over the indexed edge table: it walks edges in both directions, and visits
-- each node once, at its least depth. The path to a node is the list of relations on the way, `<` before those that
-- were walked backwards; of several of the least length, the first in order. Forgotten and merged memories are walked
-- through and not shown. A call reads neighbours_row_limit edges at most, then the walk ends.
--
-- The query reads node itself, by tenants that are looked up once: a view would look them up at every step.
--
-- Locks: none.


select pgmem.declare_answer('neighbour', $$
A memory within some hops, with the relations on the path to it.

like keyed_memory
status text, depth integer, path [text]
by person|agent?: Who said it; agent: also a program or a file.
$$);

select pgmem.declare_answer('neighbours', $$
The memories around one, nearest first.

nodes neighbour[]
$$);

create or replace function pgmem.neighbours(
  p_label text,
  p_key text,
  p_hops pgmem.hops default 1,
  p_limit pgmem.row_limit default 50,
  p_project_id text default null
) returns setof pgmem.neighbour
language plpgsql stable security definer set search_path = pgmem, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
declare
  v_tenants     text[] := pgmem.visible_tenants();
  v_project_seq bigint := case when p_project_id is not null then pgmem.find_project(p_project_id) end;
  v_start       pgmem.node := pgmem.find_node(p_label, p_key, v_project_seq, v_tenants);
  v_budget      integer := pgmem.setting_int('neighbours_row_limit');
  v_seen        bigint[] := array[v_start.seq];
  v_front       bigint[] := v_seen;
  v_paths       jsonb[] := '{[]}';
  v_shown       integer;
  v_read        integer;
  v_found       integer := 0;
begin
  for v_depth in 1 .. p_hops loop
    select array_agg(nearest.seq), array_agg(nearest.path), max(nearest.edges),
           count(*) filter (where nearest.status not in ('archived', 'merged'))
    into v_front, v_paths, v_read, v_shown
    from (select distinct on (n.seq) n.seq, n.status, edge.path || to_jsonb(edge.hop) as path, edge.edges
          from (select e.*, count(*) over () as edges
                from (select step.seq, step.hop, front.path
                      from unnest(v_front, v_paths) as front(seq, path)
                      cross join lateral (
                        select e.dst as seq, e.rel as hop from pgmem.edge e where e.src = front.seq
                        union all
                        select e.src, '<' || e.rel from pgmem.edge e where e.dst = front.seq) step
                      limit v_budget) e) edge
          join pgmem.node n on n.seq = edge.seq and n.tenant = any (v_tenants)
          where n.seq <> all (v_seen)
          order by n.seq, edge.path || to_jsonb(edge.hop)) nearest;
    exit when v_front is null;
    return query
    select n.id, n.label, n.key::text, n.title::text, n.status::text, v_depth, reached.path,
           pgmem.said_by(n.source, n.trust_level)
    from unnest(v_front, v_paths) as reached(seq, path) join pgmem.node n on n.seq = reached.seq
    where n.status not in ('archived', 'merged') order by n.seq limit p_limit - v_found;
    v_found := v_found + v_shown;
    v_budget := v_budget - v_read;
    exit when v_found >= p_limit or v_budget <= 0;
    v_seen := v_seen || v_front;
  end loop;
end;
$$;
comment on function pgmem.neighbours is $$
List the memories within some hops of one, nearest first, each with the relations on the way.

The walk ends when it has read as many edges as the setting neighbours_row_limit says.

hops: Relations away at most, 1 to 5.
project_id: Where to look; unset: everywhere.

MemoryNotFound: the project or the memory does not exist.
AmbiguousName: a name fits several memories; the message lists their ids.
InvalidArgument: an unknown label, an empty key, or hops or limit out of bounds.
$$;
select pgmem.declare_verb('neighbours', p_rights => 'reader', p_effect => 'read', p_answer => 'Neighbours',
  p_patience => 'answer', p_toolset => 'graph',
  p_description =>
    'Memories connected with a memory, nearest first, with the relations on the way.');
