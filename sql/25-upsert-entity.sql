-- Saving an entity
--
-- An entity is a named thing with one present fact. The name, in any case, is the key within a scope: a later fact
-- replaces the earlier one in the same node, and the earlier state goes to node_version (36-history). The later fact
-- holds from now on, and the earlier one ends there unless its end was set. The same fact saved again changes its
-- period only where it had ended: then it is true again from now on, and the answer names the end it had.
--
-- Related entities must exist; a name that fits none or several, and a relation that the registry does not allow,
-- refuse the whole save. The shape of the save verbs stands in 21-save-session.
--
-- Locks: those of 20-saving; then the scope of the entity, then its row.
-- Callers: store (20-saving) calls store_entity.


create or replace function pgmem.upsert_entity(
  p_entity_name text,
  p_fact text,
  p_project_id text,
  p_related_entities pgmem.related_entities default '[]',
  p_scope pgmem.scope_name default 'project',
  p_focus text default null,
  p_governance_token text default null,
  p_save_id uuid default null,
  p_share pgmem.sharing default null,
  p_embedding real[] default null,
  p_embedding_model text default null,
  p_embedding_text_hash text default null
) returns pgmem.save_result
language plpgsql security definer set search_path = pgmem, pg_temp as $$
begin
  return pgmem.run_save('upsert_entity',
    jsonb_strip_nulls(jsonb_build_object(
      'project_id', p_project_id, 'scope', p_scope, 'focus', p_focus, 'share', p_share,
      'entity_name', p_entity_name, 'fact', p_fact, 'related_entities', p_related_entities)),
    p_save_id, p_governance_token,
    (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
end;
$$;
comment on function pgmem.upsert_entity is $$
Save the present fact about a named entity; the earlier fact stays in its history.

The earlier fact ends where the new one begins: now. The answer's dedup_outcome is `new`, or `supersede` when the
entity existed; `manual_review` when the earlier fact has more trust, and `duplicate_skip` when it is the same. Its
message names a valid_to that had passed, after which the entity holds again. A refused save is not an error; its
status is `failed` or `blocked_scope`, and next_step says what to do.

entity_name: What the fact is about.
fact: What is true of it now.
related_entities: Entities that exist; each has entity_id or entity_name, and relationship_type.

InvalidArgument: the name or fact is empty, a text is too long, or a value cannot be read.
SaveIdReused: the save_id belongs to a save with other arguments.
$$;
select pgmem.declare_verb('upsert_entity', p_rights => 'writer', p_effect => 'repeat', p_answer => 'SaveResult',
  p_toolset => 'core',
  p_description => 'Keep what is now true of a named thing, in a sentence; the earlier fact goes to its history.');


create or replace function pgmem.store_entity(
  p_arguments jsonb,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller,
  p_embedding pgmem.given_embedding default null,
  p_review text default null
) returns pgmem.save_result
language plpgsql as $$
declare
  v_name    text := pgmem.clean_key(p_arguments ->> 'entity_name', 'entity_name');
  v_fact    text := pgmem.clean_text(p_arguments ->> 'fact', 'fact', true);
  v_related jsonb := coalesce(nullif(p_arguments -> 'related_entities', 'null'), '[]');
  v_node    pgmem.node;
  v_old     pgmem.node;
  v_entry   jsonb;
  v_other   pgmem.node;
  v_outcome text := 'new';
  v_message text;
  v_near    jsonb := '[]';
begin
  if v_name is null then
    raise exception using errcode = 'PM001',
      message = 'entity_name must not be empty; send the name of the entity.';
  end if;
  if jsonb_typeof(v_related) <> 'array' then
    raise exception using errcode = 'PM001',
      message = 'related_entities must be a list; send [{"entity_id": "…", "relationship_type": "…"}].';
  end if;
  perform pgmem.require_count(jsonb_array_length(v_related), 'related_entities', 'max_relations_limit');
  -- Before the entities are looked up: an unknown relation is the same error whether the entity exists or not.
  for v_entry in select value from jsonb_array_elements(v_related) loop
    if coalesce(v_entry ->> 'entity_id', v_entry ->> 'entity_name', '') <> '' then
      perform pgmem.require_relation(coalesce(v_entry ->> 'relationship_type', ''));
    end if;
  end loop;
  v_node := pgmem.place_node('EntityFact', p_arguments, p_scope, p_caller);
  v_node.key := v_name;
  v_node.title := v_name;
  v_node.props := jsonb_build_object('entity_name', v_name, 'fact', v_fact) || pgmem.source_of(p_arguments);
  perform pgmem.lock_scope(v_node.scope_key);
  select n.* into v_old from pgmem.node n
  where n.scope_key = v_node.scope_key and n.tenant || '' = v_node.tenant and pgmem.folded(n.key) = pgmem.folded(v_name)
  order by n.key = v_name desc, n.seq limit 1;
  if v_old.seq is null then
    v_node := pgmem.insert_node(v_node);
    v_near := pgmem.near_names(v_node, p_caller);
  elsif p_review is null and pgmem.is_live_status(v_old.status) and pgmem.outranked(v_old.trust_level, p_caller) then
    if v_old.props ->> 'fact' is distinct from v_fact or v_old.valid_to is not null then
      perform pgmem.refuse('failed', pgmem.review_message(v_old, p_caller), pgmem.review_step(), 'manual_review',
        v_old.id);
    end if;
    -- The same fact from a lesser source changes nothing.
    v_outcome := 'duplicate_skip';
    v_node := v_old;
  else
    v_outcome := 'supersede';
    if v_old.valid_to < pgmem.now() then
      v_message := 'conflict: revived, previous_valid_to: ' || v_old.valid_to;
    end if;
    if v_old.props ->> 'fact' is distinct from v_fact then
      v_old.valid_from := null;
      v_old.valid_to := null;
    elsif v_message is not null then
      v_old.valid_from := pgmem.now();
      v_old.valid_to := null;
    end if;
    v_old.props := v_old.props - '{quote,turn}'::text[] || v_node.props || jsonb_build_object('entity_name', v_old.key);
    v_old.status := 'active';
    v_old.source := v_node.source;
    v_old.trust_level := v_node.trust_level;
    v_old.agent_id := v_node.agent_id;
    v_old.session_id := v_node.session_id;
    v_node := pgmem.update_node(v_old);
  end if;
  for v_entry in select value from jsonb_array_elements(v_related) loop
    v_other := pgmem.find_node('EntityFact', coalesce(v_entry ->> 'entity_id', v_entry ->> 'entity_name'),
                               p_scope.project_seq);
    perform pgmem.join_nodes(v_node, coalesce(v_entry ->> 'relationship_type', ''), v_other);
  end loop;
  return pgmem.saved(v_node.id, v_outcome, p_message => v_message,
                     p_embedded => pgmem.store_embedding(v_node, p_embedding), p_near_names => v_near);
exception when sqlstate 'PM002' or sqlstate 'PM003' or sqlstate 'PM011' then
  perform pgmem.refuse('failed', 'SCOPE_VIOLATION: ' || sqlerrm,
    'Nothing was written. Send related entities that exist and relations the registry allows.');
end;
$$;
comment on function pgmem.store_entity is
  'Store the fact about an entity; a later fact replaces the earlier one, which stays in the history.';
