create or replace function pgmem.refuse(p_status text, p_message text, p_next_step text default null,
  p_dedup_outcome text default null, p_candidate_id uuid default null) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  raise exception using errcode = 'PM099', message = p_message, detail = jsonb_build_object(
    'status', p_status, 'message', p_message, 'next_step', p_next_step, 'dedup_outcome', p_dedup_outcome,
    'candidate_id', p_candidate_id, 'embedded', false)::text;
end;
$$;
comment on function pgmem.refuse(text, text, text, text, uuid) is
  'End a save with a status: what it wrote is rolled back to its savepoint, and store() turns this into its result.';
