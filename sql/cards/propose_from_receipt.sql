-- security definer: clients hold no rights on tables.
create or replace function pgmem.propose_from_receipt(p_receipt jsonb, p_project_id text, p_share text default null,
  out drafted jsonb, out existing jsonb, out proposal_only jsonb, out warnings jsonb, out next_step text)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
begin
  select r.drafted, r.existing, r.proposal_only, r.warnings, r.next_step into drafted, existing, proposal_only, warnings, next_step
  from jsonb_to_record(pgmem.draft_receipt(coalesce(p_receipt, '{}'), pgmem.card_scope(v_caller, p_project_id), v_caller, p_share))
    as r(drafted jsonb, existing jsonb, proposal_only jsonb, warnings jsonb, next_step text);
end;
$$;
comment on function pgmem.propose_from_receipt(jsonb, text, text) is
  'Draft cards from the receipt of a finished change, all or none: module_role, change_rationale, architecture_decision.';
