-- Health: the state of the memory in numbers
--
-- memory_health counts the memories of a project, or of all that the caller sees: by label, status and time, by their
-- confidence, and by their edges. An orphan has no relation, a hub has three or more; a stub is a name that others
-- mention and nothing is kept of. Each part is a function that answers with the JSON of its field.
--
-- Locks: none.


create or replace function pgmem.health_timeline(p_project_seq bigint) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  -- By day, week or month, so that the picture has about sixty steps at most whatever the age of the store.
  select coalesce(jsonb_agg(jsonb_build_object('at', t.at::date, 'label', t.label, 'count', t.count)
                            order by t.at, t.label), '[]')
  from (select date_trunc(case when span.age < interval '60 days' then 'day'
                            when span.age < interval '400 days' then 'week' else 'month' end, n.created_at) as at,
               n.label, count(*)
        from pgmem.told_memory n,
             (select pgmem.now() - min(o.created_at) as age from pgmem.told_memory o
              where p_project_seq is null or o.project_seq = p_project_seq) span
        where p_project_seq is null or n.project_seq = p_project_seq
        group by 1, 2) t;
$$;
comment on function pgmem.health_timeline is 'How many memories of each label were made in each step of time.';


create or replace function pgmem.health_relations(p_project_seq bigint, p_limit integer) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  with joined as materialized (
    select n.seq, n.id, n.label, n.title, n.status, n.source, n.trust_level,
           (select count(*) from pgmem.edge e where e.src = n.seq)
             + (select count(*) from pgmem.edge e where e.dst = n.seq) as relations
    from pgmem.told_memory n
    where (p_project_seq is null or n.project_seq = p_project_seq)
      and n.status in ('active', 'approved', 'stub', 'archived')
  ), kinds as (
    select 'orphans' as kind, j.* from joined j where j.relations = 0 and pgmem.is_live_status(j.status)
    union all select 'hubs', j.* from joined j where j.relations >= 3 and pgmem.is_live_status(j.status)
    union all select 'stubs', j.* from joined j where j.relations >= 3 and j.status = 'stub'
    union all select 'archived_bridges', j.* from joined j where j.relations >= 2 and j.status = 'archived'
  ), counted as (
    select k.kind, count(*) as count,
           jsonb_agg(jsonb_build_object('id', k.id, 'label', k.label, 'title', k.title, 'relations', k.relations,
                                        'by', pgmem.said_by(k.source, k.trust_level))
                     order by k.relations desc, k.seq) filter (where k.place <= p_limit) as items
    from (select k.*, row_number() over (partition by k.kind order by k.relations desc, k.seq) as place
          from kinds k) k
    group by k.kind
  )
  select jsonb_object_agg(kind, jsonb_build_object('count', coalesce(c.count, 0), 'items', coalesce(c.items, '[]')))
  from unnest(array['orphans', 'hubs', 'stubs', 'archived_bridges']) as kind left join counted c using (kind);
$$;
comment on function pgmem.health_relations is
  'Orphans, hubs, stubs with many relations, and archived memories that join others: counts and the first of each.';


create or replace function pgmem.health_conflicts(p_project_seq bigint, p_limit integer) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select jsonb_build_object('count', count(*), 'items', coalesce(
      jsonb_agg(jsonb_build_object('id', c.id, 'title', c.title, 'with_id', c.with_id, 'with_title', c.with_title,
                                   'by', c.by, 'with_by', c.with_by)
                order by c.seq) filter (where c.place <= p_limit), '[]'))
  from (select o.*, row_number() over (order by o.seq) as place from pgmem.open_conflict o
        where p_project_seq is null or p_project_seq in (o.project_seq, o.with_project_seq)) c;
$$;
comment on function pgmem.health_conflicts is 'The number of conflicts between live memories, and the first of them.';


create or replace function pgmem.health_lineage(p_project_seq bigint, p_limit integer) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  with recursive line as (
    select n.seq as newest, n.seq, 0 as age, array[n.seq] as path from pgmem.visible_node n
    where n.label = 'Decision' and (p_project_seq is null or n.project_seq = p_project_seq)
      and exists (select from pgmem.edge e where e.src = n.seq and e.rel = 'SUPERSEDES')
      and not exists (select from pgmem.edge e where e.dst = n.seq and e.rel = 'SUPERSEDES')
    union all
    select line.newest, e.dst, line.age + 1, line.path || e.dst from line
    join pgmem.edge e on e.src = line.seq and e.rel = 'SUPERSEDES' and e.dst <> all (line.path)
    where line.age < 50
  ), lines as (
    select l.newest, count(*) as length,
           jsonb_agg(jsonb_build_object('id', n.id, 'title', n.title, 'status', n.status, 'age', l.age,
                                        'created_at', n.created_at, 'by', pgmem.said_by(n.source, n.trust_level)) order by l.age, n.seq) as decisions
    from line l join pgmem.visible_node n on n.seq = l.seq group by l.newest
  )
  select jsonb_build_object('count', count(*), 'items', coalesce(
      jsonb_agg(l.decisions order by l.length desc, l.newest desc) filter (where l.place <= p_limit), '[]'))
  from (select lines.*, row_number() over (order by lines.length desc, lines.newest desc) as place from lines) l;
$$;
comment on function pgmem.health_lineage is
  'Decisions that superseded others, each with those before it: the number of such lines and the longest of them.';


select pgmem.declare_answer('timeline_count', $$
The number of memories of a label that were created in a day, week or month.

at date, label text, count integer
$$);

select pgmem.declare_answer('joined_memory', $$
A memory and the number of its relations.

like labelled_memory
relations integer
by person|agent?: Who said it; agent: also a program or a file.
$$);

select pgmem.declare_answer('joined_memories', $$
The number of such memories, and the first of them.

count integer, items joined_memory[]
$$);

select pgmem.declare_answer('conflict_answer', $$
Two live memories that contradict each other.

class Conflict
id uuid, title text, with_id uuid, with_title text
by person|agent?: Who said it; agent: also a program or a file.
with_by person|agent?: Who said the other one.
$$);

select pgmem.declare_answer('conflicts', $$
The number of conflicts, and the first of them.

count integer, items conflict_answer[]
$$);

select pgmem.declare_answer('line_decision', $$
A decision of a line of decisions; age is the number of decisions that came after it.

id uuid, title text, status text, age integer, created_at timestamptz
by person|agent?: Who said it; agent: also a program or a file.
$$);

select pgmem.declare_answer('lineages', $$
The number of lines of decisions, and the longest of them, each newest first.

count integer, items line_decision[][]
$$);

select pgmem.declare_answer('health', $$
The state of the memory: counts, with the first items of each kind.

project_id text?, checked_at timestamptz, memories {integer}, statuses {integer}, timeline timeline_count[]
confidence [integer], orphans joined_memories, hubs joined_memories, stubs joined_memories
archived_bridges joined_memories, conflicts conflicts, lineage lineages, without_text integer, insights {integer}
saves_open integer
cards {integer} = {}: Cards by status; no other figure counts them.
$$);

create or replace function pgmem.statuses_in(p_part text, p_project_seq bigint) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select coalesce(jsonb_object_agg(s.status, s.count), '{}')
  from (select n.status, count(*) from pgmem.visible_node n
        where n.label = any (array(select l.name from pgmem.label l where l.counted_in = p_part))
          and (p_project_seq is null or n.project_seq = p_project_seq) group by n.status) s;
$$;
comment on function pgmem.statuses_in is 'The memories of labels that a part of memory_health counts apart, by status; null: of all projects.';


create or replace function pgmem.memory_health(
  p_project_id text default null,
  p_limit pgmem.row_limit default 20
) returns pgmem.health
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer    pgmem.health;
  v_seq       bigint := pgmem.find_project(p_project_id);
  v_relations jsonb := pgmem.health_relations(v_seq, p_limit);
begin
  v_answer.project_id := pgmem.clean_key(p_project_id, 'project_id');
  v_answer.checked_at := pgmem.now();
  select coalesce(jsonb_object_agg(m.label, m.count), '{}') into v_answer.memories
  from (select n.label, count(*) from pgmem.hygiene_node n
        where v_seq is null or n.project_seq = v_seq group by n.label) m;
  select coalesce(jsonb_object_agg(m.status, m.count), '{}') into v_answer.statuses
  from (select n.status, count(*) from pgmem.told_memory n
        where v_seq is null or n.project_seq = v_seq
        group by n.status) m;
  v_answer.timeline := pgmem.health_timeline(v_seq);
  select jsonb_agg(coalesce(h.count, 0) order by bin) into v_answer.confidence
  from generate_series(0, 9) bin
  left join (select least(floor(pgmem.confidence(n.initial_confidence, n.label, n.instructs, n.updated_at) * 10)::integer, 9) as bin, count(*)
             from pgmem.hygiene_node n where v_seq is null or n.project_seq = v_seq group by 1) h using (bin);
  v_answer.orphans := v_relations -> 'orphans';
  v_answer.hubs := v_relations -> 'hubs';
  v_answer.stubs := v_relations -> 'stubs';
  v_answer.archived_bridges := v_relations -> 'archived_bridges';
  v_answer.conflicts := pgmem.health_conflicts(v_seq, p_limit);
  v_answer.lineage := pgmem.health_lineage(v_seq, p_limit);
  v_answer.without_text := (
    select count(*) from pgmem.hygiene_node n
    where (v_seq is null or n.project_seq = v_seq) and n.text_length <= 1
      and n.label in (select name from pgmem.label where vocabulary = 'engrama'));
  v_answer.insights := pgmem.statuses_in('insights', null);
  v_answer.cards := pgmem.statuses_in('cards', v_seq);
  v_answer.saves_open := (select count(*) from pgmem.unresolved_saves(v_answer.project_id, null));
  return v_answer;
end;
$$;
comment on function pgmem.memory_health is $$
The state of the memory in numbers, with the first memories of each kind.

The counts are of memories that agents and people saved, as the caller sees them; cards are counted apart.
`confidence` is a histogram of ten bins from 0 to 1.

project_id: Project name; unset: all projects.
limit: How many items of each kind at most, 1 to 1000.
$$;
select pgmem.declare_verb('memory_health', p_rights => 'reader', p_effect => 'read', p_answer => 'Health',
  p_patience => 'report',
  p_reads_all => 'It judges all memories of a project.');
