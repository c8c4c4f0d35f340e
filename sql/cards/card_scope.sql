create or replace function pgmem.card_scope(p_caller pgmem.caller, p_project_id text) returns pgmem.scope_state
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
declare
  v_scope pgmem.scope_state := pgmem.resolve_scope(p_caller, p_project_id, null);
begin
  if not v_scope.project_exists then
    raise exception using errcode = 'PM010', message = format('Scope state: %s. %s', v_scope.scope_state,
      case v_scope.scope_state when 'unresolved' then 'Send project_id.' else pgmem.next_step('blocked_scope') end);
  end if;
  return v_scope;
end;
$$;
comment on function pgmem.card_scope(pgmem.caller, text) is 'The project of a card verb; an unknown one is a contract error.';
