-- Pages for a person
--
-- The pages (pgmem/features/ui) draw relations of memories, and show lines of decisions, sessions and activity. The lists of
-- memories are those of the core (64-lists). None reads more rows than a limit that it names.
--
-- Locks: none.


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
