create or replace function pgmem.saved(p_artifact_id uuid, p_dedup_outcome text default null, p_candidate_id uuid default null,
  p_message text default null, p_embedded boolean default false) returns pgmem.save_result
language sql immutable
begin atomic
  select row('saved', p_artifact_id, p_dedup_outcome, p_candidate_id, p_message, pgmem.next_step('saved'), null,
             p_embedded)::pgmem.save_result;
end;
comment on function pgmem.saved(uuid, text, uuid, text, boolean) is 'The result of a save that was made, or met what was there.';
