-- The place of a new memory
--
-- A save names a project and perhaps a focus area; place_node turns them into tenant, project, focus, place and
-- scope_key of a new node. A focus area is made when it is first named, a project by the first save_session that names
-- it.
--
-- Shared memories need a shared project: one that is the caller's alone would show its name to others.
--
-- Locks: ensure_project and ensure_focus: the scope of the project or focus area, in a statement before the look that it
-- guards.


create or replace function pgmem.place_node(
  p_label text,
  p_arguments jsonb,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller
) returns pgmem.node
language plpgsql as $$
declare
  v_scope pgmem.scope_name := coalesce(p_arguments ->> 'scope', 'project');
  v_node  pgmem.node := pgmem.new_node(p_label, p_caller, p_arguments ->> 'share');
begin
  if v_scope = 'focus' and p_scope.focus is null then
    raise exception using errcode = 'PM001', message = 'scope focus needs focus: send the name of the focus area.';
  end if;
  if v_scope = 'global' and p_scope.focus is not null then
    raise exception using errcode = 'PM001',
      message = 'A global memory has no focus area: leave focus out, or send scope focus.';
  end if;
  if v_node.user_id = '' and v_node.tenant <> p_caller.tenant and v_scope <> 'global'
      and exists (select from pgmem.visible_node n where n.seq = p_scope.project_seq and n.user_id <> '') then
    raise exception using errcode = 'PM001', message = format(
      'Project %s is yours alone: what is shared needs a project saved with share = org.', p_scope.project_id);
  end if;
  if p_scope.focus is not null then
    p_scope := pgmem.ensure_focus(p_scope, v_node);
  end if;
  v_node.scope := v_scope;
  if v_scope <> 'global' then
    v_node.project := p_scope.project_id;
    v_node.project_seq := p_scope.project_seq;
    v_node.focus := p_scope.focus;
    v_node.focus_seq := p_scope.focus_seq;
    v_node.text_config := p_scope.text_config;
  end if;
  v_node.place := pgmem.place_of(v_scope, v_node.project_seq, v_node.focus);
  v_node.scope_key := pgmem.scope_key(v_node.tenant, v_node.place, v_node.label);
  return v_node;
end;
$$;
comment on function pgmem.place_node is
  'A new node of a label with tenant, scope, project and focus from the arguments of a save.';


create or replace function pgmem.ensure_project(
  p_scope pgmem.scope_state,
  p_caller pgmem.caller,
  p_share text
) returns pgmem.scope_state
language plpgsql as $$
declare
  v_node pgmem.node := pgmem.new_node('Project', p_caller, p_share);
begin
  perform pgmem.lock_scope(pgmem.scope_key(v_node.tenant, null, 'Project'));
  p_scope := pgmem.resolve_scope(p_caller, p_scope.project_id, p_scope.focus);
  if p_scope.scope_state = 'uncertain' then
    v_node.key := p_scope.project_id;
    v_node.title := p_scope.project_id;
    v_node.props := jsonb_build_object('name', p_scope.project_id);
    -- A project that was forgotten comes back with its name.
    update pgmem.node n set status = 'active', updated_at = greatest(pgmem.now(), n.created_at)
    where n.scope_key = pgmem.scope_key(v_node.tenant, null, 'Project') and n.tenant || '' = v_node.tenant
      and pgmem.folded(n.key) = pgmem.folded(v_node.key);
    if not found then
      perform pgmem.insert_node(v_node);
    end if;
    p_scope := pgmem.resolve_scope(p_caller, p_scope.project_id, p_scope.focus);
  end if;
  return p_scope;
end;
$$;
comment on function pgmem.ensure_project is 'The scope with its project, which is made if it is missing.';


-- Reads node itself, by tenants.
create or replace function pgmem.ensure_focus(p_scope pgmem.scope_state, p_node pgmem.node) returns pgmem.scope_state
language plpgsql as $$
declare
  v_area pgmem.node := p_node;
begin
  -- A focus area belongs to the row's tenant or to one that is shared with it, so that a private name is never shown
  -- to others.
  select n.seq into p_scope.focus_seq
  from (values (1, p_node.tenant), (2, pgmem.tenant_of(p_node.org_id)), (3, pgmem.tenant_of())) as t(place, tenant)
  join pgmem.node n on n.scope_key = pgmem.scope_key(t.tenant, p_scope.project_seq::text, 'FocusArea')
    and n.tenant || '' = t.tenant and pgmem.folded(n.key) = pgmem.folded(p_scope.focus) and n.status = 'active'
  order by t.place, n.key = p_scope.focus desc, n.seq limit 1;
  if p_scope.focus_seq is null then
    perform pgmem.lock_scope(pgmem.scope_key(p_node.tenant, p_scope.project_seq::text, 'FocusArea'));
    select n.seq into p_scope.focus_seq from pgmem.node n
    where n.scope_key = pgmem.scope_key(p_node.tenant, p_scope.project_seq::text, 'FocusArea')
      and n.tenant || '' = p_node.tenant and pgmem.folded(n.key) = pgmem.folded(p_scope.focus)
    order by n.key = p_scope.focus desc, n.seq limit 1;
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
comment on function pgmem.ensure_focus is
  'The scope with its focus area, which is made for the row''s tenant if neither it nor a shared one is present.';
