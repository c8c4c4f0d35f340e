-- Turns: the texts of a conversation
--
-- A turn is source text: the words of a person or an agent in a session of a client, one row a turn, as it was said. It is
-- no memory yet, so its status is captured, and every read of live memories passes over it: context, hygiene,
-- reflection, counts. A search finds turns where it names their label (labels => '{Turn}'). History, tenancy, export
-- and erasure are those of every node; turns have no vectors, as there are a hundred times as many of them as memories.
--
-- A turn is named by client, session and its id there (where that is a UUID, by client and id: a session that was
-- resumed or forked repeats the turns before it), so a transcript can be captured again and again. One that was
-- forgotten stays forgotten, one that was purged is known by its tombstone, as the id of a turn follows from its name.
-- turn_days after they were captured the sweep deletes them.
--
-- Locks: the scope of the project, if it is made, then that of its turns.


select pgmem.declare_answer('captured_turns', $$
How many turns of a conversation were stored; turns are searched by session_id, which is client:session.

session_id text, project_id text?, project_created boolean, captured integer, known integer
$$);

create or replace function pgmem.capture_turns(
  p_client text,
  p_session_id text,
  p_turns pgmem.objects,
  p_project_id text default null
) returns pgmem.captured_turns
language plpgsql security definer set search_path = pgmem, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
declare
  v_answer pgmem.captured_turns;
  v_caller pgmem.caller := pgmem.require_writer();
  v_scope  pgmem.scope_state := pgmem.resolve_scope(v_caller, p_project_id, null);
  v_trust  float8 := pgmem.setting_float('trust_turn');
  v_node   pgmem.node;
  v_turn   jsonb;
begin
  perform pgmem.require_turns(p_turns);
  v_answer.session_id := pgmem.conversation(p_client, p_session_id);
  perform pgmem.require_no_steering(jsonb_build_object('client', p_client, 'session', p_session_id), v_caller);
  v_answer.project_created := v_scope.scope_state = 'uncertain';
  if v_answer.project_created then
    v_scope := pgmem.name_project(v_scope, v_caller);
  end if;
  v_answer.project_id := v_scope.project_id;
  v_answer.captured := 0;
  if v_scope.project_exists then
    v_node := pgmem.place_node('Turn', '{}', v_scope, v_caller);
  else
    v_node := pgmem.new_node('Turn', v_caller);
    v_node.scope_key := pgmem.scope_key(v_node.tenant, null, 'Turn');
  end if;
  v_node.session_id := v_answer.session_id;
  v_node.status := 'captured';
  v_node.trust_level := least(v_node.trust_level, v_trust);
  perform pgmem.lock_scope(v_node.scope_key);
  for v_turn in select value from jsonb_array_elements(p_turns) loop
    v_answer.captured := v_answer.captured + pgmem.capture_turn(v_node, p_client, v_turn)::integer;
  end loop;
  v_answer.known := jsonb_array_length(p_turns) - v_answer.captured;
  return v_answer;
end;
$$;
comment on function pgmem.capture_turns is $$
Keep the turns of a conversation as source text, found by search where labels name Turn.

A turn that exists already, or was forgotten, is passed over and counted as known. A project that does not exist is
made. The turns are deleted turn_days (a setting) after they were captured.

client: The program that the conversation is held in, such as claude-code.
session_id: The id of the conversation in that client; turns are searched by client:session_id.
turns: Objects in order with id, role (user, assistant, system, tool) and content; and, where known, at (the time it was
  said), agent (the subagent that said it) and created_told (the client's own statement of the time, where at is a guess).
project_id: The project it belongs to; unset: none.

InvalidArgument: turns is not such a list, or a text is too long.
NotPermitted: An agent sends a name of a client, session or project that steers agents.
$$;
select pgmem.declare_verb('capture_turns', p_rights => 'writer', p_effect => 'repeat', p_answer => 'CapturedTurns');


create or replace function pgmem.conversation(p_client text, p_session_id text) returns text
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if pgmem.clean_key(p_client, 'client') is null or pgmem.clean_key(p_session_id, 'session_id') is null then
    raise exception using errcode = 'PM001',
      message = 'A turn is named by its client and session: send client (such as claude-code) and session_id.';
  end if;
  return pgmem.clean_key(p_client, 'client') || ':' || pgmem.clean_key(p_session_id, 'session_id');
end;
$$;
comment on function pgmem.conversation is
  'The session_id of the turns of a session: the client and the id that the session has there.';


create or replace function pgmem.require_turns(p_turns jsonb) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_turn  jsonb;
  v_place bigint;
begin
  perform pgmem.require_objects(p_turns, 'turns', '[{"id": "…", "role": "user", "content": "…"}]');
  perform pgmem.require_count(jsonb_array_length(p_turns), 'turns', 'max_list_limit');
  perform pgmem.require_length(p_turns);
  for v_turn, v_place in select t.value, t.place from jsonb_array_elements(p_turns) with ordinality as t(value, place)
  loop
    if pgmem.clean_key(v_turn ->> 'id', 'The id of a turn') is null
        or pgmem.clean_text(v_turn ->> 'content', 'content') is null then
      raise exception using errcode = 'PM001', message = format(
        'Turn %s needs an id and a content; send {"id": "…", "role": "user", "content": "…"}.', v_place);
    end if;
    perform pgmem.one_of('role', coalesce(v_turn ->> 'role', 'nothing'), '{user,assistant,system,tool}');
  end loop;
end;
$$;
comment on function pgmem.require_turns is 'An error that names the first turn of a list that cannot be kept.';


-- Reads node itself, by a name that holds the caller's tenant.
create or replace function pgmem.capture_turn(p_node pgmem.node, p_client text, p_turn jsonb) returns boolean
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_id uuid;
begin
  p_node.key := pgmem.turn_key(p_node.session_id, p_turn ->> 'id');
  v_id := pgmem.id_by_name(p_node.tenant, p_node.key);
  if exists (select from pgmem.node n
             where n.scope_key = p_node.scope_key and n.tenant || '' = p_node.tenant
               and pgmem.folded(n.key) = pgmem.folded(p_node.key))
      or exists (select from pgmem.tombstone t where t.id = v_id and t.tenant = p_node.tenant) then
    return false;
  end if;
  p_node.id := case when exists (select from pgmem.node n where n.id = v_id) then gen_random_uuid() else v_id end;
  p_node.props := jsonb_strip_nulls(jsonb_build_object(
    'content', pgmem.clean_text(p_turn ->> 'content', 'content', true), 'role', p_turn ->> 'role',
    'client', btrim(p_client), 'turn_id', btrim(p_turn ->> 'id'),
    'agent', pgmem.clean_key(p_turn ->> 'agent', 'agent'),
    'created_told', left(pgmem.clean_text(p_turn ->> 'created_told', 'created_told'), 300)));
  p_node.title := pgmem.excerpt(p_node.props ->> 'content');
  -- A clock that is ahead must not hide a turn.
  p_node.valid_from := least(pgmem.argument_time(p_turn, 'at'), p_node.created_at);
  perform pgmem.insert_node(p_node);
  return true;
end;
$$;
comment on function pgmem.capture_turn is
  'Keep one turn of a conversation, unless it exists, was forgotten or was purged; whether it was kept.';


create or replace function pgmem.turn_key(p_session_id text, p_turn_id text) returns text
language sql immutable parallel safe
begin atomic
  select case when pgmem.is_uuid(btrim(p_turn_id)) then split_part(p_session_id, ':', 1) || ':' || btrim(p_turn_id)
    when length(p_session_id) + length(p_turn_id) < 200 then p_session_id || '/' || btrim(p_turn_id)
    else 'sha256:' || encode(sha256(convert_to(p_session_id || e'\x1e' || btrim(p_turn_id), 'UTF8')), 'hex') end;
end;
comment on function pgmem.turn_key is
  'The name of a turn among those of its project: its client and id where that is a UUID, which a fork of the session '
  'keeps; else its session and id, or their digest where that is too long.';


create or replace function pgmem.expire_turns(p_limit integer) returns integer
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_days  integer := pgmem.setting_int('turn_days');
  v_seqs  bigint[];
begin
  if coalesce(v_days, 0) = 0 then
    return 0;
  end if;
  v_seqs := array(
    select n.seq from pgmem.node n
    where n.status = 'captured' and n.created_at < pgmem.now() - make_interval(days => v_days)
    order by n.created_at limit p_limit for update skip locked);
  delete from pgmem.node n where n.seq = any (v_seqs);
  return cardinality(v_seqs);
end;
$$;
comment on function pgmem.expire_turns is 'Delete turns that were captured turn_days ago; how many.';


create or replace function pgmem.turn_arrives(p_state jsonb) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  perform pgmem.one_of('role', coalesce(p_state #>> '{props,role}', 'nothing'), '{user,assistant,system,tool}'),
    pgmem.clean_text(p_state #>> '{props,content}', 'content', true);
  return null;
end;
$$;
comment on function pgmem.turn_arrives is 'An error where a turn that another store brings is none: a role and a text. The text stays as it was said.';
select pgmem.declare_label('Turn', p_kept_as_sent => true, p_arrives_by => 'turn_arrives', p_source_text => true, p_derived => true,
  p_embedded => false, p_titled => false, p_other_texts => 'none', p_counted_apart => 2,
  p_statuses => '{active,superseded,archived,expired,merged,stub,captured}');
