-- Pages for a person
--
-- The page (pgmem/features/ui) shows memories by id, lists them, draws their relations, and counts the items that wait for a
-- person. These verbs give it that; agents have others. None reads more rows than a limit that it names: a page is quick in a
-- store of any size.
--
-- A list goes on after the last memory of the page before (p_after), by seq, the order of writing: no page is counted
-- through, and nothing is shown twice where others write meanwhile.
--
-- Locks: none.


create or replace function pgmem.find_memory(p_id uuid) returns pgmem.memory_state
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_state pgmem.memory_state;
begin
  select s.* into v_state from pgmem.find_memories(array[p_id]) s;
  if v_state.id is null then
    raise exception using errcode = 'PM002', message = format(
      'No memory %s found.%s', p_id,
      (select format(' It was purged on %s by %s.', t.purged_at::date, t.purged_by) from pgmem.tombstone t
       where t.id = p_id and t.tenant = any (pgmem.visible_tenants()) order by t.purged_at desc limit 1));
  end if;
  return v_state;
end;
$$;
comment on function pgmem.find_memory is $$
Read one memory of any label by its id alone, forgotten ones too.

id: The id of the memory.

MemoryNotFound: no such memory is visible to the caller; the message says when it was purged.
$$;
select pgmem.declare_verb('find_memory', p_rights => 'reader', p_effect => 'read', p_answer => 'Node');


create or replace function pgmem.find_memories(p_ids uuid[]) returns setof pgmem.memory_state
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
begin
  if cardinality(p_ids) > 200 then
    raise exception using errcode = 'PM001', message = 'ids are 200 at most; send fewer.';
  end if;
  return query
  -- Lateral: each id reaches its state by the index on the id; joined to a whole, the view is read for all memories.
  select s.* from pgmem.visible_node n
  cross join lateral (select m.* from pgmem.memory_state m where m.id = n.id and m.version = n.version offset 0) s
  where n.id = any (p_ids) and pgmem.is_memory(n.label);
end;
$$;
comment on function pgmem.find_memories is $$
Read several memories by their ids, forgotten ones too; an id that does not exist has no row.

ids: At most 200.

InvalidArgument: more than 200 ids.
$$;
select pgmem.declare_verb('find_memories', p_rights => 'reader', p_effect => 'read', p_answer => 'list[Node]',
  p_reads => 2000);


select pgmem.declare_answer('project_entry', $$
A project with the number of its live memories and the names of its focus areas.

name text, memories bigint, focus_areas text[], created_at timestamptz
cards bigint = 0: Its live cards, which are counted apart.
$$);

create or replace function pgmem.list_projects(p_limit pgmem.row_limit default 100) returns setof pgmem.project_entry
language sql stable security definer set search_path = pgmem, pg_temp as $$
  with counted as (
    select n.project_seq, count(*) filter (where n.label <> 'Card') as memories,
           count(*) filter (where n.label = 'Card') as cards
    from pgmem.visible_node n
    where pgmem.is_live_status(n.status) and pgmem.is_memory(n.label) and n.label <> 'Insight'
    group by n.project_seq)
  select p.title::text, coalesce(c.memories, 0),
         array(select f.title::text from pgmem.visible_node f
               where f.label = 'FocusArea' and f.project_seq = p.seq order by f.title),
         p.created_at, coalesce(c.cards, 0)
  from pgmem.visible_node p left join counted c on c.project_seq = p.seq
  where p.label = 'Project' and p.status = 'active'
  order by 2 desc, p.title limit p_limit;
$$;
comment on function pgmem.list_projects is $$
List the projects that the caller sees, the largest first: name, live memories, focus areas, cards.
$$;
select pgmem.declare_verb('list_projects', p_rights => 'reader', p_effect => 'look', p_answer => 'list[ProjectEntry]',
  p_toolset => 'core', p_description => 'The projects that exist, the largest first. Look before you name a new one.',
  p_reads_all => 'It counts the memories of each project.');


select pgmem.declare_answer('memory_entry', $$
A memory in a list; the excerpt is the beginning of its text. A card has a branch until it is merged.

id uuid, label text, title text, excerpt text?, status text, project text?, scope text?, focus text?, source text
trust_level float8, agent_id text?, session_id text?, branch text?, version integer, created_at timestamptz
updated_at timestamptz
by person|agent?: Who said it; agent: also a program or a file.
author text?: The agent that saved it first; agent_id is the last writer.
$$);

create or replace function pgmem.list_memories(
  p_project_id text default null,
  p_labels text[] default null,
  p_status text default null,
  p_source text default null,
  p_agent_id text default null,
  p_session_id text default null,
  p_as_of timestamptz default null,
  p_known_at timestamptz default null,
  p_branch text default null,
  p_after uuid default null,
  p_limit pgmem.row_limit default 50
) returns setof pgmem.memory_entry
language plpgsql stable security definer set search_path = pgmem, pg_temp
-- Custom, so that a filter that is not given reads no column.
set plan_cache_mode = force_custom_plan as $$
declare
  v_tenants text[] := pgmem.visible_tenants();
  v_project bigint := pgmem.find_project(p_project_id);
  v_after   bigint := (select n.seq from pgmem.visible_node n where n.id = p_after);
  v_told    boolean := p_labels is null and p_status is null and p_branch is null;
begin
  if p_as_of is not null or p_known_at is not null then
    -- The newest are found without their texts, which are read for those that are shown.
    return query
    select s.id, s.label, s.title::text, pgmem.excerpt(pgmem.text_under(s.label, s.title, s.props)), s.status::text,
           s.project, s.scope::text, s.focus, s.source, s.trust_level::float8, s.agent_id, s.session_id,
           pgmem.branch_of(s.label, s.props), s.version, s.created_at::timestamptz, s.updated_at::timestamptz,
           pgmem.said_by(s.source, s.trust_level), pgmem.author(s.seq, s.version, s.agent_id)
    from (select m.seq, m.version from pgmem.memories_at(v_tenants, p_as_of, p_known_at) m
          where (v_project is null or m.project_seq = v_project) and (not v_told or not pgmem.is_derived(m.label))
            and (p_labels is null or m.label = any (p_labels))
            and (v_after is null or m.seq < v_after) and (p_status is null or m.status = p_status)
            and (p_source is null or m.source = p_source) and (p_agent_id is null or m.agent_id = p_agent_id)
            and (p_session_id is null or m.session_id = p_session_id) and (p_branch is null or m.branch = p_branch)
          -- Not by the order of an index that would read each memory newer than the time that is asked for.
          order by m.seq + 0 desc limit p_limit) found
    cross join lateral (
      select s.* from pgmem.recorded_state s where s.seq = found.seq and s.version = found.version offset 0) s
    order by found.seq desc;
    return;
  end if;
  return query
  select n.id, n.label, n.title::text, pgmem.excerpt(pgmem.text_under(n.label, n.title, n.props)), n.status::text,
         n.project, n.scope::text, n.focus, n.source, n.trust_level::float8, n.agent_id, n.session_id,
         pgmem.branch_of(n.label, n.props), n.version, n.created_at::timestamptz, n.updated_at::timestamptz,
         pgmem.said_by(n.source, n.trust_level), pgmem.author(n.seq, n.version, n.agent_id)
  from pgmem.node n
  where n.tenant = any (v_tenants) and pgmem.is_memory(n.label) and (v_project is null or n.project_seq = v_project)
    and (not v_told or not pgmem.is_derived(n.label))
    and (p_labels is null or n.label = any (p_labels)) and (v_after is null or n.seq < v_after)
    and case when p_status is not null then n.status = p_status when p_labels = '{Turn}' then n.status = 'captured'
      else n.status not in ('stub', 'draft', 'pending', 'captured') end
    and (p_source is null or n.source = p_source)
    and (p_branch is null or pgmem.branch_of(n.label, n.props) = p_branch)
    and (p_agent_id is null or n.agent_id = p_agent_id) and (p_session_id is null or n.session_id = p_session_id)
  order by n.seq desc limit p_limit;
end;
$$;
comment on function pgmem.list_memories is $$
List memories, the latest written first.

Without a status they are those of every status but drafts, stubs and pending insights, and without the turns of
conversations, which labels of Turn alone lists. Cards and insights, which pgmem writes by the hundred, are listed
where labels, a status or a branch ask for them.

With as_of or known_at: the states that were true then, or on record then. branch is that of a card that is not
everybody's yet.

project_id: Only of this project; unset: of all.
status: Only of this status, such as superseded.
source: Only memories that came in this way: mcp, sdk, cli, ui, sync or sql.
agent_id: Only memories of this agent.
session_id: Only memories written in this session.
branch: Only the cards of this branch, which is not merged.
after: The id of the last memory of the page before; unset: the first page.
$$;
select pgmem.declare_verb('list_memories', p_rights => 'reader', p_effect => 'look', p_answer => 'list[MemoryEntry]',
  p_reads => 5000);


select pgmem.declare_answer('memory_counts', $$
How many memories are live by label; of the present also the first and last time and the growth.

total bigint, labels {integer}, first_at timestamptz?, last_at timestamptz?, growth timeline_count[]?
cards bigint = 0: Live cards, which are counted apart.
$$);

create or replace function pgmem.count_memories(
  p_project_id text default null,
  p_as_of timestamptz default null,
  p_known_at timestamptz default null
) returns pgmem.memory_counts
language plpgsql stable security definer set search_path = pgmem, pg_temp
-- Custom, so that a filter that is not given reads no column.
set plan_cache_mode = force_custom_plan as $$
declare
  v_answer  pgmem.memory_counts;
  v_tenants text[] := pgmem.visible_tenants();
  v_project bigint := pgmem.find_project(p_project_id);
begin
  if p_as_of is not null or p_known_at is not null then
    select coalesce(jsonb_object_agg(c.label, c.count) filter (where c.label <> 'Card'), '{}'),
           coalesce(sum(c.count) filter (where c.label <> 'Card'), 0),
           coalesce(sum(c.count) filter (where c.label = 'Card'), 0)
    into v_answer.labels, v_answer.total, v_answer.cards
    from (select m.label, count(*) from pgmem.memories_at(v_tenants, p_as_of, p_known_at) m
          where m.label not in ('Insight', 'Turn') and (v_project is null or m.project_seq = v_project)
          group by m.label) c;
    return v_answer;
  end if;
  select coalesce(jsonb_object_agg(c.label, c.count) filter (where c.label <> 'Card'), '{}'),
         coalesce(sum(c.count) filter (where c.label <> 'Card'), 0),
         coalesce(sum(c.count) filter (where c.label = 'Card'), 0),
         min(c.first_at) filter (where c.label <> 'Card'), max(c.last_at) filter (where c.label <> 'Card')
  into v_answer.labels, v_answer.total, v_answer.cards, v_answer.first_at, v_answer.last_at
  from (select n.label, count(*), min(least(n.created_at, n.begins_at)) as first_at, max(n.created_at) as last_at
        from pgmem.node n
        where n.tenant = any (v_tenants) and pgmem.is_memory(n.label) and n.label <> 'Insight'
          and pgmem.is_live(n.status, n.valid_from, n.valid_to) and (v_project is null or n.project_seq = v_project)
        group by n.label) c;
  v_answer.growth := pgmem.health_timeline(v_project);
  return v_answer;
end;
$$;
comment on function pgmem.count_memories is $$
Count the live memories by label, with their first and last time and their growth; cards apart.

growth says how many came in each day, week or month.

With as_of or known_at: those that were true then, or on record then; the other figures are null.

project_id: Only of this project; unset: of all.
$$;
select pgmem.declare_verb('count_memories', p_rights => 'reader', p_effect => 'look', p_answer => 'MemoryCounts',
  p_reads_all => 'It counts all memories.');


-- The ends of the edges that leave and reach some nodes; the ends are checked by the caller.
create or replace function pgmem.edges_among(
  p_seqs bigint[],
  p_limit integer,
  p_known_at timestamptz default null
) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select coalesce(jsonb_agg(jsonb_build_object(
           'from_id', s.id, 'rel_type', e.rel, 'to_id', d.id,
           'by', e.props ->> 'by', 'created_at', e.created_at) order by e.seq), '[]')
  from (select e.* from unnest(p_seqs) as one(seq)
        cross join lateral (select * from pgmem.edge e where e.src = one.seq and e.dst = any (p_seqs) offset 0) e
        where p_known_at is null or e.created_at <= p_known_at
        limit p_limit) e
  join pgmem.node s on s.seq = e.src join pgmem.node d on d.seq = e.dst;
$$;
comment on function pgmem.edges_among is
  'The relations between some nodes that the caller sees, as JSON; with known_at those that were on record then.';


create or replace function pgmem.drawn_nodes(p_seqs bigint[], p_depths integer[]) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select coalesce(jsonb_agg(jsonb_build_object(
           'id', n.id, 'label', n.label, 'title', left(n.title, 200), 'status', n.status, 'project', n.project,
           'depth', coalesce(s.depth, 0), 'by', pgmem.said_by(n.source, n.trust_level)) order by s.depth, s.seq), '[]')
  from unnest(p_seqs, p_depths) as s(seq, depth) join pgmem.visible_node n on n.seq = s.seq;
$$;
comment on function pgmem.drawn_nodes is 'Memories of a drawn graph as JSON; without depths all are in the middle.';


select pgmem.declare_answer('drawn_node', $$
A memory of a drawn graph; depth counts the relations from the one in the middle.

like titled_memory
project text?, depth integer
by person|agent?: Who said it; agent: also a program or a file.
$$);

select pgmem.declare_answer('drawn_edge', $$
A relation of a drawn graph; by is the person who decided it; None: nobody.

from_id uuid, rel_type text, to_id uuid, by text?, created_at timestamptz
$$);

select pgmem.declare_answer('drawn_graph', $$
Memories and the relations between them, as a page draws them; left_out counts memories beyond the limit.

nodes drawn_node[], edges drawn_edge[], left_out integer
$$);

create or replace function pgmem.memory_relations(
  p_id uuid,
  p_hops pgmem.hops default 1,
  p_limit pgmem.row_limit default 40
) returns pgmem.drawn_graph
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer  pgmem.drawn_graph;
  v_tenants text[] := pgmem.visible_tenants();
  v_seen    bigint[] := array(select n.seq from pgmem.visible_node n where n.id = p_id);
  v_depths  integer[] := array[0];
  v_front   bigint[] := v_seen;
  v_next    bigint[];
begin
  v_answer.left_out := 0;
  for v_depth in 1 .. p_hops loop
    select array_agg(found.seq order by found.seq) into v_next
    from (select distinct n.seq from unnest(v_front) as front(seq)
          cross join lateral (
            (select e.dst as seq from pgmem.edge e where e.src = front.seq limit 500)
            union all (select e.src from pgmem.edge e where e.dst = front.seq limit 500)) step
          join pgmem.node n on n.seq = step.seq
          where n.tenant = any (v_tenants) and n.seq <> all (v_seen) and pgmem.is_memory(n.label)
            and n.status not in ('archived', 'merged')) found;
    exit when v_next is null;
    v_answer.left_out := v_answer.left_out + greatest(0, cardinality(v_seen) + cardinality(v_next) - p_limit - 1);
    v_next := v_next[: greatest(0, p_limit + 1 - cardinality(v_seen))];
    v_seen := v_seen || v_next;
    v_depths := v_depths || array_fill(v_depth, array[cardinality(v_next)]);
    v_front := v_next;
  end loop;
  v_answer.nodes := pgmem.drawn_nodes(v_seen, v_depths);
  v_answer.edges := pgmem.edges_among(v_seen, 1000);
  return v_answer;
end;
$$;
comment on function pgmem.memory_relations is $$
The memories around one, with the relations between all of them: the data of an ego graph.

The memory itself has depth 0. left_out counts those that the limit leaves out.

id: The id of the memory in the middle.
hops: How many relations away at most, 1 to 5.

InvalidArgument: hops or the limit is out of range.
$$;
select pgmem.declare_verb('memory_relations', p_rights => 'reader', p_effect => 'read', p_answer => 'DrawnGraph');


-- As states_at answers for any moment, of the present record; reads node_version by the seq of a row that the caller sees.
create or replace function pgmem.held_periods(p_node pgmem.node) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  with state as (
    select p_node.begins_at, p_node.valid_to as ends_at, p_node.status::text, p_node.yields
    union all
    select v.begins_at, case when v.replaced_at < 'infinity' then v.ends_at else v.valid_to end, v.status::text, v.yields
    from pgmem.node_version v where v.node_seq = p_node.seq
  ), held as (
    -- Both ends belong to a period. A state that follows at once goes on with it.
    select unnest(range_agg(tstzmultirange(tstzrange(s.begins_at, s.ends_at + interval '1 microsecond'))
                            - coalesce(s.yields, '{}'))) as period
    from state s
    where pgmem.was_live_status(s.status) and not pgmem.is_hidden_status(p_node.status)
      and (s.begins_at <= s.ends_at) is not false
  )
  select coalesce(jsonb_agg(jsonb_build_object('since', lower(h.period), 'until', upper(h.period)) order by h.period), '[]')
  from held h where not isempty(h.period);
$$;
comment on function pgmem.held_periods is
  'When a memory held, whichever of its states, as JSON: since and until, null where it is open; none: it is hidden.';


select pgmem.declare_answer('held_period', $$
A period in which a memory held; None: an open end.

since timestamptz?, until timestamptz?
$$);

select pgmem.declare_answer('line_entry', $$
A memory of a line of replacements, and what replaced it: which, when and who decided.

like titled_memory
created_at timestamptz, valid_from timestamptz?, valid_to timestamptz?, replaced_by uuid?, replaced_at timestamptz?
decided_by text?
held held_period[] = {}: When it held, whichever of its states.
by person|agent?: Who said it; agent: also a program or a file.
$$);

create or replace function pgmem.memory_lineage(p_id uuid) returns setof pgmem.line_entry
language sql stable security definer set search_path = pgmem, pg_temp as $$
  with recursive line(seq) as (
    select n.seq from pgmem.visible_node n where n.id = p_id
    union
    select next.seq from line cross join lateral (
      select e.dst as seq from pgmem.edge e where e.src = line.seq and e.rel in ('SUPERSEDES', 'MERGES_INTO')
      union all
      select e.src from pgmem.edge e where e.dst = line.seq and e.rel in ('SUPERSEDES', 'MERGES_INTO')) next
  )
  select n.id, n.label, n.title::text, n.status::text, n.created_at, coalesce(n.valid_from, n.begins_at), n.valid_to,
         over.id, over.at, over.by, pgmem.held_periods(row(n.*)::pgmem.node), pgmem.said_by(n.source, n.trust_level)
  from (select line.seq from line limit 200) line join pgmem.visible_node n on n.seq = line.seq
  left join lateral (
    select o.id, e.created_at as at, e.props ->> 'by' as by from pgmem.edge e
    join pgmem.visible_node o on o.seq = case e.rel when 'SUPERSEDES' then e.src else e.dst end
    where e.rel = 'SUPERSEDES' and e.dst = n.seq or e.rel = 'MERGES_INTO' and e.src = n.seq
    order by e.seq desc limit 1) over on true
  order by n.created_at, n.seq;
$$;
comment on function pgmem.memory_lineage is $$
The predecessors and successors of a memory, oldest first.

A memory with neither is a line of one. decided_by is the person who decided the replacement, where it was one.

id: The id of a memory of the line.
$$;
select pgmem.declare_verb('memory_lineage', p_rights => 'reader', p_effect => 'look', p_answer => 'list[LineEntry]');


select pgmem.declare_answer('numbered_entry', $$
A memory of one of several lines, which are counted from 1.

like titled_memory
created_at timestamptz, valid_from timestamptz?, valid_to timestamptz?, replaced_by uuid?, replaced_at timestamptz?
decided_by text?, line integer
held held_period[] = {}: When it held, whichever of its states.
by person|agent?: Who said it; agent: also a program or a file.
$$);

create or replace function pgmem.list_lines(
  p_project_id text default null,
  p_limit pgmem.row_limit default 12
) returns setof pgmem.numbered_entry
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer  pgmem.numbered_entry;
  v_line    integer := 0;
  v_project bigint := pgmem.find_project(p_project_id);
  v_seen    uuid[] := '{}';
  v_found   uuid;
begin
  for v_found in
    -- By the index node_replaced, then by node_label.
    (select n.id from pgmem.visible_node n
     where n.status = 'superseded' and n.label <> 'Card' and (v_project is null or n.project_seq = v_project)
     order by n.seq desc limit p_limit * 2)
    union all
    (select n.id from pgmem.visible_node n
     where n.label = 'Decision' and n.status = 'active' and (v_project is null or n.project_seq = v_project)
     order by n.seq desc limit p_limit)
  loop
    continue when v_found = any (v_seen);
    v_line := v_line + 1;
    for v_answer in
      select l.id, l.label, l.title, l.status, l.created_at, l.valid_from, l.valid_to, l.replaced_by, l.replaced_at,
             l.decided_by, v_line, l.held, l.by
      from pgmem.memory_lineage(v_found) l
    loop
      v_seen := v_seen || v_answer.id;
      return next v_answer;
    end loop;
    exit when v_line = p_limit;
  end loop;
end;
$$;
comment on function pgmem.list_lines is $$
The lines of the decisions that were replaced last, then of the newest that hold and replaced none.

Each is oldest first; line counts them from 1.

project_id: Only of this project; unset: of all.
$$;
select pgmem.declare_verb('list_lines', p_rights => 'reader', p_effect => 'look', p_answer => 'list[NumberedEntry]');


-- The newest memories are looked at, so that the picture of a large store is drawn as quickly as that of a small one.
create or replace function pgmem.project_graph(
  p_project_id text default null,
  p_limit pgmem.row_limit default 300,
  p_as_of timestamptz default null,
  p_known_at timestamptz default null,
  p_labels text[] default null
) returns pgmem.drawn_graph
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer  pgmem.drawn_graph;
  v_tenants text[] := pgmem.visible_tenants();
  v_project bigint := pgmem.find_project(p_project_id);
  v_newest  bigint[];
  v_seqs    bigint[];
begin
  if p_as_of is null and p_known_at is null then
    v_newest := array(
      select n.seq from pgmem.node n
      where n.tenant = any (v_tenants) and pgmem.is_memory(n.label) and (v_project is null or n.project_seq = v_project)
        and n.status not in ('archived', 'merged', 'rejected', 'dismissed', 'captured')
        and (p_labels is null and n.label <> 'Card' or n.label = any (p_labels)) order by n.seq desc limit 3000);
  else
    v_newest := array(
      select m.seq from pgmem.memories_at(v_tenants, p_as_of, p_known_at) m
      where (v_project is null or m.project_seq = v_project)
        and (p_labels is null and m.label <> 'Card' or m.label = any (p_labels))
      order by m.seq + 0 desc limit 3000);
  end if;
  with joined as (
    select e.src, e.dst from unnest(v_newest) as one(seq)
    cross join lateral (
      select e.src, e.dst from pgmem.edge e
      where e.src = one.seq and (p_known_at is null or e.created_at <= p_known_at) limit 50) e
    where e.dst = any (v_newest)
  ), counted as (
    select o.seq, count(*) as relations from (select src as seq from joined union all select dst from joined) o
    where o.seq = any (v_newest) group by o.seq
  )
  select array_agg(c.seq) into v_seqs
  from (select seq from counted order by relations desc, seq desc limit p_limit) c;
  v_answer.left_out := cardinality(v_newest) - coalesce(cardinality(v_seqs), 0);
  v_answer.nodes := pgmem.drawn_nodes(v_seqs, '{}');
  v_answer.edges := pgmem.edges_among(v_seqs, 2000, p_known_at);
  return v_answer;
end;
$$;
comment on function pgmem.project_graph is $$
The memories of a project that have relations, the most connected first, and the relations.

It looks at the newest 3000 memories. left_out counts those of them that are not in the answer.

project_id: Only of this project; unset: of all.
labels: Only of these kinds; unset: of all but cards.
$$;
select pgmem.declare_verb('project_graph', p_rights => 'reader', p_effect => 'look', p_answer => 'DrawnGraph');


-- The newest names are looked at, each as its save looked: an old pair was shown when it was new.
create or replace function pgmem.near_name_pairs(p_project_seq bigint) returns table (
  seq bigint,
  other_seq bigint,
  similarity float8
)
language sql stable set search_path = pgmem, pg_temp as $$
  with named as (
    select n.* from pgmem.visible_node n
    where n.key is not null and pgmem.is_live_status(n.status)
      and n.label in (select l.name from pgmem.label l where l.verb is null or l.name in ('EntityFact', 'Project'))
      and n.tenant in ((pgmem.caller()).tenant, pgmem.tenant_of((pgmem.caller()).org_id))
      and (p_project_seq is null or p_project_seq in (n.project_seq, n.seq))
    order by n.seq desc limit 30
  )
  select distinct on (greatest(n.seq, o.seq), least(n.seq, o.seq))
         greatest(n.seq, o.seq), least(n.seq, o.seq), (near.item ->> 'score')::float8
  from named n
  cross join lateral jsonb_array_elements(pgmem.near_names(row(n.*)::pgmem.node, pgmem.caller())) as near(item)
  join pgmem.visible_node o on o.id = (near.item ->> 'id')::uuid and pgmem.is_live_status(o.status)
  -- Who has joined the two has said that they are two.
  where not exists (
    select from pgmem.edge e where e.src in (n.seq, o.seq) and e.dst in (n.seq, o.seq));
$$;
comment on function pgmem.near_name_pairs is
  'Live names of the caller that may be two spellings of one, among the newest thirty: the newer, the older, 0 to 1.';


select pgmem.declare_answer('near_pair', $$
Two names that may be two spellings of one, the newer first, and the verb that makes one of them.

id uuid, label text, name text, project text?, created_at timestamptz, other_id uuid, other_label text
other_name text, other_project text?, similarity float8, verb text?, arguments object = {}, text text?
other_text text?
by person|agent?: Who said it; agent: also a program or a file.
other_by person|agent?: Who said the other one.
$$);

create or replace function pgmem.list_near_names(
  p_project_id text default null,
  p_limit pgmem.row_limit default 50
) returns setof pgmem.near_pair
language sql stable security definer set search_path = pgmem, pg_temp as $$
  select n.id, n.label, n.key::text, n.project, n.created_at, o.id, o.label, o.key::text, o.project, p.similarity,
         a.verb, a.arguments, pgmem.excerpt(pgmem.text_under(n.label, n.title, n.props)),
         pgmem.excerpt(pgmem.text_under(o.label, o.title, o.props)),
         pgmem.said_by(n.source, n.trust_level), pgmem.said_by(o.source, o.trust_level)
  from pgmem.near_name_pairs(pgmem.find_project(p_project_id)) p
  join pgmem.visible_node n on n.seq = p.seq join pgmem.visible_node o on o.seq = p.other_seq
  cross join lateral (
    select case when n.label = o.label and pgmem.is_memory(n.label) then 'merge_entities'
                when pgmem.is_memory(n.label) then 'forget' end as verb,
           case when n.label = o.label and pgmem.is_memory(n.label)
                then jsonb_build_object('entity', n.id, 'into', o.id)
                when pgmem.is_memory(n.label) then jsonb_build_object('label', n.label, 'key', n.id)
                else '{}' end as arguments) a
  order by p.similarity desc, p.seq desc limit p_limit;
$$;
comment on function pgmem.list_near_names is $$
List names that may be two spellings of one, the most alike first: entities and projects.

The newest thirty names are looked at. id is the newer of the two. verb makes one of them, with these arguments; it is
null for projects. Two that a relation joins are not listed: join them by SIMILAR_TO where they are two.

project_id: Only of this project; unset: of all.
$$;
select pgmem.declare_verb('list_near_names', p_rights => 'reader', p_effect => 'look', p_answer => 'list[NearPair]',
  p_reads_all => 'It compares all names.');


select pgmem.declare_answer('waiting', $$
Counts of what waits for a person.

reviews bigint, approvals bigint, insights bigint, drafts bigint, conflicts bigint, failed_saves bigint
rules bigint = 0: Rules of agents that wait for a yes.
replaced bigint = 0: Decisions that took the place of another by the likeness of their titles alone.
$$);

create or replace function pgmem.count_waiting(
  p_project_id text default null
) returns pgmem.waiting
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer  pgmem.waiting;
  v_project bigint := pgmem.find_project(p_project_id);
begin
  select count(*) filter (where a.dedup_outcome = 'manual_review' and a.candidate_id is not null),
         count(*) filter (where a.dedup_outcome = 'manual_review' and a.candidate_id is null),
         count(*) filter (where a.dedup_outcome is distinct from 'manual_review')
  into v_answer.reviews, v_answer.approvals, v_answer.failed_saves
  from pgmem.visible_attempt a
  where a.status not in ('saved', 'dropped', 'partial')
    and (p_project_id is null or pgmem.folded(a.project) = pgmem.folded(p_project_id));
  select count(*) filter (where n.label = 'Insight' and n.status = 'pending'),
         count(*) filter (where n.label = 'Card' and n.status = 'draft')
  into v_answer.insights, v_answer.drafts
  from pgmem.visible_node n
  where n.label in ('Insight', 'Card') and (v_project is null or n.project_seq = v_project or n.label = 'Insight');
  select count(*) into v_answer.conflicts
  from pgmem.open_conflict c where v_project is null or v_project in (c.project_seq, c.with_project_seq);
  v_answer.rules := (select count(*) from pgmem.rules_that_wait(pgmem.caller(), v_project, 1000));
  v_answer.replaced := (select count(*) from pgmem.open_replacement r where v_project is null or r.project_seq = v_project);
  return v_answer;
end;
$$;
comment on function pgmem.count_waiting is $$
Count the items that wait for a person.

These are reviews, approvals, insights, draft cards, conflicts, failed saves, rules of agents (up to 1000) and replacements that
nobody has said. An approval is a save that a person
makes or drops and that resembles nothing: a global save in a store where a person approves.

project_id: Only of this project; unset: of all. Insights belong to no project.
$$;
select pgmem.declare_verb('count_waiting', p_rights => 'reader', p_effect => 'look', p_answer => 'Waiting',
  p_reads_all => 'It counts all that waits.');


select pgmem.declare_answer('approval_answer', $$
An approval of a global write that an agent asked for, with the exact text.

class Approval
id uuid, preview text, issued_to text?, issued_at timestamptz, expires_at timestamptz, used_at timestamptz?
used_by uuid?
$$);

create or replace function pgmem.list_approvals(p_limit pgmem.row_limit default 50) returns setof pgmem.approval_answer
language sql stable security definer set search_path = pgmem, pg_temp as $$
  select t.id, t.preview, t.issued_to, t.issued_at, t.expires_at, t.used_at, t.used_by
  from pgmem.governance_token t where t.tenant = any (pgmem.visible_tenants())
  order by t.issued_at desc, t.id limit p_limit;
$$;
comment on function pgmem.list_approvals is $$
List the approvals of global writes that agents asked for, latest first, each with its exact text.
$$;
select pgmem.declare_verb('list_approvals', p_rights => 'reader', p_effect => 'look', p_answer => 'list[Approval]');


select pgmem.declare_answer('conversation_entry', $$
A conversation that was captured: how it began, and how many turns it has.

session_id text, title text, project text?, agent_id text?, source text, turns bigint, first_at timestamptz
last_at timestamptz, last_id uuid
$$);

-- The newest turns are looked at, by the indexes of captured turns, so that a store of a hundred thousand turns answers
-- as quickly as a small one.
create or replace function pgmem.list_conversations(
  p_project_id text default null,
  p_session_id text default null,
  p_limit pgmem.row_limit default 50
) returns setof pgmem.conversation_entry
language plpgsql stable security definer set search_path = pgmem, pg_temp
set plan_cache_mode = force_custom_plan as $$
declare
  v_tenants text[] := pgmem.visible_tenants();
  v_project bigint := pgmem.find_project(p_project_id);
begin
  return query
  with newest as materialized (
    select n.session_id, n.seq from pgmem.node n
    where n.tenant = any (v_tenants) and n.status = 'captured' and n.label = 'Turn'
      and (v_project is null or n.project_seq = v_project) and (p_session_id is null or n.session_id = p_session_id)
    order by n.seq desc limit 20000
  ), held as (
    select s.session_id, count(*) as turns, min(s.seq) as first_seq, max(s.seq) as last_seq from newest s
    group by s.session_id order by max(s.seq) desc limit p_limit
  )
  select h.session_id, f.title::text, l.project, l.agent_id, l.source, h.turns,
         coalesce(f.valid_from, f.created_at)::timestamptz, coalesce(l.valid_from, l.created_at)::timestamptz, l.id
  from held h join pgmem.node f on f.seq = h.first_seq join pgmem.node l on l.seq = h.last_seq
  order by h.last_seq desc;
end;
$$;
comment on function pgmem.list_conversations is $$
List the conversations whose turns were captured, the one that was continued last first.

The newest 20 000 turns are looked at. list_memories with the labels Turn and a session_id lists the turns of one.

project_id: Only of this project; unset: of all.
session_id: Only this one.
$$;
select pgmem.declare_verb('list_conversations', p_rights => 'reader', p_effect => 'look',
  p_answer => 'list[ConversationEntry]');


select pgmem.declare_answer('activity', $$
Something that was done: saved, changed, captured, cards, repeated, refused, review, dropped or purged.

`id` is that of the memory, of the save where no memory was written, or of the last turn or card of several.

at timestamptz, kind text, id uuid, label text, title text, project text?, session_id text?, agent_id text?
source text?, message text?, decided_by text?
$$);

create or replace function pgmem.list_activity(
  p_project_id text default null,
  p_session_id text default null,
  p_since timestamptz default null,
  p_limit pgmem.row_limit default 100
) returns setof pgmem.activity
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_tenants text[] := pgmem.visible_tenants();
  v_project bigint := pgmem.find_project(p_project_id);
begin
  return query
  select * from (
    (select n.recorded_at::timestamptz as at, case when n.version = 1 then 'saved' else 'changed' end as kind, n.id, n.label,
            pgmem.list_title(n.label, n.title, n.props), n.project, n.session_id, n.agent_id, n.source, null, null
     from pgmem.node n
     where n.tenant = any (v_tenants) and pgmem.is_memory(n.label)
       and n.status not in ('stub', 'draft', 'pending', 'captured')
       and not (n.label = 'Card' and n.props ->> 'origin' = 'system')
       and (v_project is null or n.project_seq = v_project) and (p_session_id is null or n.session_id = p_session_id)
       and (p_since is null or n.recorded_at > p_since)
     order by n.seq desc limit p_limit)
    union all
    (select max(c.recorded_at), 'cards', (array_agg(c.id order by c.seq desc))[1], 'Card', format('%s cards', count(*)),
            c.project, c.session_id, c.agent_id, c.source, null, null
     from (
       select n.* from pgmem.node n
       where n.label = 'Card' and n.tenant = any (v_tenants) and n.props ->> 'origin' = 'system'
         and n.status not in ('stub', 'draft')
         and (v_project is null or n.project_seq = v_project) and (p_session_id is null or n.session_id = p_session_id)
         and (p_since is null or n.recorded_at > p_since)
       order by n.seq desc limit 20000) c
     group by c.project, c.session_id, c.agent_id, c.source, date_trunc('hour', c.recorded_at))
    union all
    (select c.last_at, 'captured', c.last_id, 'Turn', format('%s turns', c.turns), c.project, c.session_id, c.agent_id, c.source,
            null, null
     from pgmem.list_conversations(p_project_id, p_session_id, p_limit) c where p_since is null or c.last_at > p_since)
    union all
    (select a.updated_at, case when a.status = 'dropped' then 'dropped' when a.status = 'saved' then 'repeated'
                               when a.dedup_outcome = 'manual_review' then 'review' else 'refused' end,
            a.save_id, a.verb, coalesce(left((pgmem.asked_texts(a.verb, a.arguments)).title, 200), ''),
            a.project, a.session_id, null, null, a.message, a.resolved_by
     from pgmem.visible_attempt a
     where (a.status not in ('saved', 'partial') or a.dedup_outcome = 'duplicate_skip')
       and (p_project_id is null or pgmem.folded(a.project) = pgmem.folded(p_project_id))
       and (p_session_id is null or a.session_id = p_session_id) and (p_since is null or a.updated_at > p_since)
     order by a.updated_at desc limit p_limit)
    union all
    (select t.purged_at, 'purged', t.id, t.label, '', null, null, t.agent_id, t.source, null, t.purged_by::text
     from pgmem.tombstone t
     where t.tenant = any (v_tenants) and v_project is null and p_session_id is null
       and (p_since is null or t.purged_at > p_since)
     order by t.purged_at desc limit p_limit)) happened(at)
  order by happened.at desc, 3 limit p_limit;
end;
$$;
comment on function pgmem.list_activity is $$
List events, latest first: memories saved or changed, verdicts, saves that made none, purges.

kind is saved, changed, captured, cards, repeated, refused, review, dropped or purged. The turns of a conversation are
one entry, at the time of the last one, and so are the cards that pgmem read in an hour.

project_id: Only of this project; unset: of all.
session_id: Only in this session; unset: in all.
since: Only events after this time; unset: all.
$$;
select pgmem.declare_verb('list_activity', p_rights => 'reader', p_effect => 'look', p_answer => 'list[Activity]');
