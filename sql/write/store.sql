create or replace function pgmem.store(p_verb text, p_arguments jsonb, p_scope pgmem.scope_state, p_caller pgmem.caller,
  p_embedding pgmem.given_embedding default null, p_review text default null) returns pgmem.save_result
language plpgsql
set search_path = pgmem, pg_temp
as $$
declare
  v_result pgmem.save_result;
begin
  if not p_scope.write_permitted then
    perform pgmem.refuse('blocked_scope', 'Scope state: ' || p_scope.scope_state, pgmem.next_step('blocked_scope'));
  end if;
  case p_verb
    when 'save_session' then v_result := pgmem.store_session(p_arguments, p_scope, p_caller, p_embedding);
    when 'save_decision' then v_result := pgmem.store_decision(p_arguments, p_scope, p_caller, p_embedding, p_review);
    when 'save_pattern' then v_result := pgmem.store_pattern(p_arguments, p_scope, p_caller, p_embedding);
    when 'save_context' then v_result := pgmem.store_context(p_arguments, p_scope, p_caller, p_embedding);
    when 'upsert_entity' then v_result := pgmem.store_entity(p_arguments, p_scope, p_caller, p_embedding);
  end case;
  if p_caller.session_id is not null then
    perform pgmem.link_session(p_caller.session_id, v_result.artifact_id);
  end if;
  return v_result;
end;
$$;
comment on function pgmem.store(text, jsonb, pgmem.scope_state, pgmem.caller, pgmem.given_embedding, text) is
  'Store one memory behind the scope gate. Called inside a savepoint: a refusal is an error until save_error reads it.';
