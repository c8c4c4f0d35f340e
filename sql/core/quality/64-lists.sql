-- Lists: memories by id, in the order of writing, and the counts of the items that wait for a person
--
-- None reads more rows than a limit that it names, so that a list is quick in a store of any size. A list goes on after the
-- last memory of the page before (p_after), by seq: no page is counted through, and nothing is shown twice where others write
-- meanwhile.
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
    select n.project_seq, count(*) filter (where n.label <> all (apart.labels)) as memories,
           count(*) filter (where n.label = any (apart.cards)) as cards
    from pgmem.visible_node n
    cross join (select coalesce(array_agg(l.name), '{}') as labels,
                       coalesce(array_agg(l.name) filter (where l.counted_in = 'cards'), '{}') as cards
                from pgmem.label l where l.counted_in is not null) apart
    where pgmem.is_live_status(n.status) and pgmem.is_memory(n.label)
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
  p_toolset => 'core', p_description => 'Call this before you name a new project. It lists those that exist.',
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
  v_tenants  text[] := pgmem.visible_tenants();
  v_project  bigint := pgmem.find_project(p_project_id);
  v_after    bigint := (select n.seq from pgmem.visible_node n where n.id = p_after);
  v_told     boolean := p_labels is null and p_status is null and p_branch is null;
  v_captured boolean := (select bool_and(pgmem.is_source_text(l)) from unnest(p_labels) l);
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
    and case when p_status is not null then n.status = p_status when v_captured then n.status = 'captured'
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
  select count(*) filter (where l.counted_in = 'insights' and n.status = 'pending'),
         count(*) filter (where l.counted_in = 'cards' and n.status = 'draft')
  into v_answer.insights, v_answer.drafts
  from pgmem.label l join pgmem.visible_node n on n.label = l.name
  where l.counted_in in ('insights', 'cards')
    and (v_project is null or n.project_seq = v_project or l.counted_in = 'insights');
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
