create or replace function pgmem.store_entity(p_arguments jsonb, p_scope pgmem.scope_state, p_caller pgmem.caller,
  p_embedding pgmem.given_embedding default null) returns pgmem.save_result
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_node    pgmem.node;
  v_old     pgmem.node;
  v_name    text := pgmem.clean_key(p_arguments ->> 'entity_name', 'entity_name');
  v_fact    text := pgmem.clean_text(p_arguments ->> 'fact', 'fact', true);
  v_entry   jsonb;
  v_other   pgmem.node;
  v_outcome text := 'new';
  v_message text;
begin
  if v_name is null then
    raise exception using errcode = 'PM001', message = 'entity_name must not be empty; send the name of the entity.';
  end if;
  v_node := pgmem.place_node('EntityFact', p_arguments, p_scope, p_caller);
  v_node.key := v_name;
  v_node.title := v_name;
  v_node.props := jsonb_build_object('entity_name', v_name, 'fact', v_fact);
  perform pgmem.lock_scope(v_node.scope_key);
  select n.* into v_old from pgmem.visible_node n where n.scope_key = v_node.scope_key and n.key = v_name;
  if v_old.seq is null then
    v_node := pgmem.insert_node(v_node);
  else
    v_old.props := v_old.props || v_node.props;
    -- Told again, it is true again; the end it had is told back, not dropped in silence.
    v_message := 'conflict: revived, previous_valid_to: ' || v_old.valid_to;
    v_old.valid_to := null;
    v_old.status := 'active';
    v_old.source := v_node.source;
    v_old.trust_level := v_node.trust_level;
    v_old.agent_id := v_node.agent_id;
    v_old.session_id := v_node.session_id;
    v_node := pgmem.update_node(v_old);
    v_outcome := 'supersede';
  end if;
  if jsonb_typeof(coalesce(p_arguments -> 'related_entities', '[]')) not in ('array', 'null') then
    raise exception using errcode = 'PM001',
      message = 'related_entities must be a list; send [{"entity_id": "…", "relationship_type": "…"}].';
  end if;
  for v_entry in select value from jsonb_array_elements(case jsonb_typeof(p_arguments -> 'related_entities')
                   when 'array' then p_arguments -> 'related_entities' else '[]' end) loop
    v_other := pgmem.find_node('EntityFact', coalesce(v_entry ->> 'entity_id', v_entry ->> 'entity_name'), p_scope.project_seq);
    perform pgmem.join_nodes(v_node, coalesce(v_entry ->> 'relationship_type', ''), v_other);
  end loop;
  return pgmem.saved(v_node.id, v_outcome, p_message => v_message, p_embedded => pgmem.store_embedding(v_node, p_embedding));
exception when sqlstate 'PM002' or sqlstate 'PM003' or sqlstate 'PM011' then
  perform pgmem.refuse('failed', 'SCOPE_VIOLATION: ' || sqlerrm,
    'Nothing was written. Send related entities that exist and relations the registry allows.');
end;
$$;
comment on function pgmem.store_entity(jsonb, pgmem.scope_state, pgmem.caller, pgmem.given_embedding) is
  'Store what is known of an entity; a later fact replaces an earlier one, which stays in the history.';
