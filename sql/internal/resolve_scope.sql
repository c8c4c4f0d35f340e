-- Reads node itself: scope_key holds the tenant, and only the caller's tenants are asked for.
create or replace function pgmem.resolve_scope(p_caller pgmem.caller, p_project_id text, p_focus text) returns pgmem.scope_state
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_project      text := pgmem.clean_key(p_project_id, 'project_id');
  v_focus        text := case when p_focus is not null then pgmem.clean_key(p_focus, 'focus') end;
  v_project_seq  bigint;
  v_focus_seq    bigint;
  v_text_config  text;
  v_last_hygiene timestamptz;
  v_tenant       text;
begin
  -- A name means the caller's own project first, then his organisation's, then a public one.
  if v_project is not null then
    foreach v_tenant in array p_caller.tenants loop
      select n.seq, n.text_config, (n.props ->> 'last_hygiene_at')::timestamptz
      into v_project_seq, v_text_config, v_last_hygiene
      from pgmem.node n
      where n.scope_key = pgmem.scope_key(v_tenant, null, 'Project') and n.key = v_project and n.status = 'active';
      exit when found;
    end loop;
  end if;
  if v_project_seq is not null and v_focus is not null then
    foreach v_tenant in array p_caller.tenants loop
      select n.seq into v_focus_seq from pgmem.node n
      where n.scope_key = pgmem.scope_key(v_tenant, v_project_seq::text, 'FocusArea') and n.key = v_focus
        and n.status = 'active';
      exit when found;
    end loop;
  end if;
  return row(
    case when v_project is null then 'unresolved' when v_project_seq is null then 'uncertain' else 'resolved' end,
    case when v_project is null then 'unresolved' when v_project_seq is null then 'uncertain'
         when v_focus_seq is null then 'resolved_project' else 'resolved_focus' end,
    v_project, v_focus, v_project_seq is not null, v_focus_seq is not null, v_project_seq is not null,
    v_project_seq, v_focus_seq, v_text_config, v_last_hygiene)::pgmem.scope_state;
end;
$$;
comment on function pgmem.resolve_scope(pgmem.caller, text, text) is 'What a project name and a focus resolve to for a caller.';
