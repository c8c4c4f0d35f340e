create or replace function pgmem.require_record_type(p_record_type text) returns text
language sql immutable
set search_path = pgmem, pg_temp
as $$
  select pgmem.require_word(p_record_type, array['module_role', 'contract_note', 'test_anchor', 'document_link', 'risk_note',
      'public_surface', 'contradiction_note', 'architecture_decision', 'change_rationale', 'protocol_rule', 'stale_marker',
      'human_note'], 'Invalid Engineering Memory record_type: ''%s''. Allowed values: %s.');
$$;
comment on function pgmem.require_record_type(text) is 'A type of card; an unknown one is a contract error that lists the types.';
