-- Saving a context
--
-- A context is a free note under a topic, for what fits no other kind of memory. Nothing is compared: the same note
-- saved twice is two nodes. A note may be about the past; valid_from says when it began to hold, and time travel
-- (as_of) uses it. The shape of the save verbs stands in 21-save-session.
--
-- Locks: those of 20-saving.
-- Callers: store (20-saving) calls store_context.


create or replace function pgmem.save_context(
  p_content text,
  p_project_id text,
  p_topic text default null,
  p_scope pgmem.scope_name default 'project',
  p_focus text default null,
  p_relevance_score pgmem.relevance default 1.0,
  p_governance_token text default null,
  p_save_id uuid default null,
  p_share pgmem.sharing default null,
  p_valid_from timestamptz default null,
  p_embedding real[] default null,
  p_embedding_model text default null,
  p_embedding_text_hash text default null
) returns pgmem.save_result
language plpgsql security definer set search_path = pgmem, pg_temp as $$
begin
  return pgmem.run_save('save_context',
    jsonb_strip_nulls(jsonb_build_object(
      'project_id', p_project_id, 'scope', p_scope, 'focus', p_focus, 'share', p_share,
      'content', p_content, 'topic', p_topic, 'relevance_score', p_relevance_score, 'valid_from', p_valid_from)),
    p_save_id, p_governance_token,
    (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
end;
$$;
comment on function pgmem.save_context is $$
Save a free piece of context under a topic; every call stores a new memory.

A refused save is not an error; its status is `failed` or `blocked_scope`, and next_step says what to do.

content: The text of the note.
topic: Its title.
relevance_score: How relevant it is, 0 to 1; kept with the note, and no part of a ranking.
valid_from: When the note began to hold, such as the time of a conversation; unset: now.

InvalidArgument: the content is empty, a text is too long, or a value cannot be read.
SaveIdReused: the save_id belongs to a save with other arguments.
$$;
select pgmem.declare_verb('save_context', p_rights => 'writer', p_effect => 'write', p_answer => 'SaveResult',
  p_toolset => 'core', p_hidden => '{valid_from}',
  p_description => 'Keep a note that is no decision, no pattern and no fact about one thing.');


create or replace function pgmem.store_context(
  p_arguments jsonb,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller,
  p_embedding pgmem.given_embedding default null
) returns pgmem.save_result
language plpgsql as $$
declare
  v_content text := pgmem.clean_text(p_arguments ->> 'content', 'content', true);
  v_topic   text := pgmem.clean_text(p_arguments ->> 'topic', 'topic');
  v_node    pgmem.node;
begin
  v_node := pgmem.place_node('Context', p_arguments, p_scope, p_caller);
  v_node.title := pgmem.excerpt(coalesce(v_topic, v_content));
  v_node.props := jsonb_strip_nulls(jsonb_build_object(
    'content', v_content,
    'topic', v_topic,
    'relevance_score', pgmem.argument_number(p_arguments, 'relevance_score', 1.0))) || pgmem.source_of(p_arguments);
  v_node.valid_from := pgmem.argument_time(p_arguments, 'valid_from');
  v_node := pgmem.insert_node(v_node);
  return pgmem.saved(v_node.id, 'new', p_embedded => pgmem.store_embedding(v_node, p_embedding));
end;
$$;
comment on function pgmem.store_context is 'Store a piece of context; the same text saved twice is two nodes.';
