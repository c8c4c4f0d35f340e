-- The verbs an agent has, by name of action. security definer: clients hold no rights on tables.
create or replace function pgmem.manage_engineering_memory(p_project_id text, p_action text, p_arguments jsonb default '{}')
returns jsonb
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
declare
  v_arguments jsonb := coalesce(p_arguments, '{}');
  v_answer    jsonb;
begin
  case p_action
    when 'record_candidate' then
      v_answer := to_jsonb(pgmem.record_candidate(v_arguments ->> 'record_type', v_arguments ->> 'statement', v_arguments ->> 'subject_path', p_project_id,
        array(select jsonb_array_elements_text(v_arguments -> 'symbols')), coalesce(v_arguments -> 'evidence', '[]'), v_arguments ->> 'share'));
    when 'validate_claims' then
      v_answer := to_jsonb(pgmem.validate_claims(v_arguments ->> 'text', p_project_id));
    when 'propose_from_receipt' then
      v_answer := to_jsonb(pgmem.propose_from_receipt(v_arguments -> 'receipt', p_project_id, v_arguments ->> 'share'));
    when 'refresh_from_run' then
      v_answer := to_jsonb(pgmem.refresh_from_run(v_arguments -> 'report', p_project_id, false, v_arguments ->> 'share'));
    when 'declare_intent' then
      v_answer := to_jsonb(pgmem.declare_intent(array(select jsonb_array_elements_text(v_arguments -> 'paths')), p_project_id, v_arguments ->> 'text'));
    when 'finish_intent' then
      v_answer := to_jsonb(pgmem.finish_intent((v_arguments ->> 'intent_id')::uuid, array(select jsonb_array_elements_text(v_arguments -> 'paths')), p_project_id,
        coalesce((v_arguments ->> 'propose')::boolean, false), coalesce(v_arguments -> 'receipt', '{}'), v_arguments ->> 'share'));
    else
      if p_action in ('approve', 'reject', 'archive', 'approve_card', 'reject_card', 'archive_card') then
        return jsonb_build_object('status', 'rejected', 'reason', 'governance_mode_unavailable', 'next_step',
          format('Agents draft, people decide. Ask a person to run: pgmem cards %s', replace(p_action, '_card', '')));
      end if;
      perform pgmem.require_word(p_action, array['record_candidate', 'validate_claims', 'propose_from_receipt', 'refresh_from_run', 'declare_intent', 'finish_intent'],
        'Unknown action ''%s''. Allowed: %s.');
  end case;
  return jsonb_build_object('action', p_action) || (v_answer - 'cards');
end;
$$;
comment on function pgmem.manage_engineering_memory(text, text, jsonb) is
  'One verb of engineering memory by its name, with its arguments as an object. Approval is a person''s and is rejected here.';
