-- security definer: clients hold no rights on tables.
create or replace function pgmem.save_decision(p_title text, p_rationale text, p_project_id text, p_owner text default null,
  p_date date default null, p_scope text default 'project', p_focus text default null, p_confidence float8 default 1.0,
  p_governance_token text default null, p_save_id uuid default null, p_share text default null,
  p_embedding real[] default null, p_embedding_model text default null, p_embedding_text_hash text default null)
returns pgmem.save_result
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
begin
  return pgmem.run_save('save_decision', jsonb_strip_nulls(jsonb_build_object('project_id', p_project_id, 'title', p_title,
      'rationale', p_rationale, 'owner', p_owner, 'date', p_date, 'scope', p_scope, 'focus', p_focus,
      'confidence', p_confidence, 'share', p_share)),
    p_save_id, p_governance_token, (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
end;
$$;
comment on function pgmem.save_decision is
  'Save a decision. The same content again is skipped (duplicate_skip), a near title supersedes, a half-near one waits for a person.';
