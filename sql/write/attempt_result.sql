create or replace function pgmem.attempt_result(p_attempt pgmem.save_attempt) returns pgmem.save_result
language sql immutable
begin atomic
  select row((p_attempt).status, (p_attempt).artifact_id, (p_attempt).dedup_outcome, (p_attempt).candidate_id,
             (p_attempt).message, pgmem.next_step((p_attempt).status), (p_attempt).save_id, (p_attempt).embedded)::pgmem.save_result;
end;
comment on function pgmem.attempt_result(pgmem.save_attempt) is 'The result a save had, from its row on record.';
