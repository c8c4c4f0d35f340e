-- security definer: clients hold no rights on tables.
create or replace function pgmem.save_context(p_content text, p_project_id text, p_topic text default null,
  p_scope text default 'project', p_focus text default null, p_relevance_score float8 default 1.0,
  p_governance_token text default null, p_save_id uuid default null, p_share text default null,
  p_valid_from timestamptz default null, p_embedding real[] default null, p_embedding_model text default null, p_embedding_text_hash text default null)
returns pgmem.save_result
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
begin
  return pgmem.run_save('save_context', jsonb_strip_nulls(jsonb_build_object('project_id', p_project_id, 'content', p_content,
      'topic', p_topic, 'scope', p_scope, 'focus', p_focus, 'relevance_score', p_relevance_score, 'share', p_share,
      'valid_from', p_valid_from)),
    p_save_id, p_governance_token, (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
end;
$$;
comment on function pgmem.save_context is 'Save a free piece of context; every call is a row of its own.';
