-- security definer: clients hold no rights on tables.
create or replace function pgmem.save_session(p_objective text, p_project_id text, p_actions_taken text[] default '{}',
  p_decisions_made text[] default '{}', p_open_items text[] default '{}', p_next_actions text[] default '{}',
  p_focus text default null, p_scope text default 'project', p_governance_token text default null, p_save_id uuid default null,
  p_share text default null, p_embedding real[] default null, p_embedding_model text default null,
  p_embedding_text_hash text default null) returns pgmem.save_result
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
begin
  return pgmem.run_save('save_session', jsonb_strip_nulls(jsonb_build_object('project_id', p_project_id, 'objective', p_objective,
      'actions_taken', p_actions_taken, 'decisions_made', p_decisions_made, 'open_items', p_open_items,
      'next_actions', p_next_actions, 'focus', p_focus, 'scope', p_scope, 'share', p_share)),
    p_save_id, p_governance_token, (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
end;
$$;
comment on function pgmem.save_session is
  'Save what a session did and what is open. It alone creates its project when there is none of that name.';
