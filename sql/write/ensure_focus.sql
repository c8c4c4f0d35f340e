-- Reads node itself: scope_key holds the tenant.
create or replace function pgmem.ensure_focus(p_scope pgmem.scope_state, p_node pgmem.node, p_caller pgmem.caller)
returns pgmem.scope_state
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_area pgmem.node := p_node;
begin
  -- A focus area belongs to the row's tenant or one that is shared with it: a private name is never shown to others.
  select n.seq into p_scope.focus_seq
  from (values (1, p_node.tenant), (2, p_node.org_id || e'\x1f'), (3, e'\x1f')) as t(place, tenant)
  join pgmem.node n on n.scope_key = pgmem.scope_key(t.tenant, p_scope.project_seq::text, 'FocusArea')
    and n.key = p_scope.focus and n.status = 'active'
  order by t.place limit 1;
  if p_scope.focus_seq is null then
    perform pgmem.lock_scope(pgmem.scope_key(p_node.tenant, p_scope.project_seq::text, 'FocusArea'));
    select n.seq into p_scope.focus_seq from pgmem.node n
    where n.scope_key = pgmem.scope_key(p_node.tenant, p_scope.project_seq::text, 'FocusArea') and n.key = p_scope.focus;
    if p_scope.focus_seq is null then
      v_area.id := gen_random_uuid();
      v_area.label := 'FocusArea';
      v_area.key := p_scope.focus;
      v_area.title := p_scope.focus;
      v_area.props := jsonb_build_object('name', p_scope.focus);
      v_area.project := p_scope.project_id;
      v_area.project_seq := p_scope.project_seq;
      p_scope.focus_seq := (pgmem.insert_node(v_area)).seq;
    end if;
  end if;
  return p_scope;
end;
$$;
comment on function pgmem.ensure_focus(pgmem.scope_state, pgmem.node, pgmem.caller) is
  'The scope with its focus area, made for the row''s tenant if no shared one is there.';
