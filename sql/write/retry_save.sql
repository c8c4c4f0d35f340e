-- security definer: clients hold no rights on tables.
create or replace function pgmem.retry_save(p_save_id uuid, p_governance_token text default null) returns pgmem.save_result
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_attempt pgmem.save_attempt;
begin
  perform pgmem.require_writer();
  select a.* into v_attempt from pgmem.visible_attempt a where a.save_id = p_save_id and a.tenant = (pgmem.caller()).tenant;
  if v_attempt.save_id is null or v_attempt.verb = 'store_session_with_learnings' then
    raise exception using errcode = 'PM002', message = format('No single save %s of yours is on record.', p_save_id);
  end if;
  if v_attempt.status in ('saved', 'dropped') then
    return pgmem.attempt_result(v_attempt);
  end if;
  return pgmem.run_save(v_attempt.verb, v_attempt.arguments, p_save_id, p_governance_token);
end;
$$;
comment on function pgmem.retry_save(uuid, text) is 'Run a save that was not saved again, with the arguments it had.';
