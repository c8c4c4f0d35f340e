-- Saving an entity
--
-- An entity is a named thing with one present fact, or one for each slot: the subject of the fact, such as its capital. The
-- name, in any case, and with it the slot, is the key within a scope: a later fact
-- replaces the earlier one in the same node, and the earlier state goes to node_version (44-history). The later fact
-- holds from now on, and the earlier one ends there unless its end was set. The same fact saved again changes its
-- period only where it had ended: then it is true again from now on, and the answer names the end it had.
--
-- Related entities must exist; a name that fits none or several, and a relation that the registry does not allow,
-- refuse the whole save. The shape of the save verbs is in 25-kinds.
--
-- Locks: those of 24-saving; then the scope of the entity, then its row.


select pgmem.declare_kind('EntityFact', 'upsert_entity',
  p_comment => $$
Save the present fact about a named entity; the earlier fact stays in its history.

The earlier fact ends where the new one begins: now. The answer's dedup_outcome is `new`, or `supersede` when the
entity existed; `manual_review` when the earlier fact has more trust, and `duplicate_skip` when it is the same. Its
message names a valid_to that had passed, after which the entity holds again. A refused save is not an error; its
status is `failed` or `blocked_scope`, and next_step says what to do.
$$,
  p_description => 'Call this when a fact about a named thing is new or has changed. The older one stays as history.',
  p_fields => array[
    pgmem.field('entity_name', 'key', 'Its name.', p_required => true, p_kept => 'key',
      p_option => 'name'),
    pgmem.field('fact', 'text', 'A true statement on it.', p_required => true),
    pgmem.field('related_entities', 'related_entities',
      'Entities that exist; each has entity_id or entity_name, and relationship_type.', p_kept => 'nothing',
      p_starts => '''[]''', p_option => 'related'),
    pgmem.field('about', 'text', 'Such as capital; the slot of the fact: a later one in the same slot replaces it.',
      p_approved => false),
    pgmem.field('aliases', 'texts', 'Names; unset: those it has.'),
    pgmem.field('version', 'integer', 'The number of its states so far; node_version holds the earlier ones.',
      p_kept => 'view', p_query => 'n.version')],
  p_searched => '{fact,aliases}',
  p_titled_by => '{entity_name}',
  p_order => '{entity_name,fact,project_id,related_entities,scope,focus}',
  p_store => 'store_entity');


create or replace function pgmem.store_entity(
  p_node pgmem.node,
  p_arguments jsonb,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller,
  p_embedding pgmem.given_embedding,
  p_review text,
  p_superseded_id uuid
) returns pgmem.save_result
language plpgsql as $$
declare
  v_related jsonb := pgmem.require_objects(coalesce(nullif(p_arguments -> 'related_entities', 'null'), '[]'),
                       'related_entities', '[{"entity_id": "…", "relationship_type": "…"}]');
  v_fact    text := p_node.props ->> 'fact';
  v_node    pgmem.node := p_node;
  v_old     pgmem.node;
  v_entry   jsonb;
  v_other   pgmem.node;
  v_outcome text := 'new';
  v_message text;
  v_near    jsonb := '[]';
  v_former  jsonb := '[]';
  v_before  pgmem.node;
  v_told    record;
begin
  if v_node.props ? 'about' then
    v_node.key := pgmem.require_key(concat(v_node.key, ': ', v_node.props ->> 'about'), 'about');
    v_node.title := v_node.key;
  end if;
  if v_node.props -> 'aliases' = '[]' and not p_arguments ? 'aliases' or p_arguments -> 'aliases' = '[]' then
    v_node.props := v_node.props - 'aliases';
  end if;
  perform pgmem.require_count(jsonb_array_length(v_related), 'related_entities', 'max_relations_limit');
  -- Before the entities are looked up: an unknown relation is the same error whether the entity exists or not.
  for v_entry in select value from jsonb_array_elements(v_related) loop
    if coalesce(v_entry ->> 'entity_id', v_entry ->> 'entity_name', '') <> '' then
      perform pgmem.require_relation(coalesce(v_entry ->> 'relationship_type', ''));
    end if;
  end loop;
  perform pgmem.lock_scope(v_node.scope_key);
  v_old := pgmem.settled_namesake(v_node);
  if v_old.seq is null then
    v_node := pgmem.insert_node(v_node);
    v_near := pgmem.near_names(v_node, p_caller);
  elsif p_review is distinct from 'supersede' and pgmem.is_live_status(v_old.status) and pgmem.outranked(pgmem.states_trust(v_old), p_caller) then
    if v_old.props ->> 'fact' is distinct from v_fact or v_old.valid_to is not null
        or num_nonnulls(v_node.valid_from, v_node.valid_to) > 0 then
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
      if p_review is null and num_nonnulls(v_node.valid_from, v_node.valid_to) = 0 then
        v_message := concat_ws('. ', v_message, pgmem.hold_revival(p_caller, v_old) ->> 'message');
      end if;
    end if;
    v_before := v_old;
    if v_node.valid_from is not null then
      v_old.valid_from := v_node.valid_from;
      v_old.valid_to := v_node.valid_to;
    elsif v_node.valid_to is not null then
      v_old.valid_to := v_node.valid_to;
      perform pgmem.require_period(v_old.valid_from, v_old.valid_to);
    elsif v_old.props ->> 'fact' is distinct from v_fact then
      v_former := pgmem.outdate_fact(v_old, v_fact);
      v_old.valid_from := null;
      v_old.valid_to := null;
    elsif v_message is not null then
      v_old.valid_from := pgmem.now();
      v_old.valid_to := null;
    end if;
    v_old.props := v_old.props - '{quote,turn}'::text[] || v_node.props
      || jsonb_build_object('entity_name', coalesce(v_old.props ->> 'entity_name', v_old.key));
    v_old.status := 'active';
    v_old.source := v_node.source;
    v_old.trust_level := v_node.trust_level;
    v_old.agent_id := v_node.agent_id;
    v_old.session_id := v_node.session_id;
    if v_node.valid_from is null then
      v_node := pgmem.update_node(v_old);
    else
      v_told := pgmem.add_state(v_before, v_old, p_review is not null);
      v_node := v_told.node;
      if (v_told.contradicts).seq is not null then
        v_message := concat_ws(' ', v_message, pgmem.hold_contradiction(p_caller, 'upsert_entity', p_arguments,
          v_told.contradicts, v_old.valid_from) ->> 'message');
      end if;
    end if;
  end if;
  for v_entry in select value from jsonb_array_elements(v_related) loop
    v_other := pgmem.find_node('EntityFact', coalesce(v_entry ->> 'entity_id', v_entry ->> 'entity_name'),
                               p_scope.project_seq);
    perform pgmem.join_nodes(v_node, coalesce(v_entry ->> 'relationship_type', ''), v_other);
  end loop;
  return pgmem.saved(v_node.id, v_outcome, p_message => v_message,
                     p_embedded => pgmem.store_embedding(v_node, p_embedding), p_near_names => v_near,
                     p_conflicts => v_former || pgmem.record_contradictions(v_node));
exception when sqlstate 'PM002' or sqlstate 'PM003' or sqlstate 'PM011' then
  perform pgmem.refuse('failed', 'SCOPE_VIOLATION: ' || sqlerrm,
    'Nothing was written. Send related entities that exist and relations the registry allows.');
end;
$$;
comment on function pgmem.store_entity is
  'Store the fact about an entity; a later fact replaces the earlier one, which stays in the history.';
