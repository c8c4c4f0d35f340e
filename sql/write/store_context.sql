create or replace function pgmem.store_context(p_arguments jsonb, p_scope pgmem.scope_state, p_caller pgmem.caller,
  p_embedding pgmem.given_embedding default null) returns pgmem.save_result
language plpgsql
set search_path = pgmem, pg_temp
as $$
declare
  v_node    pgmem.node;
  v_content text := pgmem.clean_text(p_arguments ->> 'content', 'content', true);
  v_topic   text := pgmem.clean_text(p_arguments ->> 'topic', 'topic');
begin
  v_node := pgmem.place_node('Context', p_arguments, p_scope, p_caller);
  v_node.title := pgmem.excerpt(coalesce(v_topic, v_content));
  v_node.props := jsonb_strip_nulls(jsonb_build_object('content', v_content, 'topic', v_topic,
    'relevance_score', pgmem.argument_number(p_arguments, 'relevance_score', 1.0)));
  v_node.valid_from := pgmem.argument_time(p_arguments, 'valid_from');
  v_node := pgmem.insert_node(v_node);
  return pgmem.saved(v_node.id, 'new', p_embedded => pgmem.store_embedding(v_node, p_embedding));
end;
$$;
comment on function pgmem.store_context(jsonb, pgmem.scope_state, pgmem.caller, pgmem.given_embedding) is
  'Store a piece of context; the same twice is two rows.';
