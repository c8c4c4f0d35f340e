-- Remembering by name
--
-- remember writes the nodes that no save verb writes: technologies, people, concepts and the labels of init_schema.
-- The name is the key within a scope, so remembering a name again updates its node. Properties are merged: a key
-- that is sent replaces the stored one, null removes it, and a key that is not sent stays. A node that keeps
-- properties of an earlier state is trusted as its least trusted part.
--
-- Relations are named too. A name that fits one node gets an edge, a name that fits none becomes a stub (a node
-- with nothing but its name), and a name that fits several comes back in did_you_mean (link_named in 19-edges).
--
-- A node may have a period, which a write keeps unless it sends a date. One with a valid_from saves a state for its
-- period, beside the states of other times (16-states); valid_to alone ends the present one. A write without dates to
-- a node that had ended revives it from now on. A write to a node with an end reports it in conflict.
--
-- Locks: the scopes of the node and of the stubs it may need, sorted, before every read that they guard; then the
-- row.


select pgmem.declare_answer('made_relation', $$
A relation to another node; created is false if it existed.

relation text, id uuid, label text, name text, created boolean
$$);

select pgmem.declare_answer('named_node', $$
A node with its name.

id uuid, label text, name text, project text?
by person|agent?: Who said it; agent: also a program or a file.
$$);

select pgmem.declare_answer('ambiguity', $$
A target that was not joined: the nodes that match its name; none if only another verb may create such a node.

relation text, name text, candidates named_node[]
$$);

select pgmem.declare_answer('period_conflict', $$
A write onto a node whose period had an end (revived: it had passed) or beside an open one, and the outcome.

conflict revived|has_end|open, action cleared|kept|replaced|review, previous_valid_to timestamptz?
since timestamptz?: The other open period begins then.
save_id uuid?: Under which a person decides.
message text?
$$);

select pgmem.declare_answer('remembered', $$
A node that was created or updated, and the outcome of its relations.

id uuid, label text, key text, title text, status text, version integer, created boolean
relations_made made_relation[] = {}, stubs_made named_node[] = {}, did_you_mean ambiguity[] = {}
conflict period_conflict?, embedded boolean = false, proactive_hint text?, dedup_outcome text?, next_step text?
save_id uuid?, near_names near_name[] = {}
$$);

create or replace function pgmem.remember(
  p_label text,
  p_properties jsonb,
  p_relations jsonb default '{}',
  p_valid_from timestamptz default null,
  p_valid_to timestamptz default null,
  p_project_id text default null,
  p_share pgmem.sharing default null,
  p_embedding real[] default null,
  p_embedding_model text default null,
  p_embedding_text_hash text default null
) returns pgmem.remembered
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer  pgmem.remembered;
  v_caller  pgmem.caller := pgmem.require_writer();
  v_asked   record := pgmem.asked_node(
    p_label, p_properties, p_valid_from, p_valid_to, p_project_id, p_share, v_caller);
  v_written record;
  v_change  jsonb;
begin
  perform pgmem.require_no_steering(p_relations, v_caller);
  perform pgmem.lock_targets(v_asked.node, p_relations);
  v_written := pgmem.write_named(v_asked.node, v_asked.key_field, v_caller);
  v_answer.id := (v_written.node).id;
  v_answer.label := (v_written.node).label;
  v_answer.key := (v_written.node).key;
  v_answer.title := (v_written.node).title;
  v_answer.status := (v_written.node).status;
  v_answer.version := (v_written.node).version;
  v_answer.created := v_written.created;
  v_answer.conflict := v_written.conflict;
  if v_written.refused or (v_written.contradicts).seq is not null then  -- a person decides
    v_change := jsonb_strip_nulls(jsonb_build_object('label', v_answer.label, 'key', (v_asked.node).key,
      'properties', p_properties, 'relations', p_relations, 'valid_from', p_valid_from, 'valid_to', p_valid_to,
      'project_id', p_project_id, 'share', p_share));
    if v_written.refused then
      return jsonb_populate_record(v_answer, to_jsonb(
        pgmem.hold_change(v_caller, 'remember', v_change, v_written.node))
        || '{"relations_made": [], "stubs_made": [], "did_you_mean": []}');
    end if;
    v_answer.conflict := coalesce(v_answer.conflict, '{}') || pgmem.hold_contradiction(
      v_caller, 'remember', v_change, v_written.contradicts, (v_asked.node).valid_from);
  end if;
  select l.relations_made, l.stubs_made, l.did_you_mean, v_written.near_names || l.near_names
  into v_answer.relations_made, v_answer.stubs_made, v_answer.did_you_mean, v_answer.near_names
  from pgmem.link_named(v_written.node, p_relations, v_caller) l;
  v_answer.embedded := pgmem.store_embedding(v_written.node,
    (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
  if v_caller.session_id is not null then
    perform pgmem.link_session(v_caller, v_answer.id);
  end if;
  v_answer.proactive_hint := pgmem.reflection_hint(v_caller.tenant);
  if v_caller.source not in ('cli', 'ui') then
    v_answer.next_step := pgmem.rule_step(v_answer.id);
  end if;
  return v_answer;
end;
$$;
comment on function pgmem.remember is $$
Create or update a node by its name, and relate it to others by their names.

A name that is new and resembles an existing one is made, and near_names says which it resembles.

A target that exists gets an edge, a missing one becomes a stub, an ambiguous one comes back in did_you_mean.

A write without dates keeps the period of the node; where that has ended, the node is true again from now on, and a
person decides, under the save_id in conflict, whether the end comes back. A write to a node whose valid_to was set is
reported in conflict: `revived` where that end had passed, else `has_end`, with the action `cleared`, `kept` or
`replaced`. Other content takes the place of the earlier one from valid_from on, where the node has one, else from now
on; the earlier state keeps an end that was set.

A node of more trust than the caller's stays as it is: the answer has status `failed` and dedup_outcome
`manual_review`, and a person decides under its save_id.

label: Technology, Person, Concept, Problem or another; a kind that no save verb writes (pgmem://schema).
properties: Its name (Problem: title), the known facts, any others; null removes one.
relations: Relations to others by name, such as USES; {"USES": ["Redis", {"name": "Ada", "label": "Person"}]}.
  A missing target becomes a stub.
valid_from: When it begins to hold; a new period unless valid_to is sent too. Unset: as stored, else now.
valid_to: When it ceases to hold; unset: as stored, or open with a new valid_from. Alone it leaves the start as it is.
project_id: Project name; unset: it belongs to none.

InvalidArgument: an unknown label or one that a save verb writes, no name, an unknown relation, an empty period, or a
  property status that says archived.
MemoryNotFound: the project does not exist.
NotPermitted: an agent writes a text that steers agents.
RelationNotAllowed: a relation does not join these labels, or only verbs make it.
$$;
select pgmem.declare_verb('remember', p_rights => 'writer', p_effect => 'repeat', p_answer => 'Remembered',
  p_toolset => 'core,graph',
  p_description =>
    'Call this for a thing with properties or relations to others. One sentence about it goes to upsert_entity.');


create or replace function pgmem.asked_node(
  p_label text,
  p_properties jsonb,
  p_valid_from timestamptz,
  p_valid_to timestamptz,
  p_project_id text,
  p_share text,
  p_caller pgmem.caller,
  out node pgmem.node,
  out key_field text
)
language plpgsql set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_label pgmem.label := pgmem.require_memory_label(p_label);
  v_scope pgmem.scope_state := pgmem.resolve_scope(p_caller, p_project_id, null);
begin
  if v_scope.scope_state = 'uncertain' then
    raise exception using errcode = 'PM002', message = format('No project %s found. %s',
      quote_literal(left(p_project_id, 80)), pgmem.next_step('blocked_scope'));
  end if;
  perform pgmem.require_no_steering(p_properties, p_caller);
  key_field := v_label.key_field;
  node := pgmem.with_period(
    pgmem.named_node(v_label, p_properties, p_share, v_scope, p_caller), p_valid_from, p_valid_to);
end;
$$;
comment on function pgmem.asked_node is
  'The node that a call of remember describes, and the field that names it; an error where it may not be stored.';


create or replace function pgmem.write_named(
  p_node pgmem.node,
  p_key_field text,
  p_caller pgmem.caller,
  out node pgmem.node,
  out created boolean,
  out refused boolean,
  out conflict jsonb,
  out contradicts pgmem.node,
  out near_names jsonb
)
language plpgsql set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_old  pgmem.node := pgmem.settled_namesake(p_node);
  v_told record;
begin
  created := v_old.seq is null;
  refused := false;
  near_names := '[]';
  if created then
    p_node.initial_confidence := coalesce(p_node.initial_confidence, 1.0);
    p_node.props := jsonb_strip_nulls(p_node.props);
    node := pgmem.insert_node(p_node);
    near_names := pgmem.near_names(node, p_caller);
  elsif pgmem.is_live_status(v_old.status) and pgmem.outranked(pgmem.states_trust(v_old), p_caller) then
    -- A repeated fact changes nothing.
    node := v_old;
    refused := not (v_old.props @> p_node.props and p_node.valid_from is not distinct from v_old.valid_from
                    and p_node.valid_to is not distinct from v_old.valid_to);
  else
    v_told := pgmem.merge_node_state(v_old, p_node, p_key_field);
    node := v_told.node;
    contradicts := v_told.contradicts;
    if v_old.valid_to is not null then
      conflict := jsonb_build_object('previous_valid_to', v_old.valid_to,
        'conflict', case when v_old.valid_to < pgmem.now() then 'revived' else 'has_end' end,
        'action', case when node.valid_to is null then 'cleared' when node.valid_to = v_old.valid_to then 'kept'
                    else 'replaced' end);
      if v_old.valid_to < pgmem.now() and node.valid_to is null and p_node.valid_from is null then
        conflict := conflict || pgmem.hold_revival(p_caller, v_old);
      end if;
    end if;
  end if;
end;
$$;
comment on function pgmem.write_named is $$
Store a named node, or merge it into the one of its name; the caller holds the scope lock.

refused: the stored one is more trusted and says something else. contradicts: a state that is open too.
$$;


create or replace function pgmem.named_node(
  p_label pgmem.label,
  p_properties jsonb,
  p_share text,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller
) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_field text := p_label.key_field;
  v_props jsonb;
  v_node  pgmem.node;
begin
  if jsonb_typeof(p_properties) is distinct from 'object' then
    raise exception using errcode = 'PM001',
      message = format('properties must be an object; send {"%s": "…"}.', v_field);
  end if;
  if p_properties ->> 'status' = 'archived' then
    raise exception using errcode = 'PM001',
      message = 'status cannot be set to archived. Call forget to hide a memory; remember brings it back.';
  end if;
  v_props := pgmem.clean_properties(pgmem.require_length(p_properties));
  if p_scope.project_exists then
    v_node := pgmem.place_node(p_label.name, jsonb_build_object('share', p_share), p_scope, p_caller);
  else
    v_node := pgmem.new_node(p_label.name, p_caller, p_share);
    v_node.scope_key := pgmem.scope_key(v_node.tenant, null, v_node.label);
  end if;
  -- The properties are checked as sent: a control character is stripped from one and refused in a name.
  v_node.key := pgmem.clean_key(p_properties ->> v_field, v_field);
  if v_node.key is null or jsonb_typeof(v_props -> v_field) <> 'string' then
    raise exception using errcode = 'PM001',
      message = format('A %s is named by its %s; send it in properties.', p_label.name, v_field);
  end if;
  v_node.title := v_node.key;
  v_node.props := v_props || jsonb_build_object(v_field, v_node.key);
  return v_node;
end;
$$;
comment on function pgmem.named_node is
  'A new node of a label, named by its key field, with the properties that were sent; nothing is stored yet.';


create or replace function pgmem.with_period(
  p_node pgmem.node,
  p_valid_from timestamptz,
  p_valid_to timestamptz
) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  p_node.valid_from := coalesce(pgmem.require_moment(p_valid_from, 'valid_from'), pgmem.argument_time(p_node.props, 'valid_from'));
  p_node.valid_to := coalesce(pgmem.require_moment(p_valid_to, 'valid_to'), pgmem.argument_time(p_node.props, 'valid_to'));
  p_node.initial_confidence := pgmem.argument_number(p_node.props, 'confidence', null);
  p_node.props := p_node.props - '{valid_from,valid_to,confidence}'::text[];
  perform pgmem.require_period(p_node.valid_from, p_node.valid_to);
  return p_node;
end;
$$;
comment on function pgmem.with_period is
  'A node of remember with its period and its confidence, which may be sent among its properties.';


create or replace function pgmem.merged_node(p_old pgmem.node, p_new pgmem.node, p_key_field text) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node := p_old;
begin
  v_node.props := jsonb_strip_nulls(p_old.props || p_new.props) || jsonb_build_object(p_key_field, p_old.key);
  if p_new.valid_from is not null then
    v_node.valid_from := p_new.valid_from;
    v_node.valid_to := p_new.valid_to;
  elsif p_new.valid_to is not null then
    v_node.valid_to := p_new.valid_to;
  elsif p_old.valid_to < pgmem.now() then
    v_node.valid_from := pgmem.now();
    v_node.valid_to := null;
  end if;
  v_node.status := case when p_old.status = 'stub' and v_node.props - p_key_field = '{}' then 'stub' else 'active' end;
  v_node.initial_confidence := coalesce(p_new.initial_confidence, p_old.initial_confidence);
  v_node.source := p_new.source;
  v_node.trust_level := p_new.trust_level;
  v_node.agent_id := p_new.agent_id;
  v_node.session_id := p_new.session_id;
  -- Some of the earlier properties stay, and with them the doubt in their source.
  if exists (select from jsonb_object_keys(p_old.props - p_key_field) as stored(name)
             where not p_new.props ? stored.name) then
    v_node.trust_level := least(p_new.trust_level, p_old.trust_level);
  end if;
  return v_node;
end;
$$;
comment on function pgmem.merged_node is
  'A stored node with a later write merged in: new provenance, and the lower trust where earlier properties stay.';


create or replace function pgmem.merge_node_state(
  p_old pgmem.node,
  p_new pgmem.node,
  p_key_field text,
  p_sure boolean default false,
  out node pgmem.node,
  out contradicts pgmem.node
)
language plpgsql set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_told record;
begin
  if p_new.valid_from is null then
    node := pgmem.merged_node(p_old, p_new, p_key_field);
    perform pgmem.require_period(node.valid_from, node.valid_to);
    node := pgmem.update_node(node);
  else
    perform pgmem.require_period(p_new.valid_from, p_new.valid_to);
    v_told := pgmem.add_state(p_old,
      pgmem.merged_node(pgmem.state_that_begins(p_old, p_new.valid_from, p_new.valid_to), p_new, p_key_field), p_sure);
    node := v_told.node;
    contradicts := v_told.contradicts;
  end if;
end;
$$;
comment on function pgmem.merge_node_state is
  'Write a fact about a stored node: into its present state, or for a period where it has a valid_from (add_state).';
