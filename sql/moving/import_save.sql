create or replace function pgmem.import_save(p_record jsonb, p_owner pgmem.caller) returns text
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  insert into pgmem.save_attempt (tenant, save_id, org_id, user_id, verb, project, session_id, arguments, arguments_hash, status,
    artifact_id, dedup_outcome, candidate_id, message, embedded, batch, attempts, resolved_by, created_at, updated_at)
  select p_owner.tenant, a.save_id, p_owner.org_id, p_owner.user_id, a.verb, a.project, a.session_id, nullif(a.arguments, 'null'),
    a.arguments_hash, a.status, coalesce((pgmem.imported_node(a.artifact_id, p_owner)).id, a.artifact_id), a.dedup_outcome,
    coalesce((pgmem.imported_node(a.candidate_id, p_owner)).id, a.candidate_id), a.message, a.embedded, nullif(a.batch, 'null'),
    a.attempts, a.resolved_by, a.created_at, a.updated_at
  from jsonb_populate_record(null::pgmem.save_attempt, p_record) a
  on conflict (tenant, save_id) do nothing;
  return case when found then 'taken' else 'present' end;
end;
$$;
comment on function pgmem.import_save(jsonb, pgmem.caller) is
  'Take the record of a save: one that waits for a person goes on waiting, one that is repeated finds its first result.';
