-- security definer: clients hold no rights on tables.
create or replace function pgmem.upsert_entity(p_entity_name text, p_fact text, p_project_id text,
  p_related_entities jsonb default '[]', p_scope text default 'project', p_focus text default null,
  p_governance_token text default null, p_save_id uuid default null, p_share text default null,
  p_embedding real[] default null, p_embedding_model text default null, p_embedding_text_hash text default null)
returns pgmem.save_result
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
begin
  return pgmem.run_save('upsert_entity', jsonb_strip_nulls(jsonb_build_object('project_id', p_project_id,
      'entity_name', p_entity_name, 'fact', p_fact, 'related_entities', p_related_entities, 'scope', p_scope,
      'focus', p_focus, 'share', p_share)),
    p_save_id, p_governance_token, (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
end;
$$;
comment on function pgmem.upsert_entity is
  'Save the present fact about a named entity; the fact before stays in its history.';
