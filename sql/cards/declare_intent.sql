-- security definer: clients hold no rights on tables.
create or replace function pgmem.declare_intent(p_paths text[], p_project_id text, p_description text default null,
  out intent_id uuid, out paths text[], out policy jsonb, out next_step text)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_scope  pgmem.scope_state;
begin
  paths := pgmem.clean_paths(case when coalesce(cardinality(p_paths), 0) = 0 then '{""}' else p_paths end);
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  insert into pgmem.card_intent as i (org_id, user_id, project_seq, paths, description, agent_id, session_id, declared_at)
  values (v_caller.org_id, v_caller.user_id, v_scope.project_seq, paths, pgmem.clean_text(p_description, 'description'), v_caller.agent_id,
          v_caller.session_id, pgmem.clock())
  returning i.id into intent_id;
  policy := '{"memory_does_not_authorize_edits": true, "risk_notes_are_informational": true}';
  next_step := 'get_relevant_memory(intent_id) before the work, finish_intent(intent_id, changed_paths) after it.';
end;
$$;
comment on function pgmem.declare_intent(text[], text, text) is 'Say which paths you will work on. It informs retrieval; it authorises no edit.';
