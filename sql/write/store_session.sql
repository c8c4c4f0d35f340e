create or replace function pgmem.store_session(p_arguments jsonb, p_scope pgmem.scope_state, p_caller pgmem.caller,
  p_embedding pgmem.given_embedding default null) returns pgmem.save_result
language plpgsql
set search_path = pgmem, pg_temp
as $$
declare
  v_node      pgmem.node;
  v_objective text := pgmem.clean_text(p_arguments ->> 'objective', 'objective', true);
  v_props     jsonb := jsonb_build_object('objective', v_objective);
  v_field     text;
begin
  foreach v_field in array array['actions_taken', 'decisions_made', 'open_items', 'next_actions'] loop
    v_props := v_props || jsonb_build_object(v_field, pgmem.clean_texts(p_arguments -> v_field, v_field));
  end loop;
  v_node := pgmem.place_node('Session', p_arguments, p_scope, p_caller);
  v_node.title := pgmem.excerpt(v_objective);
  v_node.props := v_props;
  v_node := pgmem.insert_node(v_node);
  return pgmem.saved(v_node.id, p_embedded => pgmem.store_embedding(v_node, p_embedding));
end;
$$;
comment on function pgmem.store_session(jsonb, pgmem.scope_state, pgmem.caller, pgmem.given_embedding) is 'Store a session; every session is a new one.';
