-- security definer: clients hold no rights on tables.
create or replace function pgmem.save_pattern(p_trigger text, p_repeatable_steps text[], p_project_id text,
  p_exclusions text[] default '{}', p_scope text default 'project', p_last_validated_at timestamptz default null,
  p_governance_token text default null, p_save_id uuid default null, p_focus text default null, p_share text default null,
  p_embedding real[] default null, p_embedding_model text default null, p_embedding_text_hash text default null)
returns pgmem.save_result
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
begin
  return pgmem.run_save('save_pattern', jsonb_strip_nulls(jsonb_build_object('project_id', p_project_id, 'trigger', p_trigger,
      'repeatable_steps', p_repeatable_steps, 'exclusions', p_exclusions, 'scope', p_scope,
      'last_validated_at', p_last_validated_at, 'focus', p_focus, 'share', p_share)),
    p_save_id, p_governance_token, (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
end;
$$;
comment on function pgmem.save_pattern is 'Save a repeatable way of working: when it applies and its steps.';
