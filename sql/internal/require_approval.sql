-- For verbs that are no saves: what refuses a save is an error here.
create or replace function pgmem.require_approval(p_token text, p_caller pgmem.caller) returns uuid
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  return pgmem.check_token(p_token, p_caller);
exception when sqlstate 'PM099' then
  raise exception using errcode = 'PM004', message = sqlerrm;
end;
$$;
comment on function pgmem.require_approval(text, pgmem.caller) is 'The id of an unused governance token of the caller, locked; else an error.';
