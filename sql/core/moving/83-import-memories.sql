-- Import: memories of other systems
--
-- The importers (pgmem/features/importers) read a file of another system into records: memories with a label, a name and
-- properties, and relations between them. import_memories stores a batch of records in a project as the file has them:
-- with their times, status, confidence and trust. Nothing is compared for duplicates, so two records of a file stay
-- two memories. A record that cannot be stored is left out with the reason, and the others are stored.
--
-- A record is known again by its source, label and name (memory_reference, kept in pgmem.imported), so a file can be
-- imported again: its new texts are updated, memories forgotten here stay forgotten, and a status that was given here stays.
-- A dry run does the same and rolls it back.
--
-- The trust of the file holds where an owner or a reviewer imports; else no memory gets more than the caller's.
--
-- Locks: the scopes of the batch, sorted, before the reads that they guard; then rows.


create or replace function pgmem.memory_reference(
  p_source text,
  p_label text,
  p_name text,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller
) returns uuid
language sql immutable set search_path = pgmem, pg_temp as $$
  select md5(concat_ws(e'\x1f', (p_caller).tenant, (p_scope).project_seq, p_source, p_label,
                       normalize(p_name, NFC)))::uuid;
$$;
comment on function pgmem.memory_reference is
  'The id by which a memory of another system is known again in later imports into the same project.';


create or replace function pgmem.foreign_node(
  p_record jsonb,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller
) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_name    text := p_record ->> 'name';
  v_props   jsonb := coalesce(p_record -> 'properties', '{}');
  v_label   pgmem.label := pgmem.require_label(p_record ->> 'label');
  v_updated timestamptz;
  v_node    pgmem.node;
begin
  perform pgmem.require_times(p_record, case when not pgmem.vouches(p_caller) then pgmem.clock() + interval '2 minutes' end),
    pgmem.require_no_steering(jsonb_build_object('name', v_name, 'properties', v_props), p_caller);
  if v_label.name = 'Decision' then
    v_node := pgmem.place_node('Decision', '{}', p_scope, p_caller);
    v_node.title := pgmem.clean_title(v_name, 'title');
    v_node.props := pgmem.clean_properties(pgmem.require_length(v_props) - '{title,status}'::text[])
      || jsonb_build_object('rationale', pgmem.clean_text(v_props ->> 'rationale', 'rationale', true));
    v_node.content_hash := pgmem.memory_hash('Decision', v_node.title, v_node.props);
  else
    v_label := pgmem.require_memory_label(v_label.name);
    v_node := pgmem.named_node(v_label, v_props - 'status' || jsonb_build_object(v_label.key_field, v_name),
                               null, p_scope, p_caller);
  end if;
  v_node.status := coalesce(p_record ->> 'status', 'active');
  perform pgmem.one_of('status', v_node.status, '{active,superseded,archived,expired,stub}');
  v_updated := pgmem.require_moment((p_record ->> 'updated_at')::timestamptz, 'updated_at');
  v_node.created_at := least(coalesce(
    pgmem.require_moment((p_record ->> 'created_at')::timestamptz, 'created_at'), v_updated, pgmem.now()), pgmem.now());
  v_node.updated_at := greatest(least(coalesce(v_updated, v_node.created_at), pgmem.now()), v_node.created_at);
  v_node.valid_from := pgmem.require_moment((p_record ->> 'valid_from')::timestamptz, 'valid_from');
  v_node.valid_to := pgmem.require_moment((p_record ->> 'valid_to')::timestamptz, 'valid_to');
  v_node.initial_confidence := pgmem.argument_number(p_record, 'confidence', null);
  v_node.trust_level := least(pgmem.argument_number(p_record, 'trust_level', p_caller.trust_level),
    case when pgmem.is_reviewer() then 1.0 else p_caller.trust_level end);
  if v_node.label = 'Decision' and not v_node.props ? 'date' then
    v_node.props := v_node.props || jsonb_build_object('date', v_node.created_at::date);
  end if;
  perform pgmem.require_period(v_node.valid_from, v_node.valid_to);
  return v_node;
end;
$$;
comment on function pgmem.foreign_node is
  'The node that a record of another system describes, with its times, status, confidence and trust; not stored yet.';


create or replace function pgmem.insert_foreign(p_node pgmem.node) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  p_node.props := jsonb_strip_nulls(p_node.props);
  p_node.initial_confidence := coalesce(p_node.initial_confidence, 1.0);
  p_node.recorded_at := pgmem.clock();
  p_node.begins_at := pgmem.first_begins(p_node.valid_from, p_node.valid_to, p_node.created_at);
  p_node.version := 1;
  return pgmem.insert_node(p_node, p_keeps_times => true);
end;
$$;
comment on function pgmem.insert_foreign is 'Store a new memory of another system; its recorded time is this moment.';


-- A status that was given here since stays: a file describes the time when it was written.
create or replace function pgmem.updated_foreign(p_old pgmem.node, p_new pgmem.node) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node := p_old;
begin
  -- The name stays as it is written here, and a date that the file does not give stays too.
  v_node.props := jsonb_strip_nulls(p_old.props || (p_new.props
    - (select array_remove(array[l.key_field, case when p_new.label = 'Decision' then 'date' end], null)
       from pgmem.label l where l.name = p_new.label)));
  v_node.valid_from := coalesce(p_new.valid_from, p_old.valid_from);
  v_node.valid_to := coalesce(p_new.valid_to, p_old.valid_to);
  v_node.initial_confidence := coalesce(p_new.initial_confidence, p_old.initial_confidence);
  v_node.status := case
    when p_old.status = 'stub' or p_old.status = 'active' and p_new.status <> 'stub' then p_new.status
    else p_old.status end;
  if v_node.props <> p_old.props then
    v_node.trust_level := least(p_old.trust_level, p_new.trust_level);
    v_node.source := p_new.source;
    v_node.agent_id := p_new.agent_id;
    v_node.session_id := p_new.session_id;
  end if;
  return v_node;
end;
$$;
comment on function pgmem.updated_foreign is
  'A stored memory with the new values of a file; nothing is stored yet.';


create or replace function pgmem.import_memory(
  p_record jsonb,
  p_source text,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller
) returns text
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node := pgmem.foreign_node(p_record, p_scope, p_caller);
  v_id   uuid := pgmem.memory_reference(p_source, v_node.label, p_record ->> 'name', p_scope, p_caller);
  v_new  pgmem.node;
  v_old  pgmem.node;
begin
  select n.* into v_old from pgmem.visible_node n
  where n.seq = any (array(select i.node_seq from pgmem.imported i where i.id = v_id))
    and n.tenant = v_node.tenant and n.label = v_node.label
  order by n.seq limit 1;
  if v_old.seq is null then
    select n.* into v_old from pgmem.visible_node n
    where n.scope_key = v_node.scope_key and n.tenant || '' = v_node.tenant
      and case when v_node.key is null then n.content_hash = v_node.content_hash
            else pgmem.folded(n.key) = pgmem.folded(v_node.key) end
    order by pgmem.is_live_status(n.status) desc, n.key = v_node.key desc, n.seq limit 1;
  end if;
  if v_old.seq is null then
    v_node := pgmem.insert_foreign(v_node);
    insert into pgmem.imported (id, node_seq) values (v_id, v_node.seq);
    if v_node.status <> 'stub' then
      perform pgmem.store_embedding(v_node);
    end if;
    return 'taken';
  end if;
  insert into pgmem.imported (id, node_seq) values (v_id, v_old.seq) on conflict do nothing;
  if pgmem.is_hidden_status(v_old.status) then
    return case when pgmem.is_hidden_status(v_node.status) then 'present' else 'forgotten' end;
  end if;
  v_new := pgmem.updated_foreign(v_old, v_node);
  if (v_new.props, v_new.status, v_new.valid_from, v_new.valid_to, v_new.initial_confidence)
      is not distinct from (v_old.props, v_old.status, v_old.valid_from, v_old.valid_to, v_old.initial_confidence) then
    return 'present';
  elsif pgmem.is_live_status(v_old.status) and pgmem.outranked(v_old.trust_level, p_caller) then
    return 'outranked';
  end if;
  v_new := pgmem.update_node(v_new);
  perform pgmem.store_embedding(v_new);
  return 'updated';
end;
$$;
comment on function pgmem.import_memory is
  'Store a memory of another system: taken, updated, present, or forgotten or outranked where it is left as it is.';


create or replace function pgmem.import_relation(
  p_record jsonb,
  p_source text,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller
) returns text
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_rel  text := p_record ->> 'relation';
  v_end  jsonb;
  v_node pgmem.node;
  v_ends pgmem.node[];
begin
  foreach v_end in array array[p_record -> 'from', p_record -> 'to'] loop
    select n.* into v_node from pgmem.visible_node n
    where n.tenant = p_caller.tenant and n.seq = any (array(select i.node_seq from pgmem.imported i
      where i.id = pgmem.memory_reference(p_source, v_end ->> 0, v_end ->> 1, p_scope, p_caller)))
    order by n.seq limit 1;
    if v_node.seq is null then
      return 'no end';
    end if;
    v_ends := v_ends || v_node;
  end loop;
  if v_ends[1].seq = v_ends[2].seq then
    return 'one end';
  end if;
  -- The file says which decision took the place of which; no verb has made it.
  if v_rel = 'SUPERSEDES' and v_ends[1].label = 'Decision' and v_ends[2].label = 'Decision' then
    return case when pgmem.insert_edge(v_ends[1].seq, v_rel, v_ends[2].seq) then 'taken' else 'present' end;
  end if;
  return case when pgmem.join_nodes(v_ends[1], v_rel, v_ends[2]) then 'taken' else 'present' end;
end;
$$;
comment on function pgmem.import_relation is
  'Join two memories that were imported from the same system: taken, present, or no end or one end where it cannot.';


select pgmem.declare_answer('imported_memory', $$
The outcome of one memory of an import, and the memory that it became.

place integer, outcome text, reason text, id uuid?
$$);

create or replace function pgmem.import_memories(
  p_project_id text,
  p_source text,
  p_records jsonb,
  p_dry_run boolean default false
) returns setof pgmem.imported_memory
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_scope  pgmem.scope_state;
  v_line   record;
  v_done   text;
  v_rows   jsonb[] := '{}';
begin
  if jsonb_typeof(p_records) is distinct from 'array' then
    raise exception using errcode = 'PM001', message = 'records must be a list; send the records of an importer.';
  end if;
  begin
    v_scope := pgmem.resolve_scope(v_caller, p_project_id, null);
    if v_scope.scope_state = 'unresolved' then
      raise exception using errcode = 'PM001', message = 'Send project_id, the project that the memories belong to.';
    elsif not v_scope.write_permitted then
      v_scope := pgmem.name_project(v_scope, v_caller);
    end if;
    perform pgmem.lock_scopes(array(
      select pgmem.scope_key(v_caller.tenant, v_scope.project_seq::text, l.name) from pgmem.label l
      where l.name in (select r.value ->> 'label' from jsonb_array_elements(p_records) r)));
    for v_line in select r.place, r.value from jsonb_array_elements(p_records) with ordinality as r(value, place) loop
      begin
        v_done := case when v_line.value ? 'relation'
          then pgmem.import_relation(v_line.value, p_source, v_scope, v_caller)
          else pgmem.import_memory(v_line.value, p_source, v_scope, v_caller) end;
        v_rows := v_rows || jsonb_build_object('outcome', v_done, 'id', case when not v_line.value ? 'relation' then (
          select n.id from pgmem.imported i join pgmem.visible_node n on n.seq = i.node_seq and n.tenant = v_caller.tenant
          where i.id = pgmem.memory_reference(p_source, (pgmem.require_label(v_line.value ->> 'label')).name,
                                              v_line.value ->> 'name', v_scope, v_caller) order by n.seq limit 1) end);
      exception
        when integrity_constraint_violation or data_exception or program_limit_exceeded or sqlstate 'PM001'
          or sqlstate 'PM002' or sqlstate 'PM004' or sqlstate 'PM011' or sqlstate 'PM099' then
          v_rows := v_rows || jsonb_build_object('outcome', 'left out', 'reason', sqlerrm);
      end;
    end loop;
    if p_dry_run then
      raise exception using errcode = 'PM098', message = 'a dry run is rolled back';
    end if;
  exception when sqlstate 'PM098' then
    null;
  end;
  return query
  select r.place::integer, r.value ->> 'outcome', r.value ->> 'reason', (r.value ->> 'id')::uuid
  from unnest(v_rows) with ordinality as r(value, place) order by r.place;
end;
$$;
comment on function pgmem.import_memories is $$
Store memories of another system, and their relations, as its file has them.

Returns the outcome of each record: taken, updated, present; forgotten (it was forgotten here), outranked (it has more
trust here than the caller), no end and one end (a relation whose ends are not two memories of the import), or left
out, with the reason. A project that does not exist is created.

source: The name of the other system; a record is known again by it.
records: A list of objects: label, name, properties, status, confidence, trust_level, created_at, updated_at,
  valid_from and valid_to; or from, relation and to, where an end is [label, name].
dry_run: Only report the outcome of each record.

InvalidArgument: no project is named, or records is not a list.
$$;
select pgmem.declare_verb('import_memories', p_rights => 'writer', p_effect => 'write');


create or replace function pgmem.forget_notes(
  p_project_id text,
  p_folder text,
  p_paths text[],
  p_dry_run boolean default true
) returns bigint
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller  pgmem.caller := pgmem.require_writer();
  v_project bigint := (pgmem.resolve_scope(v_caller, p_project_id, null)).project_seq;
  v_nodes   pgmem.node[];
begin
  perform pgmem.lock_scopes(array(
    select pgmem.scope_key(v_caller.tenant, v_project::text, l.name) from pgmem.label l
    where l.key_field is not null and l.verb is null));
  v_nodes := array(
    select row(n.*)::pgmem.node from pgmem.visible_node n
    where n.tenant = v_caller.tenant and n.project_seq = v_project and n.scope = 'project'
      and n.props ->> 'folder' = p_folder and n.props ? 'path' and not n.props ->> 'path' = any (p_paths)
      and pgmem.is_live_status(n.status) and not pgmem.outranked(n.trust_level, v_caller)
    order by n.seq);
  if not p_dry_run then
    perform pgmem.set_status(n.seq, 'archived') from unnest(v_nodes) n;
  end if;
  return cardinality(v_nodes);
end;
$$;
comment on function pgmem.forget_notes is $$
Archive the imported notes of a folder that are no longer in it; returns how many they are.

folder: The name of the folder, as the import recorded it.
paths: The paths of all notes that are in the folder.
dry_run: True (the default): only count.
$$;
select pgmem.declare_verb('forget_notes', p_rights => 'writer', p_effect => 'remove',
  p_reads_all => 'It looks for the notes of a folder among all memories of the project.');
