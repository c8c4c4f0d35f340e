create or replace function pgmem.store_pattern(p_arguments jsonb, p_scope pgmem.scope_state, p_caller pgmem.caller,
  p_embedding pgmem.given_embedding default null) returns pgmem.save_result
language plpgsql
set search_path = pgmem, pg_temp
as $$
declare
  v_node    pgmem.node;
  v_trigger text := pgmem.clean_text(p_arguments ->> 'trigger', 'trigger', true);
  v_steps   jsonb := pgmem.clean_texts(p_arguments -> 'repeatable_steps', 'repeatable_steps');
  v_props   jsonb := jsonb_build_object('trigger', v_trigger, 'repeatable_steps', v_steps,
              'exclusions', pgmem.clean_texts(p_arguments -> 'exclusions', 'exclusions'), 'last_validated_at',
              coalesce(pgmem.argument_time(p_arguments, 'last_validated_at'), p_caller.made_at, pgmem.now()));
  v_found   record;
begin
  if v_steps = '[]' then
    raise exception using errcode = 'PM001', message = 'repeatable_steps must not be empty; send at least one step.';
  end if;
  v_node := pgmem.place_node('Pattern', p_arguments, p_scope, p_caller);
  v_node.title := pgmem.excerpt(v_trigger);
  v_node.props := v_props;
  v_node.content_hash := pgmem.content_hash(array[v_trigger] || array(select jsonb_array_elements_text(v_steps)));

  v_found := pgmem.same_content(v_node.scope_key, v_node.content_hash);
  if v_found.seq is null then
    perform pgmem.lock_scope(v_node.scope_key);
    v_found := pgmem.same_content(v_node.scope_key, v_node.content_hash);
    if v_found.expired_seq is not null then
      perform pgmem.set_status(v_found.expired_seq, 'expired');
    end if;
  end if;
  if v_found.seq is not null then
    return pgmem.saved(v_found.id, 'duplicate_skip', v_found.id, 'Duplicate pattern skipped.');
  end if;
  v_node := pgmem.insert_node(v_node);
  return pgmem.saved(v_node.id, 'new', p_embedded => pgmem.store_embedding(v_node, p_embedding));
end;
$$;
comment on function pgmem.store_pattern(jsonb, pgmem.scope_state, pgmem.caller, pgmem.given_embedding) is
  'Store a pattern, or skip it when the same trigger and steps are there (exclusions do not count).';
