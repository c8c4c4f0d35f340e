-- Reads node itself: scope_key holds the tenant, and only the caller's tenants are asked for.
create or replace function pgmem.resolve_scope(p_caller pgmem.caller, p_project_id text, p_focus text) returns pgmem.scope_state
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_scope  pgmem.scope_state;
  v_tenant text;
begin
  v_scope.project_id := pgmem.clean_key(p_project_id, 'project_id');
  v_scope.focus := pgmem.clean_key(p_focus, 'focus');
  v_scope.project_exists := false;
  v_scope.focus_exists := false;
  v_scope.write_permitted := false;
  v_scope.scope_state := case when v_scope.project_id is null then 'unresolved' else 'uncertain' end;
  v_scope.state := v_scope.scope_state;
  if v_scope.project_id is null then
    return v_scope;
  end if;
  -- A name means the caller's own project first, then his organisation's, then a public one.
  foreach v_tenant in array p_caller.tenants loop
    select n.seq, n.text_config, (n.props ->> 'last_hygiene_at')::timestamptz
    into v_scope.project_seq, v_scope.text_config, v_scope.last_hygiene_at
    from pgmem.node n
    where n.scope_key = pgmem.scope_key(v_tenant, null, 'Project') and n.key = v_scope.project_id and n.status = 'active';
    exit when found;
  end loop;
  if v_scope.project_seq is null then
    return v_scope;
  end if;
  v_scope.project_exists := true;
  v_scope.write_permitted := true;
  v_scope.scope_state := 'resolved';
  v_scope.state := 'resolved_project';
  if v_scope.focus is not null then
    foreach v_tenant in array p_caller.tenants loop
      select n.seq into v_scope.focus_seq from pgmem.node n
      where n.scope_key = pgmem.scope_key(v_tenant, v_scope.project_seq::text, 'FocusArea') and n.key = v_scope.focus
        and n.status = 'active';
      exit when found;
    end loop;
    if v_scope.focus_seq is not null then
      v_scope.focus_exists := true;
      v_scope.state := 'resolved_focus';
    end if;
  end if;
  return v_scope;
end;
$$;
comment on function pgmem.resolve_scope(pgmem.caller, text, text) is 'What a project name and a focus resolve to for a caller.';
