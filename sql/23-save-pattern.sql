-- Saving a pattern
--
-- A pattern is a way of working that repeats: its trigger, its steps, and the cases it does not fit. The same
-- trigger with the same steps is the same pattern and is stored once in a scope; exclusions do not count. Patterns
-- are never compared by likeness, so none supersedes another. The shape of the save verbs stands in
-- 21-save-session.
--
-- Locks: those of 20-saving; then the scope of the pattern, unless the pattern exists (find_repeat in
-- 22-save-decision).
-- Callers: store (20-saving) calls store_pattern.


create or replace function pgmem.save_pattern(
  p_trigger text,
  p_repeatable_steps text[],
  p_project_id text,
  p_exclusions text[] default '{}',
  p_scope pgmem.scope_name default 'project',
  p_last_validated_at timestamptz default null,
  p_governance_token text default null,
  p_save_id uuid default null,
  p_focus text default null,
  p_share pgmem.sharing default null,
  p_embedding real[] default null,
  p_embedding_model text default null,
  p_embedding_text_hash text default null
) returns pgmem.save_result
language plpgsql security definer set search_path = pgmem, pg_temp as $$
begin
  return pgmem.run_save('save_pattern',
    jsonb_strip_nulls(jsonb_build_object(
      'project_id', p_project_id, 'scope', p_scope, 'focus', p_focus, 'share', p_share,
      'trigger', p_trigger, 'repeatable_steps', p_repeatable_steps, 'exclusions', p_exclusions,
      'last_validated_at', p_last_validated_at)),
    p_save_id, p_governance_token,
    (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
end;
$$;
comment on function pgmem.save_pattern is $$
Save a repeatable way of working: when it applies and its steps.

A pattern with the same trigger and steps is skipped (dedup_outcome `duplicate_skip`). A refused save is not an
error; its status is `failed` or `blocked_scope`, and next_step says what to do.

trigger: When it applies.
repeatable_steps: In order; at least one.
exclusions: When it does not apply.
last_validated_at: When the pattern last proved right; unset: now.

InvalidArgument: the trigger or the steps are empty, a text is too long, or a value cannot be read.
SaveIdReused: the save_id belongs to a save with other arguments.
$$;
select pgmem.declare_verb('save_pattern', p_rights => 'writer', p_effect => 'repeat', p_answer => 'SaveResult',
  p_toolset => 'core', p_hidden => '{last_validated_at}',
  p_description => 'Keep a way of working that repeats: when it applies, its steps, when it does not.');


create or replace function pgmem.store_pattern(
  p_arguments jsonb,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller,
  p_embedding pgmem.given_embedding default null
) returns pgmem.save_result
language plpgsql as $$
declare
  v_trigger text := pgmem.clean_text(p_arguments ->> 'trigger', 'trigger', true);
  v_steps   jsonb := pgmem.clean_texts(p_arguments -> 'repeatable_steps', 'repeatable_steps');
  v_props   jsonb := jsonb_build_object(
              'trigger', v_trigger,
              'repeatable_steps', v_steps,
              'exclusions', pgmem.clean_texts(p_arguments -> 'exclusions', 'exclusions'),
              'last_validated_at', coalesce(pgmem.argument_time(p_arguments, 'last_validated_at'), p_caller.made_at,
                                            pgmem.now()));
  v_node    pgmem.node;
  v_repeat  uuid;
begin
  if v_steps = '[]' then
    raise exception using errcode = 'PM001',
      message = 'repeatable_steps must not be empty; send at least one step.';
  end if;
  v_node := pgmem.place_node('Pattern', p_arguments, p_scope, p_caller);
  v_node.title := pgmem.excerpt(v_trigger);
  v_node.props := v_props;
  v_node.content_hash := pgmem.memory_hash('Pattern', v_node.title, v_props);

  v_repeat := pgmem.find_repeat(v_node);
  if v_repeat is not null then
    return pgmem.saved(v_repeat, 'duplicate_skip', v_repeat, 'Duplicate pattern skipped.');
  end if;
  v_node := pgmem.insert_node(v_node);
  return pgmem.saved(v_node.id, 'new', p_embedded => pgmem.store_embedding(v_node, p_embedding));
end;
$$;
comment on function pgmem.store_pattern is
  'Store a pattern, or skip it where one with the same trigger and steps exists; exclusions do not count.';
