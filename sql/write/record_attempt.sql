create or replace function pgmem.record_attempt(p_caller pgmem.caller, p_verb text, p_arguments jsonb, p_arguments_hash bytea,
  p_result pgmem.save_result, p_batch jsonb default null) returns pgmem.save_result
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  insert into pgmem.save_attempt (tenant, save_id, org_id, user_id, verb, project, session_id, arguments, arguments_hash,
    status, artifact_id, dedup_outcome, candidate_id, message, embedded, batch, created_at, updated_at)
  values (p_caller.tenant, p_result.save_id, p_caller.org_id, p_caller.user_id, p_verb,
    nullif(btrim(p_arguments ->> 'project_id'), ''), p_caller.session_id,
    case when p_result.status <> 'saved' then p_arguments end, p_arguments_hash, p_result.status, p_result.artifact_id,
    p_result.dedup_outcome, p_result.candidate_id, p_result.message, coalesce(p_result.embedded, false), p_batch,
    coalesce(p_caller.made_at, pgmem.now()), pgmem.now())
  on conflict (tenant, save_id) do update set
    arguments = excluded.arguments, arguments_hash = excluded.arguments_hash, status = excluded.status, artifact_id = excluded.artifact_id,
    dedup_outcome = excluded.dedup_outcome, candidate_id = excluded.candidate_id, message = excluded.message,
    embedded = excluded.embedded, batch = excluded.batch, attempts = pgmem.save_attempt.attempts + 1,
    updated_at = excluded.updated_at;
  return p_result;
end;
$$;
comment on function pgmem.record_attempt(pgmem.caller, text, jsonb, bytea, pgmem.save_result, jsonb) is
  'Leave a save''s row in save_attempt and return its result; arguments are kept only while it is not saved.';
