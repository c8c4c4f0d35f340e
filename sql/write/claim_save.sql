-- First in the lock order: two calls with one save_id take turns, and the second finds the first's result.
create or replace function pgmem.claim_save(p_caller pgmem.caller, p_save_id uuid, p_arguments_hash bytea) returns pgmem.save_attempt
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_attempt pgmem.save_attempt;
begin
  perform pg_advisory_xact_lock(hashtextextended(p_caller.tenant || p_save_id::text, 1));
  select a.* into v_attempt from pgmem.save_attempt a where a.tenant = p_caller.tenant and a.save_id = p_save_id;
  if v_attempt.arguments_hash not in ('', p_arguments_hash) then
    raise exception using errcode = 'PM007',
      message = format('save_id %s was used for another save; send a new save_id, or none.', p_save_id);
  end if;
  return v_attempt;
end;
$$;
comment on function pgmem.claim_save(pgmem.caller, uuid, bytea) is
  'Take a save_id for this transaction; its earlier attempt, if any. Other arguments under it are refused.';
