create or replace function pgmem.find_project(p_project_id text) returns bigint
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
declare
  v_scope pgmem.scope_state := pgmem.resolve_scope(pgmem.caller(), p_project_id, null);
begin
  if v_scope.scope_state = 'uncertain' then
    raise exception using errcode = 'PM002', message = format('No project %s is here; leave project_id out or send one that exists.',
      quote_literal(left(p_project_id, 80)));
  end if;
  return v_scope.project_seq;
end;
$$;
comment on function pgmem.find_project(text) is 'The project a name means to the caller; null when none is named, an error when it is unknown.';
