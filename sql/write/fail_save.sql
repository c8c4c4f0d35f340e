-- security definer: clients hold no rights on tables.
create or replace function pgmem.fail_save(p_save_id uuid, p_verb text, p_arguments jsonb, p_message text) returns void
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
begin
  -- As in claim_save: a save that is still being made under this id is waited for, and not overwritten.
  perform pg_advisory_xact_lock(hashtextextended(v_caller.tenant || p_save_id::text, 1));
  if exists (select from pgmem.visible_attempt a where a.save_id = p_save_id and a.tenant = v_caller.tenant) then
    return;
  end if;
  -- No hash: the verb fills in defaults before it takes one, so that the caller's own retry would look like another save.
  perform pgmem.record_attempt(v_caller, p_verb, p_arguments, '',
    row('failed', null, null, null, p_message, null, p_save_id, false)::pgmem.save_result);
end;
$$;
comment on function pgmem.fail_save(uuid, text, jsonb, text) is
  'Put on record that a save was given up, so that it is seen in get_save_status.';
