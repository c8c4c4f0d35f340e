create or replace function pgmem.ensure_project(p_scope pgmem.scope_state, p_caller pgmem.caller, p_share text)
returns pgmem.scope_state
language plpgsql
set search_path = pgmem, pg_temp
as $$
declare
  v_node pgmem.node := pgmem.new_node('Project', p_caller, p_share);
begin
  perform pgmem.lock_scope(pgmem.scope_key(v_node.tenant, null, 'Project'));
  p_scope := pgmem.resolve_scope(p_caller, p_scope.project_id, p_scope.focus);
  if p_scope.scope_state = 'uncertain' then
    v_node.key := p_scope.project_id;
    v_node.title := p_scope.project_id;
    v_node.props := jsonb_build_object('name', p_scope.project_id);
    perform pgmem.insert_node(v_node);
    p_scope := pgmem.resolve_scope(p_caller, p_scope.project_id, p_scope.focus);
  end if;
  return p_scope;
end;
$$;
comment on function pgmem.ensure_project(pgmem.scope_state, pgmem.caller, text) is
  'The scope with its project, made if it was not there: the first save_session opens a project.';
