create or replace function pgmem.import_place(p_record jsonb, p_owner pgmem.caller) returns pgmem.node
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_label   pgmem.label := pgmem.require_label(p_record ->> 'label');
  v_node    pgmem.node := jsonb_populate_record(null::pgmem.node, p_record);
  v_project pgmem.node;
  v_focus   pgmem.node;
begin
  if v_label.name in ('GlobalScope', 'GovernanceToken') then
    raise exception using errcode = 'PM001', message = format('A %s is made by the store itself and is not imported; leave the line out', v_label.name);
  end if;
  if v_node.project is not null or p_record ? 'project_id' then
    v_project := pgmem.imported_node((p_record ->> 'project_id')::uuid, p_owner);
    if v_project.seq is null and not p_record ? 'project_id' then
      v_project.seq := (pgmem.resolve_scope(p_owner, v_node.project, null)).project_seq;
      v_project.key := v_node.project;
    end if;
    if v_project.seq is null then
      raise exception using errcode = 'PM002', message = format('its project %s is not here; import the line of the project first',
        quote_literal(left(v_node.project, 80)));
    end if;
  end if;
  if p_record ? 'focus_id' then
    v_focus := pgmem.imported_node((p_record ->> 'focus_id')::uuid, p_owner);
    if v_focus.seq is null then
      raise exception using errcode = 'PM002', message = format('its focus area %s is not here; import the line of the focus area first',
        quote_literal(left(v_node.focus, 80)));
    end if;
  end if;
  v_node.project_seq := v_project.seq;
  v_node.focus_seq := v_focus.seq;
  v_node.org_id := p_owner.org_id;
  v_node.user_id := p_owner.user_id;
  v_node.tenant := p_owner.tenant;
  v_node.place := case v_node.scope when 'global' then 'global' when 'focus' then v_node.project_seq::text || '/' || v_node.focus
                    else v_node.project_seq::text end;
  v_node.scope_key := pgmem.scope_key(v_node.tenant, v_node.place, v_node.label);
  -- A configuration that this server lacks would stop every later search of the text.
  v_node.text_config := coalesce((select c.cfgname::text from pg_ts_config c where c.cfgname = v_node.text_config limit 1), pgmem.setting_text('text_config'));
  return v_node;
end;
$$;
comment on function pgmem.import_place(jsonb, pgmem.caller) is
  'A node as a record tells it, stamped with its owner and put where its project and focus area are here; nothing is stored yet.';
