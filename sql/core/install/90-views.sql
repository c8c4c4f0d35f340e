-- Views for analysts
--
-- Each kind of memory as its own table, with rows of every status. A view reads a function that runs with the
-- rights of the owner and returns the rows of the caller's tenants. A reader has no right to a table: facts that a
-- condition itself would find out through a plan (rows removed by a filter, an index that was or was not entered), it would
-- find out about rows of others. So conditions are evaluated on the rows that the function returned. An upgrade drops and
-- makes the views again only where the text of a chapter of views has changed, because an analyst's own views that read them
-- are dropped with them.
--
-- The schema pgmem_report has these views and nothing else, for tools that list the contents of a schema: with it in the
-- search path, no view needs a schema name, and no function is in the way.
--
-- Every column has a comment: psql shows them with \d+, and make docs writes the page of views from them. The meaning
-- of a column of several views is written once, in view_column.
--
-- Locks: none.


create or replace function pgmem.view_column(p_name text) returns text
language sql immutable
begin atomic
  select case p_name
    when 'id' then 'The id of the memory, in every verb and export.'
    when 'label' then 'The kind of memory, such as Decision.'
    when 'title' then 'The title; of a named kind, the name.'
    when 'rationale' then 'Why it was decided.'
    when 'project' then 'The project it belongs to; null: none.'
    when 'scope' then 'How widely it holds: global, project or focus.'
    when 'focus' then 'The focus area within the project; null: none.'
    when 'status' then 'Its status: active is live; superseded, archived, expired and merged are not.'
    when 'confidence' then 'Confidence at this moment, 0 to 1, after decay.'
    when 'trust_level' then 'How far the source is trusted, 0 to 1.'
    when 'source' then 'The way it was saved: mcp, sdk, cli, sync or sql.'
    when 'agent_id' then 'The agent or person who wrote this state, as it named itself.'
    when 'author' then 'The agent that saved it first, as it named itself; null: it named none.'
    when 'valid_from' then 'When it begins to hold; null: when it was saved.'
    when 'valid_to' then 'When it ceases to hold; null: an open end.'
    when 'org_id' then 'The organisation that owns it; empty: none.'
    when 'user_id' then 'The user that owns it; empty: it is shared in the organisation, or public.'
    when 'created_at' then 'When it was first saved.'
    when 'updated_at' then 'When it last changed.' end;
end;
comment on function pgmem.view_column is 'The meaning of a column of a view, unless the view says otherwise.';


create or replace function pgmem.declare_view(p_name text, p_meaning text, p_query text) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_function text := 'rows_of_' || p_name;
  v_schema   name;
  v_meaning  text := regexp_replace(btrim(p_meaning, chr(10)), '\n *(?! *(\n|\w+: ))', ' ', 'g');
  v_columns  text;
begin
  -- As a view, the query says which columns it has. Tools of analysts know no domains, so each becomes its base type.
  execute format('create view pgmem.%I as %s', p_name, p_query);
  select string_agg(format('%I %s', a.attname, coalesce(nullif(t.typbasetype, 0), t.oid)::regtype), ', '
                    order by a.attnum) into v_columns
  from pg_attribute a join pg_type t on t.oid = a.atttypid
  where a.attrelid = format('pgmem.%I', p_name)::regclass and a.attnum > 0;
  execute format('drop view pgmem.%I', p_name);
  execute format('create function pgmem.%I() returns table (%s) language sql stable security definer
    set search_path = pgmem, pg_temp as %L', v_function, v_columns, p_query);
  execute format('comment on function pgmem.%I() is %L', v_function, format('The rows of the view %s.', p_name));
  for v_schema in select n.nspname from pg_namespace n where n.nspname in ('pgmem', 'pgmem_report') loop
    execute format('create view %I.%I with (security_invoker = true) as select * from pgmem.%I()',
                   v_schema, p_name, v_function);
    execute format('comment on view %I.%I is %L', v_schema, p_name, split_part(v_meaning, chr(10), 1));
    execute (
      select string_agg(format('comment on column %I.%I.%I is %L', v_schema, p_name, a.attname,
        coalesce(substring(v_meaning from format('(?n)^%s: (.*)$', a.attname)), pgmem.view_column(a.attname))), '; ')
      from pg_attribute a where a.attrelid = format('%I.%I', v_schema, p_name)::regclass and a.attnum > 0);
  end loop;
end;
$$;
comment on function pgmem.declare_view is
  'Make a view for analysts: its definition and `column: meaning`, and the query of its function, rows_of_ and its name.';


-- The views were dropped before this chapter runs. The functions that they read may have other columns now.
do $$
declare
  v_function regprocedure;
begin
  begin
    if to_regnamespace('pgmem_report') is null then
      create schema pgmem_report;
      comment on schema pgmem_report is 'The views of pgmem for analysts, and nothing else.';
    end if;
  exception when insufficient_privilege then
    null;  -- An owner that may not create schemas has the views of the schema pgmem.
  end;
  for v_function in
    select p.oid from pg_proc p
    where p.pronamespace = 'pgmem'::regnamespace and starts_with(p.proname, 'rows_of_')
      or p.pronamespace = to_regnamespace('pgmem_report')
  loop
    execute format('drop function %s cascade', v_function);
  end loop;
end $$;


select pgmem.declare_view('approval', $$
Approvals of global writes: what for, requested by which agent, when, and used by which save.

id: The id of the approval.
preview: The text that was to be saved; empty: removed with age or by a purge.
org_id: The organisation that it was issued to; empty: none.
user_id: The user that it was issued to; empty: none.
issued_to: The agent that requested it, as it named itself.
issued_at: When it was issued.
expires_at: When it expires if it is not used.
used_at: When it was used; null: not used.
used_by: The save that used it: its save_id.
spent_by: The agent that used it, as the server found it.
$$, $$
  select t.id, t.preview, t.org_id, t.user_id, t.issued_to, t.issued_at, t.expires_at, t.used_at, t.used_by, t.spent_by
  from pgmem.governance_token t
  where t.tenant = any ((select pgmem.visible_tenants())::text[])
$$);


create or replace function pgmem.state_parts(p_title text, p_status text, p_props jsonb) returns jsonb
language sql immutable parallel safe
begin atomic
  select p_props || jsonb_build_object('title', p_title, 'status', p_status);
end;
comment on function pgmem.state_parts is 'The fields of a memory that can change from one state to the next, by name.';


-- Reads node_version by the seq of a row that the caller sees.
create or replace function pgmem.changed_from(p_seq bigint, p_version integer, p_parts jsonb) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select (select jsonb_object_agg(b.key, b.value) from jsonb_each(before.parts) b
          where p_parts -> b.key is distinct from b.value)
  from (select pgmem.state_parts(v.title, v.status, v.props) as parts from pgmem.node_version v
        where v.node_seq = p_seq and v.version < p_version order by v.version desc limit 1) before;
$$;
comment on function pgmem.changed_from is
  'The parts of the state before one, as far as they were others; null: there is none before.';


select pgmem.declare_view('memory_change', $$
Who changed what, and when: a row for each recorded state of a memory.

at: When the state was recorded.
kind: saved: the first state; changed: a later one.
title: Its title in this state.
version: The number of the state, from 1 on.
status: Its status in this state.
agent_id: The agent that made the change, as it named itself; null: it named none.
session_id: The session in which it was made; null: none was named, or a later change replaced the state.
changed_from: Each part that this state changed, with its value before; null: the first state.
$$, $$
  select s.ingested_at as at, case when s.version = 1 then 'saved' else 'changed' end as kind, s.id, s.label, s.title,
         s.version, s.status, s.project, s.source, s.agent_id, s.session_id,
         pgmem.changed_from(s.seq, s.version, pgmem.state_parts(s.title, s.status, s.props)) as changed_from
  from pgmem.recorded_state s where pgmem.is_memory(s.label) and not pgmem.is_source_text(s.label)
$$);


select pgmem.declare_view('conflict', $$
Pairs of memories that contradict each other.

id: The id of the one memory.
label: The kind of the one memory, such as Decision.
title: The title of the one memory.
with_id: The id of the other memory.
with_label: The kind of the other memory.
with_title: The title of the other memory.
project: The project of the one memory; null: none.
with_project: The project of the other memory; null: none.
status: The status of the one memory; the conflict is open while both are active.
with_status: The status of the other memory.
created_at: When the conflict was recorded.
$$, $$
  select a.id, a.label, a.title, b.id as with_id, b.label as with_label, b.title as with_title,
         a.project, b.project as with_project, a.status, b.status as with_status, e.created_at
  from pgmem.edge e join pgmem.visible_node a on a.seq = e.src join pgmem.visible_node b on b.seq = e.dst
  where e.rel = 'CONFLICTS_WITH'
$$);


-- Each kind of memory that has a save verb, as it is declared.
do $$
declare
  v_kind record;
begin
  for v_kind in
    select l.name as label, pgmem.snake(l.name) as view, l.verb,
           string_agg(format('%s: %s.', f.name, rtrim(split_part(f.meaning, '; unset', 1), '.')), E'\n') as meanings,
           string_agg(format('%s as %I', coalesce(f.query, case f.type
             when 'title' then 'n.title' when 'key' then 'n.key'
             when 'texts' then format('array(select jsonb_array_elements_text(n.props -> %L))', f.name)
             when 'date' then format('(n.props ->> %L)::date', f.name)
             when 'time' then format('(n.props ->> %L)::timestamptz', f.name)
             when 'text' then format('n.props ->> %L', f.name)
             else format('(n.props ->> %L)::float8', f.name) end), f.name), ', ' order by f.place) as columns
    from pgmem.label l join pgmem.field f on f.label = l.name
    where f.kept not in ('valid_from', 'valid_to', 'nothing') and l.verb is not null group by l.name order by l.name
  loop
    perform pgmem.declare_view(v_kind.view, format(E'Memories of the kind %s, with rows of every status; %s saves them.\n%s',
        v_kind.label, v_kind.verb, v_kind.meanings), format(
      'select n.id, %s, n.project, n.scope, n.focus, n.status, n.valid_from, n.valid_to, n.source, n.trust_level, '
      'n.agent_id, n.org_id, n.user_id, n.created_at, n.updated_at, pgmem.author(n.seq, n.version, n.agent_id) as author '
      'from pgmem.visible_node n where n.label = %L',
      v_kind.columns, v_kind.label));
  end loop;
end $$;


select pgmem.declare_view('graph_edge', $$
Every edge of the graph, with BELONGS_TO and HAS_FOCUS.

from_id: The id of the node that the edge leaves.
from_label: The label of that node.
from_title: The title of that node.
rel: The relation, such as SUPERSEDES, CONFLICTS_WITH or BELONGS_TO.
to_id: The id of the node that the edge enters.
to_label: The label of that node.
to_title: The title of that node.
created_at: When the edge was made; of BELONGS_TO and HAS_FOCUS, when its node was.
$$, $$
  select s.id as from_id, s.label as from_label, s.title as from_title, e.rel,
         d.id as to_id, d.label as to_label, d.title as to_title, e.created_at
  from pgmem.edge e join pgmem.visible_node s on s.seq = e.src join pgmem.visible_node d on d.seq = e.dst
  union all
  select n.id, n.label, n.title, 'BELONGS_TO', p.id, p.label, p.title, n.created_at
  from pgmem.visible_node n
  join pgmem.visible_node p on p.seq = case n.scope when 'global' then 1 else n.project_seq end
  union all
  select n.id, n.label, n.title, 'HAS_FOCUS', f.id, f.label, f.title, n.created_at
  from pgmem.visible_node n join pgmem.visible_node f on f.seq = n.focus_seq
$$);


select pgmem.declare_view('lineage', $$
Decisions that superseded others, each with the line of those before it; age 0 is the present one.

newest_id: The id of the decision at the head of the line.
newest_title: The title of the decision at the head of the line.
age: How many decisions in the line are newer: 0 is the present one.
id: The id of the decision at this place of the line.
title: What was decided, in one line.
valid_to: When it ceased to hold; null: it holds.
$$, $$
  with recursive line as (
    select n.seq as newest, n.seq, 0 as age from pgmem.visible_node n
    where n.label = 'Decision'
      and not exists (select from pgmem.visible_edge e where e.dst = n.seq and e.rel = 'SUPERSEDES')
      and exists (select from pgmem.visible_edge e where e.src = n.seq and e.rel = 'SUPERSEDES')
    union all
    select line.newest, e.dst, line.age + 1
    from line join pgmem.visible_edge e on e.src = line.seq and e.rel = 'SUPERSEDES'
  )
  select newest.id as newest_id, newest.title as newest_title, line.age, n.id, n.title,
         n.props ->> 'rationale' as rationale, n.status, n.project, n.created_at, n.valid_to
  from line join pgmem.visible_node newest on newest.seq = line.newest join pgmem.visible_node n on n.seq = line.seq
$$);


select pgmem.declare_view('memory', $$
Memories of all kinds and every status in one table; agents see those that are live.

label: The kind of memory, such as Decision, Context or Technology.
name: The name, of kinds that are named; null: it has a title alone.
summary: The beginning of its text.
properties: Everything that is known of it, by name.
scope: How widely it holds: global, project or focus; null: it belongs to no project.
status: Its status: active and approved are live; superseded, archived, expired and merged are not.
live: Whether agents see it now, by its status and its period.
session_id: The session in which it was saved; null: none was named.
version: The number of its states so far.
$$, $$
  select n.id, n.label, n.key as name, n.title,
         pgmem.excerpt(pgmem.search_text(n.label, n.title, n.props)) as summary, n.props as properties,
         n.project, n.scope, n.focus, n.status, pgmem.is_live(n.status, n.valid_from, n.valid_to)
           and (n.turns_at is null or n.turns_at > pgmem.now()
                or (select p.version = n.version and p.turns_at is null
                    from pgmem.present(row(n.*)::pgmem.node) p)) as live,
         pgmem.confidence(n.initial_confidence, n.label, n.instructs, n.updated_at) as confidence, n.trust_level, n.source, n.agent_id,
         n.session_id, n.valid_from, n.valid_to, n.version, n.org_id, n.user_id, n.created_at, n.updated_at,
         pgmem.author(n.seq, n.version, n.agent_id) as author
  from pgmem.visible_node n where pgmem.is_memory(n.label)
$$);


select pgmem.declare_view('memory_by_day', $$
How memory grows: a row for each day, project and kind, from the first memory of that kind to today, without gaps.
Cards, insights and turns of conversations do not count.

day: The day, in the time zone of the session.
project: The project; null: memories that belong to none.
saved: How many memories were first saved on that day.
changed: How many earlier states were replaced on that day.
total: How many memories of the kind had been saved by the end of that day.
$$, $$
  with memory as materialized (
    select n.seq, coalesce(n.project, '') as project, n.label::text, n.created_at::date as day
    from pgmem.told_memory n
    where n.status not in ('stub', 'draft', 'pending', 'captured', 'dismissed')
  ), event as (
    select m.project, m.label, m.day, 1 as saved, 0 as changed from memory m
    union all
    select m.project, m.label, v.replaced_at::date, 0, 1
    from memory m join pgmem.visible_version v on v.node_seq = m.seq
  ), sum as (
    select e.project, e.label, e.day, sum(e.saved) as saved, sum(e.changed) as changed
    from event e group by e.project, e.label, e.day
  ), span as (
    select s.project, s.label, min(s.day) as first from sum s group by s.project, s.label
  )
  select d.day::date, nullif(p.project, '') as project, p.label, coalesce(s.saved, 0)::bigint as saved,
         coalesce(s.changed, 0)::bigint as changed,
         (sum(coalesce(s.saved, 0)) over (partition by p.project, p.label order by d.day))::bigint as total
  from span p
  cross join lateral generate_series(p.first, pgmem.now()::date, interval '1 day') as d(day)
  left join sum s on s.project = p.project and s.label = p.label and s.day = d.day::date
$$);


create or replace function pgmem.memory_at(p_day date default current_date)
returns table (
  id uuid, label text, name text, title text, properties jsonb, project text, scope text, focus text, status text,
  source text, trust_level float8, version integer, valid_from timestamptz, valid_to timestamptz, recorded_at timestamptz
)
language sql stable security definer set search_path = pgmem, pg_temp as $$
  select s.id, s.label, s.key, s.title, s.props, s.project, s.scope, s.focus, s.status, s.source, s.trust_level,
         s.version, s.begins_at, s.valid_to, s.ingested_at
  from pgmem.states_at((p_day + 1)::timestamptz - interval '1 microsecond', null) s where pgmem.is_memory(s.label)
$$;
comment on function pgmem.memory_at is $$
Memories that were true at the end of a day, as far as is known now: select * from memory_at('2026-09-01') where project =
'shop'.

A memory that was replaced since is there in the state that was true then.

p_day: The day, in the time zone of the session.
$$;

do $do$
begin
  if to_regnamespace('pgmem_report') is not null then
    execute format('create function pgmem_report.memory_at(p_day date default current_date) returns %s '
      'language sql stable security definer set search_path = pgmem, pg_temp as '
      '$$ select * from pgmem.memory_at(p_day) $$', pg_get_function_result('pgmem.memory_at'::regproc));
    comment on function pgmem_report.memory_at is
      'Memories that were true at the end of a day, as far as is known now, as pgmem.memory_at.';
  end if;
end $do$;


select pgmem.declare_view('project', $$
Active projects with their focus areas and the number of their memories.

id: The id of the project.
name: Its name: the project_id of every verb.
last_hygiene_at: When it last had a whole hygiene report; null: never.
memories: How many active memories it has, without cards.
focus_areas: The names of its focus areas.
cards: How many active cards it has.
$$, $$
  select p.id, p.key as name, (p.props ->> 'last_hygiene_at')::timestamptz as last_hygiene_at,
         (select count(*) from pgmem.told_memory n where n.project_seq = p.seq and n.status = 'active') as memories,
         array(select f.key::text from pgmem.visible_node f
               where f.project_seq = p.seq and f.label = 'FocusArea' order by f.key) as focus_areas,
         p.org_id, p.user_id, p.created_at,
         (select count(*) from pgmem.visible_node n
          where n.project_seq = p.seq and n.status = 'active'
            and n.label = any (array(select l.name from pgmem.label l where l.counted_in = 'cards'))) as cards
  from pgmem.visible_node p where p.label = 'Project' and p.status = 'active'
$$);


select pgmem.declare_view('most_used', $$
Memories that were named as used, wrong or outdated (the verb feedback), the most used first.

used: How often it was named as used.
wrong: How often it was named as wrong.
outdated: How often it was named as outdated.
$$, $$
  select n.id, n.label, n.title, n.project, sum(u.used)::integer as used, sum(u.wrong)::integer as wrong,
         sum(u.outdated)::integer as outdated
  from pgmem.usefulness u join pgmem.visible_node n on n.seq = u.node_seq
  where u.tenant = any ((select pgmem.visible_tenants())::text[])
  group by n.seq, n.id, n.label, n.title, n.project
  order by 5 desc, n.seq desc
$$);


select pgmem.declare_view('never_used', $$
Live memories that the record of recall does not hold: brought to no agent, and never named as used.

watched_since: Since when it would have been recorded: since it was saved, or since the record begins.
$$, $$
  with recalled as materialized (
    select distinct m.id from pgmem.recall_event r cross join lateral unnest(r.memory_ids) as m(id)
    where r.tenant = any ((select pgmem.visible_tenants())::text[])
  )
  select n.id, n.label, n.title, n.project, n.created_at, n.updated_at,
         greatest(n.created_at, coalesce((
           select min(r.at) from pgmem.recall_event r where r.tenant = any ((select pgmem.visible_tenants())::text[])),
           pgmem.now())) as watched_since
  from pgmem.hygiene_node n
  where not exists (select from recalled r where r.id = n.id)
    and not exists (select from pgmem.usefulness u where u.node_seq = n.seq and u.used > 0
                    and u.tenant = any ((select pgmem.visible_tenants())::text[]))
  order by n.created_at, n.seq
$$);


select pgmem.declare_view('recall', $$
What was brought to agents by tools and hooks, and what was named as used, wrong or outdated; kept for recall_days.

at: When.
session_id: The conversation, as in the view turn; null: not known.
agent_id: The agent or client that got it, as it named itself.
act: retrieved by a tool, injected by a hook, or named as used, wrong or outdated.
by: The tool, or the event of the hook.
project: The project that was asked about; null: none.
memory_ids: The memories, in the order of the answer; empty: a prompt for which a hook found nothing to bring.
tokens: How long the answer was, a quarter of its characters; null: it was a word on a memory.
user_id: The user that it was brought to; empty: none was named.
$$, $$
  select r.at, r.session_id, r.agent_id, r.act, r.by, r.project, r.memory_ids, r.tokens,
         split_part(r.tenant, pgmem.tenant_of(), 2) as user_id
  from pgmem.recall_event r where r.tenant = any ((select pgmem.visible_tenants())::text[])
$$);


select pgmem.declare_view('save', $$
Every save and its outcome; retry_save or resolve_review saves one that is not saved.

save_id: The id of the save: with it the same save is made once.
verb: The verb that was called, such as save_decision.
project: The project it was for; null: none.
status: saved, partial, pending_retry, failed, blocked_scope or dropped.
dedup_outcome: new, duplicate_skip, supersede or manual_review; null: not reached.
artifact_id: The id of the memory that it saved or found; null: none.
candidate_id: The id of the memory that it resembles; null: none.
message: What happened, in words.
attempts: How often it was tried.
resolved_by: The person who resolved it; null: nobody has.
created_at: When it was first tried.
updated_at: When it was last tried or resolved.
$$, $$
  select a.save_id, a.verb, a.project, a.status, a.dedup_outcome, a.artifact_id, a.candidate_id, a.message, a.attempts,
         a.resolved_by, a.org_id, a.user_id, a.created_at, a.updated_at
  from pgmem.visible_attempt a
$$);


select pgmem.declare_view('turn', $$
What was said in conversations, as it was captured: source text, not memories.

id: The id of the turn, in every verb and export.
session_id: The conversation: client:session.
place: Its place in the conversation, from 1 on.
role: Who said it: user, assistant, system or tool.
content: What was said.
said_at: When it was said; null: not known.
client: The program that the conversation was held in, such as claude-code.
agent: The subagent that said it; null: none.
trust_level: How far it is trusted, 0 to 1.
user_id: The user that owns it; empty: it is public.
captured_at: When it was captured; turn_days later it is deleted.
$$, $$
  select n.id, n.session_id, n.session_place as place, n.props ->> 'role' as role, n.props ->> 'content' as content,
         n.valid_from as said_at, n.props ->> 'client' as client, n.props ->> 'agent' as agent, n.project,
         n.trust_level, n.org_id, n.user_id, n.created_at as captured_at
  from pgmem.visible_node n where pgmem.is_source_text(n.label) and n.status = 'captured'
$$);
