-- Messages of a conversation
--
-- The messages of a program in a session, in order, for the sessions of agent frameworks. A message is a
-- memory of the label Message whose value is kept as it was sent: search_memory finds its texts, retrieve_context
-- never shows it. Its number in the session is part of its key and never used twice, so the order is that of the
-- keys.
--
-- A value that is not an object was not sent by a framework: it is passed over, and taken out of the way
-- by pop_message.
--
-- Locks: the scope of messages, before the reads that it guards; then the rows.


select pgmem.declare_answer('message', $$
A message of a session, as it was sent.

id uuid, value json, created_at timestamptz
$$);

create or replace function pgmem.list_messages(
  p_session_id text,
  p_limit integer default null,
  p_project_id text default null
) returns setof pgmem.message
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_place pgmem.node := pgmem.item_place('Message', p_project_id, pgmem.caller());
begin
  return query
  select latest.id, latest.value, latest.created_at::timestamptz
  from (select n.key, n.id, n.props -> 'value' as value, n.created_at
        from pgmem.live_items(v_place, pgmem.session_prefix(p_session_id)) n
        where jsonb_typeof(n.props -> 'value') = 'object'
        order by n.key collate "C" desc limit case when p_limit is not null then greatest(p_limit, 0) end) latest
  order by latest.key collate "C";
end;
$$;
comment on function pgmem.list_messages is $$
Read the messages of a session in their order.

session_id: The name of the session.
limit: Only so many of the latest; unset: all.
project_id: The project that they belong to; unset: none.

InvalidArgument: the session has no name, or a name that is too long.
MemoryNotFound: the project does not exist.
$$;
select pgmem.declare_verb('list_messages', p_rights => 'reader', p_effect => 'look', p_answer => 'list[Message]');


create or replace function pgmem.session_prefix(p_session_id text) returns text
language sql immutable set search_path = pgmem, pg_temp as $$
  select left(pgmem.item_key(array[p_session_id], '000000000000'), -14);
$$;
comment on function pgmem.session_prefix is 'The beginning of the keys of all messages of a session.';


create or replace function pgmem.add_messages(
  p_session_id text,
  p_messages pgmem.objects,
  p_project_id text default null,
  out added integer
)
language plpgsql security definer set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_caller  pgmem.caller := pgmem.require_writer();
  v_place   pgmem.node := pgmem.item_place('Message', p_project_id, v_caller);
  v_prefix  text := pgmem.session_prefix(p_session_id);
  v_number  bigint;
  v_message jsonb;
begin
  perform pgmem.require_objects(p_messages, 'messages', '[{"role": "user", "content": "…"}]');
  perform pgmem.lock_scope(v_place.scope_key);
  v_number := pgmem.last_message(v_place, v_prefix);
  added := 0;
  for v_message in select e.value from jsonb_array_elements(p_messages) with ordinality as e(value, place)
                   order by e.place loop
    perform pgmem.require_item_value(v_message);
    added := added + 1;
    perform pgmem.write_item(v_place, v_caller,
      pgmem.item_key(array[p_session_id], lpad((v_number + added)::text, 12, '0')),
      concat_ws(' ', p_session_id, coalesce(v_message ->> 'role', v_message ->> 'type')),
      jsonb_build_object('namespace', jsonb_build_array(p_session_id), 'value', v_message));
  end loop;
end;
$$;
comment on function pgmem.add_messages is $$
Add messages to the end of a session, all or none.

All messages of one of two calls at once come before those of the other.

session_id: The name of the session; a new one begins a session.
messages: Objects, kept as they are, in their order.
project_id: The project that they belong to; unset: none.

InvalidArgument: the session has no name, or a message is too long or holds NUL.
MemoryNotFound: the project does not exist.
$$;
select pgmem.declare_verb('add_messages', p_rights => 'writer', p_effect => 'write', p_answer => 'int');


create or replace function pgmem.last_message(p_place pgmem.node, p_prefix text) returns bigint
language sql stable set search_path = pgmem, pg_temp as $$
  -- Also of messages that were taken out: a number is never used twice.
  select coalesce((
    select left(right(n.key, 14), 12)::bigint from pgmem.node n
    where n.scope_key = (p_place).scope_key and n.tenant || '' = (p_place).tenant
      and pgmem.folded(n.key) operator(pg_catalog.~>=~) pgmem.folded(p_prefix)
      and pgmem.folded(n.key) operator(pg_catalog.~<~) (pgmem.folded(p_prefix) || U&'\+10FFFF')
      and starts_with(n.key, p_prefix)
    order by pgmem.folded(n.key) using operator(pg_catalog.~>~) limit 1), 0);
$$;
comment on function pgmem.last_message is 'The number of the last message that a session had; 0: none.';


create or replace function pgmem.pop_message(
  p_session_id text,
  p_project_id text default null
) returns setof pgmem.message
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_place  pgmem.node := pgmem.item_place('Message', p_project_id, v_caller);
  v_last   record;
begin
  perform pgmem.lock_scope(v_place.scope_key);
  for v_last in
    select n.seq, n.id, n.props -> 'value' as value, n.created_at
    from pgmem.live_items(v_place, pgmem.session_prefix(p_session_id)) n order by n.key collate "C" desc
  loop
    perform pgmem.hide_items(array[v_last.seq], v_caller);
    if jsonb_typeof(v_last.value) = 'object' then
      return query select v_last.id, v_last.value, v_last.created_at::timestamptz;
      return;
    end if;
  end loop;
end;
$$;
comment on function pgmem.pop_message is $$
Take the last message out of a session and return it; no row where there is none.

revert brings it back.

session_id: The name of the session.
project_id: The project that it belongs to; unset: none.

NotPermitted: the message was written by a more trusted source.
$$;
select pgmem.declare_verb('pop_message', p_rights => 'writer', p_effect => 'remove', p_answer => 'Message|None');


create or replace function pgmem.clear_messages(
  p_session_id text,
  p_project_id text default null,
  out deleted integer
)
language plpgsql security definer set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_place  pgmem.node := pgmem.item_place('Message', p_project_id, v_caller);
begin
  perform pgmem.lock_scope(v_place.scope_key);
  deleted := pgmem.hide_items(array(
    select n.seq from pgmem.live_items(v_place, pgmem.session_prefix(p_session_id)) n), v_caller);
end;
$$;
comment on function pgmem.clear_messages is $$
Forget all messages of a session; how many. revert brings each of them back.

session_id: The name of the session.
project_id: The project that they belong to; unset: none.

NotPermitted: a message was written by a more trusted source.
$$;
select pgmem.declare_verb('clear_messages', p_rights => 'writer', p_effect => 'remove', p_answer => 'int');


select pgmem.declare_label('Message', p_kept_as_sent => true, p_exact => true, p_other_texts => 'value');
