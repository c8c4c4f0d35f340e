create or replace function pgmem.place_node(p_label text, p_arguments jsonb, p_scope pgmem.scope_state, p_caller pgmem.caller)
returns pgmem.node
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_scope text := coalesce(p_arguments ->> 'scope', 'project');
  v_node  pgmem.node := pgmem.new_node(p_label, p_caller, p_arguments ->> 'share');
begin
  if v_scope not in ('global', 'project', 'focus') then
    raise exception using errcode = 'PM001', message = format('scope is global, project or focus, not %s.', v_scope);
  end if;
  if v_scope = 'focus' and p_scope.focus is null then
    raise exception using errcode = 'PM001', message = 'scope focus needs focus: send the name of the focus area.';
  end if;
  if v_node.user_id = '' and v_node.tenant <> p_caller.tenant and v_scope <> 'global' then
    if exists (select from pgmem.visible_node n where n.seq = p_scope.project_seq and n.user_id <> '') then
      raise exception using errcode = 'PM001',
        message = format('Project %s is yours alone: what is shared needs a project saved with share = org.', p_scope.project_id);
    end if;
  end if;
  if v_scope <> 'global' and p_scope.focus is not null then
    p_scope := pgmem.ensure_focus(p_scope, v_node, p_caller);
  end if;
  v_node.scope := v_scope;
  if v_scope <> 'global' then
    v_node.project := p_scope.project_id;
    v_node.project_seq := p_scope.project_seq;
    v_node.focus := p_scope.focus;
    v_node.focus_seq := p_scope.focus_seq;
    v_node.text_config := p_scope.text_config;
  end if;
  v_node.place := case v_scope when 'global' then 'global' when 'focus' then v_node.project_seq::text || '/' || v_node.focus
                    else v_node.project_seq::text end;
  v_node.scope_key := pgmem.scope_key(v_node.tenant, v_node.place, v_node.label);
  return v_node;
end;
$$;
comment on function pgmem.place_node(text, jsonb, pgmem.scope_state, pgmem.caller) is
  'A new node of a label with tenant, scope, project and focus filled in from a save''s arguments.';
