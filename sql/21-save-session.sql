-- Saving a session
--
-- A session is the account of a piece of work: what it did, what it decided, what is open and what comes next.
-- Every call stores a new one; nothing is compared with earlier sessions. save_session is also the only save that
-- creates its project (ensure_project in 20-saving), so that a mistyped project name does not open one by accident.
--
-- All save verbs of 21 to 25 have this shape. The verb puts its arguments into one jsonb without nulls and passes
-- it to run_save, which calls the store_* function below inside a savepoint. The jsonb is also what save_attempt
-- keeps of an open save, so a retry, a review (27-save-status) and a batch (26-save-batch) store from the same
-- form.
--
-- Locks: those of 20-saving.
-- Callers: store (20-saving) calls store_session.


create or replace function pgmem.save_session(
  p_objective text,
  p_project_id text,
  p_actions_taken text[] default '{}',
  p_decisions_made text[] default '{}',
  p_open_items text[] default '{}',
  p_next_actions text[] default '{}',
  p_focus text default null,
  p_scope pgmem.scope_name default 'project',
  p_governance_token text default null,
  p_save_id uuid default null,
  p_share pgmem.sharing default null,
  p_embedding real[] default null,
  p_embedding_model text default null,
  p_embedding_text_hash text default null
) returns pgmem.save_result
language plpgsql security definer set search_path = pgmem, pg_temp as $$
begin
  return pgmem.run_save('save_session',
    jsonb_strip_nulls(jsonb_build_object(
      'project_id', p_project_id, 'scope', p_scope, 'focus', p_focus, 'share', p_share,
      'objective', p_objective, 'actions_taken', p_actions_taken, 'decisions_made', p_decisions_made,
      'open_items', p_open_items, 'next_actions', p_next_actions)),
    p_save_id, p_governance_token,
    (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
end;
$$;
comment on function pgmem.save_session is $$
Save what a session did and what is open; this save alone creates its project.

A refused save is not an error; its status is `failed` or `blocked_scope`, and next_step says what to do.

objective: Its aim; one text.
actions_taken: What was done, in order.
decisions_made: What was decided; a few words each: save_decision keeps the reasons.
open_items: What is not finished.
next_actions: What comes next.

InvalidArgument: the objective is empty, a text is too long, or a value cannot be read.
SaveIdReused: the save_id belongs to a save with other arguments.
$$;
select pgmem.declare_verb('save_session', p_rights => 'writer', p_effect => 'write', p_answer => 'SaveResult',
  p_toolset => 'core',
  p_description =>
    'At the end of work: what was done, decided, is open, comes next. Only this save creates a project.');


create or replace function pgmem.store_session(
  p_arguments jsonb,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller,
  p_embedding pgmem.given_embedding default null
) returns pgmem.save_result
language plpgsql as $$
declare
  v_node  pgmem.node;
  v_props jsonb := jsonb_build_object(
            'objective', pgmem.clean_text(p_arguments ->> 'objective', 'objective', true),
            'actions_taken', pgmem.clean_texts(p_arguments -> 'actions_taken', 'actions_taken'),
            'decisions_made', pgmem.clean_texts(p_arguments -> 'decisions_made', 'decisions_made'),
            'open_items', pgmem.clean_texts(p_arguments -> 'open_items', 'open_items'),
            'next_actions', pgmem.clean_texts(p_arguments -> 'next_actions', 'next_actions'));
begin
  v_node := pgmem.place_node('Session', p_arguments, p_scope, p_caller);
  v_node.title := pgmem.excerpt(v_props ->> 'objective');
  v_node.props := v_props;
  v_node := pgmem.insert_node(v_node);
  return pgmem.saved(v_node.id, p_embedded => pgmem.store_embedding(v_node, p_embedding));
end;
$$;
comment on function pgmem.store_session is 'Store a session; every session is a new node.';
