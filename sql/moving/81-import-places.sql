-- Import: whose a record becomes, and where it belongs
--
-- An import gives each line of a file an owner (import_owner), finds what its ids mean here (imported_node) and where
-- its project and focus area are (import_place). 82-import writes nodes and edges with these; the lines that need no
-- place, words of the vocabulary and the work on cards, are taken here.
--
-- An id of the file keeps its meaning across imports: a node that was merged with an existing one, or whose id
-- another tenant holds, is recorded in pgmem.imported with the node that stands for it. An id that belongs to another
-- tenant looks like an unknown one.
--
-- Locks: none beyond the rows it inserts.


create or replace function pgmem.import_owner(
  p_record jsonb,
  p_caller pgmem.caller,
  p_all_tenants boolean
) returns pgmem.caller
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_org  text := coalesce(p_record ->> 'org_id', '');
  v_user text := coalesce(p_record ->> 'user_id', '');
begin
  if p_all_tenants then
    p_caller.org_id := coalesce(pgmem.clean_key(v_org, 'org_id'), '');
    p_caller.user_id := coalesce(pgmem.clean_key(v_user, 'user_id'), '');
  elsif v_user = '' and v_org <> '' and p_caller.org_id <> '' then
    -- A record that was shared in an organisation is shared in the caller's; every other becomes the caller's own.
    p_caller.user_id := '';
  end if;
  p_caller.tenant := pgmem.tenant_of(p_caller.org_id, p_caller.user_id);
  p_caller.tenants := array[p_caller.tenant, pgmem.tenant_of(p_caller.org_id), pgmem.tenant_of()];
  return p_caller;
end;
$$;
comment on function pgmem.import_owner is
  'The owner of a record: the one it names when all tenants are imported, else the caller, or its organisation for a '
  'shared record.';


create or replace function pgmem.import_place(p_record jsonb, p_owner pgmem.caller) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_label   pgmem.label := pgmem.require_label(p_record ->> 'label');
  v_node    pgmem.node := jsonb_populate_record(null::pgmem.node, p_record);
  v_project pgmem.node;
  v_focus   pgmem.node;
begin
  if pgmem.is_of_store(v_label.name) then
    raise exception using errcode = 'PM001',
      message = format('A %s is made by the store itself and is not imported; leave the line out', v_label.name);
  end if;
  if v_node.project is not null or p_record ? 'project_id' then
    v_project := pgmem.imported_node((p_record ->> 'project_id')::uuid, p_owner);
    if v_project.seq is null and not p_record ? 'project_id' then
      v_project.seq := (pgmem.resolve_scope(p_owner, v_node.project, null)).project_seq;
      v_project.key := v_node.project;
    end if;
    if v_project.seq is null then
      raise exception using errcode = 'PM002',
        message = format('its project %s does not exist; import the line of the project first',
                         quote_literal(left(v_node.project, 80)));
    end if;
  end if;
  if p_record ? 'focus_id' then
    v_focus := pgmem.imported_node((p_record ->> 'focus_id')::uuid, p_owner);
    if v_focus.seq is null then
      raise exception using errcode = 'PM002',
        message = format('its focus area %s does not exist; import the line of the focus area first',
                         quote_literal(left(v_node.focus, 80)));
    end if;
  end if;
  v_node.project_seq := v_project.seq;
  v_node.focus_seq := v_focus.seq;
  v_node.org_id := p_owner.org_id;
  v_node.user_id := p_owner.user_id;
  v_node.tenant := p_owner.tenant;
  v_node.place := case v_node.scope when 'global' then 'global'
                    when 'focus' then v_node.project_seq::text || '/' || v_node.focus
                    else v_node.project_seq::text end;
  v_node.scope_key := pgmem.scope_key(v_node.tenant, v_node.place, v_node.label);
  -- A configuration that this server lacks would stop every later search of the text.
  v_node.text_config := coalesce(
    (select c.cfgname::text from pg_ts_config c where c.cfgname = v_node.text_config limit 1),
    pgmem.setting_text('text_config'));
  return v_node;
end;
$$;
comment on function pgmem.import_place is
  'The node of a record with its owner, its project and its focus area here; nothing is stored yet.';


-- It reads node itself, within the owner's tenants. An owner without tenants stands for all of them, when an owner of
-- the store imports everything. enable_seqscan is off for the reason given at import_node.
create or replace function pgmem.imported_node(p_id uuid, p_owner pgmem.caller) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp set enable_seqscan = off as $$
declare
  v_node pgmem.node;
begin
  if p_id is null then
    return null;
  end if;
  select n.* into v_node from pgmem.node n
  where n.id = p_id and (p_owner.tenants is null or n.tenant = any (p_owner.tenants));
  if not found and exists (select from pgmem.imported i where i.id = p_id) then
    select n.* into v_node from pgmem.node n
    where n.seq = any (array(select i.node_seq from pgmem.imported i where i.id = p_id))
      and (p_owner.tenants is null or n.tenant = any (p_owner.tenants))
    order by array_position(p_owner.tenants, n.tenant), n.seq limit 1;
  end if;
  return v_node;
end;
$$;
comment on function pgmem.imported_node is 'The node that an id of a file means here, if the owner sees it; else null.';


create or replace function pgmem.import_word(p_record jsonb) returns text
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_made record;
begin
  case p_record ->> 'type'
  when 'label' then
    select * into v_made from pgmem.init_schema(jsonb_build_array(p_record), '[]');
    return case when v_made.labels_made = '{}' then 'present' else 'taken' end;
  when 'relation' then
    select * into v_made from pgmem.init_schema('[]', jsonb_build_array(p_record));
    return case when v_made.relations_made = '{}' then 'present' else 'taken' end;
  else
    -- A server that keeps no vectors leaves out those of the file too.
    if not pgmem.has_vectors() or exists (select from pgmem.embedding_model m where m.name = p_record ->> 'name') then
      return 'present';
    end if;
    perform pgmem.register_model(p_record ->> 'name', (p_record ->> 'dimensions')::integer);
    return 'taken';
  end case;
end;
$$;
comment on function pgmem.import_word is
  'Register a label, a relation or a model of a file; taken, or present where it is known.';


create or replace function pgmem.import_work(p_record jsonb, p_owner pgmem.caller) returns text
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_project pgmem.node := pgmem.imported_node((p_record ->> 'project_id')::uuid, p_owner);
  v_id      uuid := (p_record ->> 'id')::uuid;
begin
  if v_project.seq is null then
    raise exception using errcode = 'PM002', message = 'its project does not exist; import the line of the project first';
  end if;
  if p_record ->> 'type' = 'files' then
    insert into pgmem.card_file (org_id, user_id, project_seq, path, digest, module, last_commit)
    select p_owner.org_id, p_owner.user_id, v_project.seq, f.path, f.digest, f.module, f.last_commit
    from jsonb_to_recordset(p_record -> 'files') as f(path text, digest text, module text, last_commit text)
    on conflict (tenant, project_seq, path) do nothing;
  elsif p_record ->> 'type' = 'run' then
    -- Another tenant's row has this id: the copy gets its own id, the same at every import.
    if exists (select from pgmem.card_run r where r.id = v_id and r.tenant <> p_owner.tenant) then
      v_id := md5(p_owner.tenant || v_id)::uuid;
    end if;
    insert into pgmem.card_run (id, org_id, user_id, project_seq, fingerprint, commit_id, complete, counts, created_at)
    select v_id, p_owner.org_id, p_owner.user_id, v_project.seq, r.fingerprint, r.commit_id, r.complete, r.counts,
           r.created_at
    from jsonb_populate_record(null::pgmem.card_run, p_record) r
    on conflict (id) do nothing;
  else
    if exists (select from pgmem.card_intent i where i.id = v_id and i.tenant <> p_owner.tenant) then
      v_id := md5(p_owner.tenant || v_id)::uuid;
    end if;
    insert into pgmem.card_intent (id, org_id, user_id, project_seq, paths, description, agent_id, session_id,
      declared_at, finished_at, changed_paths, receipt)
    select v_id, p_owner.org_id, p_owner.user_id, v_project.seq, i.paths, i.description, i.agent_id, i.session_id,
           i.declared_at, i.finished_at, i.changed_paths, i.receipt
    from jsonb_populate_record(null::pgmem.card_intent, p_record) i
    on conflict (id) do nothing;
  end if;
  return case when found then 'taken' else 'present' end;
end;
$$;
comment on function pgmem.import_work is
  'Store the work on cards that a record holds: files as last seen, a run or an intent; taken or present.';
