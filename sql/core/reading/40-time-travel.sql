-- Time travel
--
-- A memory has two times. begins_at and ends_at say when a state of it was true; ingested_at and replaced_at say when
-- pgmem held that state. So there are two questions, and they combine: as_of asks for the truth of a time, known_at
-- for the record of a time. Every read of the past asks states_at, over the states that a visible node was
-- ever recorded in (recorded_state in 09-visible). 17-nodes keeps the periods, 07-truth has their rules.
--
-- The search of the past is by words alone, ranked by ts_rank: the word statistics and the vectors of the past are
-- not kept.
--
-- Locks: none.


-- Inlined, so that conditions of the caller reach the indexes of node and node_version. The exists clauses read these
-- tables by their primary keys, for states that the other conditions let pass; the node is visible.
create or replace function pgmem.states_at(
  p_as_of timestamptz,
  p_known_at timestamptz
) returns setof pgmem.recorded_state
language sql stable as $$
  select s.* from pgmem.recorded_state s
  where s.ingested_at <= coalesce(p_known_at, 'infinity')
    and case when p_as_of is null then pgmem.is_live_status(s.status) else pgmem.was_live_status(s.status) end
    and pgmem.valid_at(s.begins_at,
      case when s.replaced_at <= coalesce(p_known_at, 'infinity') and s.replaced_at < 'infinity' then s.ends_at
        else s.valid_to end, coalesce(p_as_of, p_known_at))
    and (s.yields is null or not s.yields @> coalesce(p_as_of, p_known_at))
    -- The latest state on record needs no look at others.
    and (s.latest or (
      -- The latest one may hide the node.
      not exists (
        select from pgmem.node n
        where n.seq = s.seq and n.recorded_at <= coalesce(p_known_at, 'infinity')
          and pgmem.is_hidden_status(n.status))
      and not exists (
        select from pgmem.node_version v
        where v.node_seq = s.seq and v.ingested_at <= p_known_at and v.replaced_at > p_known_at
          and pgmem.is_hidden_status(v.status))
      -- Where several states were true then, the latest one on record is shown.
      and not exists (
        select from pgmem.node n
        where n.seq = s.seq and n.version > s.version and n.recorded_at <= coalesce(p_known_at, 'infinity')
          and pgmem.was_live_status(n.status)
          and pgmem.valid_at(n.begins_at, n.valid_to, coalesce(p_as_of, p_known_at))
          and (n.yields is null or not n.yields @> coalesce(p_as_of, p_known_at)))
      and not exists (
        select from pgmem.node_version v
        where v.node_seq = s.seq and v.version > s.version and v.ingested_at <= coalesce(p_known_at, 'infinity')
          and pgmem.was_live_status(v.status)
          and pgmem.valid_at(v.begins_at,
            case when v.replaced_at <= coalesce(p_known_at, 'infinity') and v.replaced_at < 'infinity' then v.ends_at
              else v.valid_to end, coalesce(p_as_of, p_known_at))
          and (v.yields is null or not v.yields @> coalesce(p_as_of, p_known_at)))));
$$;
comment on function pgmem.states_at is $$
The states that answer as_of, known_at or both; one of the two is given, and a node has at most one such state.

The latest recorded state that was true on the day (as_of, else known_at), of those on record at known_at (null: now). A
state that was replaced ends where its successor took its place only for those who know the successor, and a node whose
latest state on record is archived, merged, rejected or dismissed is hidden. With known_at alone the state must be live.
$$;


create or replace function pgmem.branch_of(p_label text, p_props jsonb) returns text
language sql immutable parallel safe
begin atomic
  select case when pgmem.is_branched(p_label) then p_props ->> 'branch' end;
end;
comment on function pgmem.branch_of is 'The branch that a card belongs to until it is merged; null: it is shared.';


-- Inlined as states_at, and in each half with the same types, so that the planner reads the tables of both halves as
-- those of the caller. The condition on the present is of columns that the index node_states holds: whole stores are
-- counted by it.
create or replace function pgmem.memories_at(
  p_tenants text[],
  p_as_of timestamptz,
  p_known_at timestamptz
) returns table (
  seq bigint,
  version integer,
  label text,
  status text,
  project_seq bigint,
  source text,
  agent_id text,
  session_id text,
  branch text
)
language sql stable as $$
  select n.seq, n.version, n.label::text, n.status::text, n.project_seq, n.source::text, n.agent_id::text,
         n.session_id::text, pgmem.branch_of(n.label, n.props)
  from pgmem.node n
  where n.tenant = any (p_tenants) and pgmem.is_memory(n.label) and n.told is null
    and n.recorded_at <= coalesce(p_known_at, 'infinity')
    and case when p_as_of is null then pgmem.is_live_status(n.status) else pgmem.was_live_status(n.status) end
    and pgmem.valid_at(n.begins_at, n.valid_to, coalesce(p_as_of, p_known_at))
    and (n.yields is null or not n.yields @> coalesce(p_as_of, p_known_at))
  union all
  select s.seq, s.version, s.label::text, s.status::text, s.project_seq, s.source::text, s.agent_id::text,
         s.session_id::text, pgmem.branch_of(s.label, s.props)
  from pgmem.states_at(p_as_of, p_known_at) s
  where not s.latest and pgmem.is_memory(s.label);
$$;
comment on function pgmem.memories_at is
  'The memories of some tenants, which the caller sees, in the states of states_at, without their texts.';


create or replace function pgmem.find_state(
  p_label text,
  p_key text,
  p_project_seq bigint,
  p_as_of timestamptz,
  p_known_at timestamptz
) returns pgmem.recorded_state
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_id     uuid := case when p_key ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then p_key::uuid end;
  v_states pgmem.recorded_state[];
  v_live   pgmem.recorded_state[];
begin
  p_label := (pgmem.require_label(p_label)).name;
  select array_agg(found.state order by (found.state).seq) into v_states from (
    select row(s.*)::pgmem.recorded_state as state from pgmem.states_at(p_as_of, p_known_at) s
    where s.label = p_label
      and s.seq in (
        select n.seq from pgmem.visible_node n
        where pgmem.name_hash(coalesce(n.key, n.title)) = pgmem.name_hash(btrim(p_key))
          and n.label = p_label and pgmem.folded(coalesce(n.key, n.title)) = pgmem.folded(btrim(p_key))
        union all
        select n.seq from pgmem.visible_node n where n.label = p_label and n.id = v_id)
      and (p_project_seq is null or s.project_seq = p_project_seq or s.project_seq is null)
    limit 20) found;
  select array_agg(s) into v_live from unnest(v_states) s where pgmem.is_live_status(s.status);
  if cardinality(v_states) > 1 and cardinality(v_live) = 1 then
    v_states := v_live;
  end if;
  if v_states is null then
    raise exception using errcode = 'PM002', message = format('No %s named %s was %s.',
      p_label, quote_literal(left(p_key, 80)),
      concat_ws(' and ', 'true at ' || p_as_of, 'known at ' || p_known_at));
  elsif cardinality(v_states) > 1 then
    raise exception using errcode = 'PM003', message = format(
      '%s names %s nodes of label %s; send one of these ids: %s.',
      quote_literal(left(p_key, 80)), cardinality(v_states), p_label,
      (select string_agg(format('%s (%s)', s.id, coalesce(s.place, 'no project')), ', ') from unnest(v_states) s));
  end if;
  return v_states[1];
end;
$$;
comment on function pgmem.find_state is
  'The state of a named node that was true at a time, or known at one, or both; none or several are errors.';


create or replace function pgmem.find_recorded(
  p_label text,
  p_key text,
  p_project_seq bigint default null
) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_nodes   pgmem.node[];
  v_message text;
begin
  p_label := (pgmem.require_label(p_label)).name;
  return pgmem.find_node(p_label, p_key, p_project_seq);
exception when sqlstate 'PM002' then
  v_message := sqlerrm;
  select array_agg(row(n.*)::pgmem.node order by n.updated_at desc, n.seq desc) into v_nodes from (
    select n.* from pgmem.visible_node n
    where n.label = p_label and pgmem.folded(coalesce(n.key, n.title)) = pgmem.folded(btrim(p_key))
      and pgmem.name_hash(coalesce(n.key, n.title)) = pgmem.name_hash(btrim(p_key))
      and (p_project_seq is null or n.project_seq = p_project_seq or n.project_seq is null) limit 20) n;
  v_nodes := pgmem.own_first(v_nodes, pgmem.visible_tenants());
  if v_nodes = '{}' then
    raise exception using errcode = 'PM002', message = v_message;
  elsif cardinality(v_nodes) > 1 then
    raise exception using errcode = 'PM003', message = format(
      '%s names %s forgotten nodes of label %s; %s.',
      quote_literal(left(p_key, 80)), cardinality(v_nodes), p_label,
      pgmem.which_node(v_nodes, pgmem.visible_tenants()));
  end if;
  return v_nodes[1];
end;
$$;
comment on function pgmem.find_recorded is
  'The visible node of a label by id, key or exact title; where none has the name, a forgotten one that has it.';


create or replace function pgmem.state_item(p_state pgmem.recorded_state, p_ages pgmem.ages) returns jsonb
language sql stable parallel safe as $$
  select (p_state).props || jsonb_build_object(
    'id', (p_state).id,
    'label', (p_state).label,
    'key', (p_state).key,
    'title', (p_state).title,
    'scope', (p_state).scope,
    'focus', (p_state).focus,
    'created_at', (p_state).created_at,
    'updated_at', (p_state).updated_at,
    'trust_level', (p_state).trust_level,
    'confidence', pgmem.decayed((p_state).initial_confidence, pgmem.aged_since((p_state).label, (p_state).instructs, (p_state).updated_at),
                                (p_ages).at, (p_ages).decay_rate, (p_ages).decay_max_age_days),
    'freshness', pgmem.freshness(pgmem.aged_since((p_state).label, (p_state).instructs, (p_state).updated_at), p_ages),
    'status', (p_state).status,
    'version', (p_state).version,
    'valid_from', (p_state).valid_from,
    'valid_to', (p_state).valid_to,
    'by', pgmem.said_by((p_state).source, (p_state).trust_level));
$$;
comment on function pgmem.state_item is
  'A recorded state as an item of a context: as context_item, with status, version and validity.';


-- Half of a place is kept for memories of persons, so that nothing that agents save, however much, takes it out of a context;
-- places not taken so go to the newest of the others.
create or replace function pgmem.places_of_persons(p_limit integer) returns integer
language sql immutable parallel safe
begin atomic
  select (p_limit + 1) / 2;
end;
comment on function pgmem.places_of_persons is 'How many of the places of a context are kept for memories of persons.';


create or replace function pgmem.context_items_at(
  p_places text[],
  p_limits integer[],
  p_labels text[],
  p_topic tsquery,
  p_as_of timestamptz,
  p_known_at timestamptz
) returns table (
  place_number bigint,
  state pgmem.recorded_state
)
language sql stable set search_path = pgmem, pg_temp as $$
  select p.number, read.state
  from unnest(p_places, p_limits) with ordinality as p(place, most, number)
  -- The places are sorted without the texts, which are read for shown memories; half of each is kept for persons.
  cross join lateral (
    select r.*, r.rank <= p.most as kept
    from (
      select m.seq, m.version, m.created_at, row_number() over (
               order by m.of_person and m.nth <= pgmem.places_of_persons(p.most) desc, m.created_at desc, m.seq desc) as rank
      from (
        select s.*, row_number() over (partition by s.of_person order by s.created_at desc, s.seq desc) as nth
        from (
          select s.seq, s.version, s.created_at, pgmem.is_of_a_person(s.source, s.trust_level) as of_person
          from pgmem.states_at(p_as_of, p_known_at) s
          where s.place = p.place and s.scope is not null and not pgmem.named_only(s.label)
            and (p_topic is null or s.tsv @@ p_topic)
            and (p_labels is null or s.label = any (p_labels))) s) m) r
    where r.rank <= p.most + 1) found
  cross join lateral (
    select row(s.*)::pgmem.recorded_state as state from pgmem.recorded_state s
    where s.seq = found.seq and s.version = found.version offset 0) read
  order by p.number, found.kept desc, found.created_at desc, found.seq desc;
$$;
comment on function pgmem.context_items_at is
  'As context_items and context_items_on_topic, for memories true at a time, or known at one, or both.';


create or replace function pgmem.search_known(
  p_query text,
  p_limit integer,
  p_scope pgmem.scope_state,
  p_filter pgmem.search_filter,
  p_known_at timestamptz
) returns jsonb
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_query tsquery := pgmem.any_word(p_query, coalesce(p_scope.text_config, pgmem.setting_text('text_config')));
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
      'id', s.id, 'label', s.label, 'key', s.key, 'title', s.title,
      'passage', pgmem.excerpt(pgmem.search_text(s.label, s.title, s.props)),
      'project', s.project, 'scope', s.scope, 'score', s.rank, 'fulltext', s.rank, 'trust', s.trust_level,
      'confidence', pgmem.confidence(s.initial_confidence, s.label, s.instructs, s.updated_at), 'created_at', s.created_at,
      'by', pgmem.said_by(s.source, s.trust_level))
      order by s.rank desc, s.seq desc), '[]')
    from (
      select s.*, pgmem.word_rank(s.tsv, v_query, 1)::float8 as rank from pgmem.states_at(p_filter.as_of, p_known_at) s
      where s.tsv @@ v_query and s.status <> 'captured' and pgmem.is_memory(s.label)
        and (p_filter.project_seq is null or s.project_seq = p_filter.project_seq or s.scope = 'global')
        and pgmem.has_label(s.label, s.props, p_filter.labels)
        and (p_filter.scopes is null or s.scope = any (p_filter.scopes))
        and (p_filter.focus is null or s.focus = p_filter.focus)
        and (p_filter.tags is null or s.props -> 'tags' ?& p_filter.tags)
        -- The history does not keep the writers of earlier states.
        and (p_filter.agent_id is null or s.agent_id = p_filter.agent_id)
        and (p_filter.session_id is null or s.session_id = p_filter.session_id)
      order by rank desc, s.seq desc limit p_limit) s);
end;
$$;
comment on function pgmem.search_known is
  'Memories that were true, or on record, at a time and hold words of a query, best first by full text, as results of a '
  'search.';


select pgmem.declare_answer('keyed_memory', $$
A memory by its id, the name of a kind that is named, and its title.

id uuid, label text, key text?, title text
$$);

select pgmem.declare_answer('memory_state', $$
A node with all its properties: as it is, or as it was true or known at a date.

The agent is that of the state's writer, the session that of the present state's; archived_at is set for a forgotten memory.

class Node like keyed_memory
status text, properties object, project text?, scope text?, focus text?, valid_from timestamptz?
valid_to timestamptz?, confidence float8, trust_level float8, source text, version integer, created_at timestamptz
updated_at timestamptz, ingested_at timestamptz, agent_id text?, session_id text?, archived_at timestamptz?
by person|agent?: Who said it; agent: also a program or a file.
author text?: The agent that saved it first; agent_id is the writer of this state.
$$);

create or replace function pgmem.get_node(
  p_label text,
  p_key text,
  p_project_id text default null,
  p_as_of timestamptz default null,
  p_known_at timestamptz default null
) returns pgmem.memory_state
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_project_seq bigint := pgmem.find_project(p_project_id);
  v_found       record;
  v_state       pgmem.memory_state;
begin
  if p_as_of is null and p_known_at is null then
    v_found := pgmem.present(pgmem.find_recorded(p_label, p_key, v_project_seq));
  else
    v_found := pgmem.find_state(p_label, p_key, v_project_seq, p_as_of, p_known_at);
  end if;
  select s.* into v_state from pgmem.memory_state s where s.id = v_found.id and s.version = v_found.version;
  return v_state;
end;
$$;
comment on function pgmem.get_node is $$
Read one memory whole: as it is, or as it was true or on record at a time.

A memory that was forgotten is found where no other has the name: its status is `archived`, and archived_at says since
when. agent_id says who wrote the state. With as_of or known_at the memory is found by its present
name, or by its id; valid_from and valid_to are the dates set for that state, memory_history has the effective period.

project_id: Where to look for the name; unset: everywhere.

MemoryNotFound: no such memory is visible to the caller, or it was not true or known at that time.
AmbiguousName: a name fits several memories; the message lists their ids.
InvalidArgument: an unknown label, or an empty key.
$$;
select pgmem.declare_verb('get_node', p_rights => 'reader', p_effect => 'read', p_answer => 'Node',
  p_toolset => 'graph',
  p_description => 'One memory whole, now or in the past.');
