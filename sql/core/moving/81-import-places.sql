-- Import: records that may arrive, their owner and their scope
--
-- Whatever comes from outside goes through one gate, by whichever way it comes: as_arrived and require_arrival for the
-- records of another store (86-apply-changes), require_form for those of a file (82-import), require_times and
-- require_no_steering for the memories of another system (83-import-memories). A record has a form that a store makes,
-- whoever brings it, within the limits of this one, and has times of years that all clients read. None of these is still to
-- come, but in a file, which may hold the only copy.
-- A caller who does not vouch brings records as a save would have made them: it goes through the constructor of its kind, a
-- card is a draft, an insight is pending, a review asks for a verb with its arguments and names no result, but
-- for one between two decisions that are stored here, and a record that would be shared or steers agents is refused. One
-- record that is refused leaves the others.
--
-- An import gives each line of a file an owner (import_owner), finds the memories of its ids (imported_node) and its
-- project and focus area (import_place). 82-import writes nodes and edges with these; the lines that need no
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


create or replace function pgmem.import_row(p_record jsonb, p_owner pgmem.caller) returns text
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_rule    pgmem.table_rule;
  v_project pgmem.node;
  v_set     jsonb;
  v_taken   boolean;
  v_columns text;
  v_rows    bigint;
begin
  select t.* into v_rule from pgmem.table_rule t where t.part = p_record ->> 'type';
  if not found then
    raise exception using errcode = 'PM001',
      message = format('its type %s is not known to this release; upgrade pgmem',
                       coalesce(quote_literal(left(p_record ->> 'type', 80)), 'is missing and so'));
  end if;
  v_project := pgmem.imported_node((p_record ->> 'project_id')::uuid, p_owner);
  if v_project.seq is null then
    raise exception using errcode = 'PM002', message = 'its project does not exist; import the line of the project first';
  end if;
  if v_rule.imported_by is not null then
    execute format('select pgmem.%I($1, $2, $3)', v_rule.imported_by) into v_taken using p_record, p_owner, v_project.seq;
    return case when v_taken then 'taken' else 'present' end;
  end if;
  v_set := jsonb_build_object('org_id', p_owner.org_id, 'user_id', p_owner.user_id, 'tenant', p_owner.tenant,
                              'project_seq', v_project.seq);
  -- Another tenant's row has this id: the copy gets its own id, the same at every import.
  execute format('select exists (select from pgmem.%I r where r.id = $1 and r.tenant <> $2)', v_rule.name)
    into v_taken using (p_record ->> 'id')::uuid, p_owner.tenant;
  if v_taken then
    v_set := v_set || jsonb_build_object('id', md5(p_owner.tenant || (p_record ->> 'id')::uuid)::uuid);
  end if;
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum) into v_columns
  from pg_attribute a
  where a.attrelid = ('pgmem.' || v_rule.name)::regclass and a.attnum > 0 and not a.attisdropped
    and a.attgenerated = '' and a.attidentity = '' and p_record || v_set ? a.attname;
  execute format('insert into pgmem.%1$I (%2$s) select %2$s from jsonb_populate_record(null::pgmem.%1$I, $1)'
                 ' on conflict do nothing', v_rule.name, v_columns) using p_record || v_set;
  get diagnostics v_rows = row_count;
  return case when v_rows = 1 then 'taken' else 'present' end;
end;
$$;
comment on function pgmem.import_row is
  'Store a record that is a row of a declared table, such as a run; taken or present.';


-- The login of a server may be a reviewer and call for an agent: that comes by another way in.
create or replace function pgmem.vouches(p_caller pgmem.caller) returns boolean
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  return (p_caller).source in ('sync', 'cli', 'ui', 'sql') and pgmem.is_reviewer();
end;
$$;
comment on function pgmem.vouches is
  'Whether a caller is believed about the authors and approvers of its records: the owner or a reviewer, no agent.';


create or replace function pgmem.author_of(p_trust_level float8, p_caller pgmem.caller) returns pgmem.caller
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  p_caller.trust_level := least(coalesce(p_trust_level, pgmem.setting_float('trust_mcp')),
    case when pgmem.decides(p_caller) then 1.0 else p_caller.trust_level end);
  -- The decisions of whoever brings a change are not those of its author.
  p_caller.on_behalf := true;
  return p_caller;
end;
$$;
comment on function pgmem.author_of is
  'A caller with the trust that a change was recorded with, where that is lower: it undoes as much as its author might.';


-- In one statement for all states of a record: most are right.
create or replace function pgmem.require_times(p_record jsonb, p_no_later_than timestamptz) returns void
language plpgsql stable set search_path = pgmem, pg_temp set timezone = 'UTC' as $$
declare
  v_found record;
begin
  select n.name, s.state ->> n.name as said into v_found
  from (select p_record - 'versions' as state union all
        select v.value from jsonb_array_elements(case when jsonb_typeof(p_record -> 'versions') = 'array'
          then p_record -> 'versions' else '[]' end) v) s
  cross join unnest('{created_at,updated_at,recorded_at,ingested_at,replaced_at,purged_at,valid_from,valid_to,begins_at,ends_at}'::text[]) as n(name)
  cross join lateral (select case
    -- A state that never held ends before all times, and one of another period than the present is not replaced.
    when (n.name, s.state ->> n.name) not in (('ends_at', '-infinity'), ('replaced_at', 'infinity'))
      then pgmem.require_moment((s.state ->> n.name)::timestamptz, 'Its ' || n.name) end offset 0) as t(at)
  where t.at > p_no_later_than
    and n.name in ('created_at', 'updated_at', 'recorded_at', 'ingested_at', 'replaced_at', 'purged_at')
  limit 1;
  if found then
    raise exception using errcode = 'PM001', message = format(
      'It was recorded at %s (%s), which is still to come: set the clock right where it was written.',
      left(v_found.said, 40), v_found.name);
  end if;
end;
$$;
comment on function pgmem.require_times is $$
An error where a time of a record, or of one of its states, is none that every client reads, or was recorded later than now.

p_no_later_than is null where it does not matter when it was recorded.
$$;


create or replace function pgmem.require_numbers(p_record jsonb) returns void
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  v_numbers text[] := array(
    select coalesce(s.state ->> 'version', 'none') from (
      select p_record - 'versions' as state union all
      select v.value from jsonb_array_elements(coalesce(p_record -> 'versions', '[]')) v) s);
begin
  if exists (select from unnest(v_numbers) n where n !~ '^[1-9][0-9]{0,5}$')
      or cardinality(v_numbers) > (select count(distinct n) from unnest(v_numbers) n) then
    raise exception using errcode = 'PM001',
      message = 'The numbers of its states must differ and be from 1 to 999999: send it as its store has it.';
  end if;
end;
$$;
comment on function pgmem.require_numbers is 'An error where the states of a record have numbers that no store gives.';


-- A name that an earlier release took stays: refused are names that none of them made, and names above a limit of this store,
-- which its owner may raise. It reads the few fields of a kind by their index.
create or replace function pgmem.require_form(p_record jsonb) returns void
language plpgsql stable set search_path = pgmem, pg_temp set enable_seqscan = off as $$
declare
  v_label pgmem.label := pgmem.require_label(p_record ->> 'label');
  v_state jsonb;
  v_props jsonb;
  v_lacks text;
begin
  perform pgmem.require_numbers(p_record);
  for v_state in
    select p_record - 'versions' union all
    select v.value from jsonb_array_elements(coalesce(p_record -> 'versions', '[]')) v
  loop
    v_props := v_state -> 'props';
    if jsonb_typeof(v_props) is distinct from 'object' then
      raise exception using errcode = 'PM001', message = 'Its props must be an object: send it as its store has it.';
    elsif btrim(v_state ->> 'title', e' \t\n') = '' or btrim(v_state ->> 'key', e' \t\n') = '' then
      raise exception using errcode = 'PM001', message = 'Its name must not be empty: send it as its store has it.';
    elsif greatest(length(v_state ->> 'title'), length(v_state ->> 'key')) > 500 then
      raise exception using errcode = 'PM001', message = format('Its name has %s characters; a store keeps at most 500.',
        greatest(length(v_state ->> 'title'), length(v_state ->> 'key')));
    elsif v_state ->> 'status' <> all (v_label.statuses) then
      raise exception using errcode = 'PM001', message = format('A %s is not %s: send it as its store has it.',
        v_label.name, left(v_state ->> 'status', 40));
    end if;
    perform pgmem.require_length(jsonb_build_array(v_state -> 'title', v_props)),
      pgmem.require_period((v_state ->> 'valid_from')::timestamptz, (v_state ->> 'valid_to')::timestamptz);
    -- Rows that programs keep have their own form.
    continue when v_label.kept_as_sent;
    if jsonb_path_exists(v_props, 'lax $.**{21 to last}') then
      raise exception using errcode = 'PM001', message = 'properties are nested more than 20 deep; send flat ones.';
    elsif length(v_props::text) > pgmem.setting_int('max_text_chars') then
      perform pgmem.clean_text(t.value #>> '{}', p.key)
      from jsonb_each(v_props) p cross join jsonb_path_query(p.value, 'strict $.** ? (@.type() == "string")') t(value);
    end if;
    select f.name into v_lacks from pgmem.field f
    where f.label = v_label.name and f.required and f.kept = 'property' and v_state ->> 'status' <> 'stub'
      and case jsonb_typeof(v_props -> f.name) when 'string' then btrim(v_props ->> f.name, e' \t\n') = ''
            when 'array' then v_props -> f.name = '[]' else true end
    limit 1;
    if v_lacks is not null then
      raise exception using errcode = 'PM001', message = format('A %s needs its %s: send it as its store has it.', v_label.name, v_lacks);
    end if;
  end loop;
end;
$$;
comment on function pgmem.require_form is
  'An error where a memory, or one of its states, is none that a store makes, whoever brings it.';


-- The constructor of a kind cleans the fields of a state; it adds nothing that the state lacks, so that one that a store has
-- made arrives as it is.
create or replace function pgmem.as_saved(p_state jsonb, p_label pgmem.label, p_caller pgmem.caller) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_props  jsonb := p_state -> 'props';
  v_status text := p_state ->> 'status';
  v_node   pgmem.node;
begin
  case
  when p_label.arrives_by is not null then
    execute format('select * from pgmem.%I($1)', p_label.arrives_by) into v_node using p_state;
    v_status := v_node.status;
  when p_label.kept_as_sent then
    null;
  when v_status = 'stub' or pgmem.is_place(p_label.name) then
    v_node.key := pgmem.require_key(p_state ->> 'key', p_label.key_field);
    v_node.props := pgmem.clean_properties(v_props);
  when p_label.stored_by is not null then
    execute format('select * from pgmem.%I($1, $2, $3)', pgmem.snake(p_label.name) || '_of') into v_node
    using v_props || (
      select coalesce(jsonb_object_agg(f.name, p_state -> case f.kept when 'confidence' then 'initial_confidence' else f.kept end), '{}')
      from pgmem.field f where f.label = p_label.name and f.kept in ('title', 'key', 'confidence', 'valid_from', 'valid_to')),
      null::pgmem.scope_state, p_caller;
    -- Its fields are cleaned by its constructor, which takes a document for some.
    v_node.props := pgmem.clean_properties(v_props - array(select f.name from pgmem.field f where f.label = p_label.name)) || (
      select coalesce(jsonb_object_agg(p.key, p.value), '{}') from jsonb_each(v_node.props) p where v_props ? p.key);
  else
    v_node := pgmem.named_node(p_label, v_props - 'status' || jsonb_build_object(p_label.key_field, p_state -> 'key'), null, null, p_caller);
    v_node.props := v_node.props || case when v_props ? 'status'
      then jsonb_build_object('status', pgmem.clean_properties(v_props -> 'status')) else '{}' end;
  end case;
  if p_label.kept_as_sent then
    return p_state;
  end if;
  return p_state || jsonb_build_object('props', v_node.props, 'status', v_status,
      'title', case when pgmem.clean_title(p_state ->> 'title', 'title') = p_state ->> 'title' then p_state ->> 'title'
        else coalesce(v_node.key, v_node.title, pgmem.clean_title(p_state ->> 'title', 'title')) end)
    || case when v_node.key is null then '{}' else jsonb_build_object('key', v_node.key) end;
end;
$$;
comment on function pgmem.as_saved is
  'A state of a record as a save would have made it: checked and cleaned by the constructor of its kind.';


create or replace function pgmem.near_hash(p_earlier uuid, p_later uuid) returns bytea
language sql immutable set search_path = pgmem, pg_temp as $$
  select sha256(convert_to(p_earlier || '/' || p_later, 'UTF8'));
$$;
comment on function pgmem.near_hash is
  'The hash of a review of two stored decisions with near titles: the save_id begins with it, in each store that finds the two.';


create or replace function pgmem.is_near_review(p_record jsonb, p_owner pgmem.caller) returns boolean
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_earlier uuid := (p_record ->> 'candidate_id')::uuid;
  v_later   uuid := (p_record ->> 'artifact_id')::uuid;
  v_one     pgmem.node := pgmem.imported_node(v_earlier, p_owner);
  v_other   pgmem.node := pgmem.imported_node(v_later, p_owner);
begin
  return coalesce(p_record ->> 'verb' = 'save_decision' and (v_one.label, v_other.label) = ('Decision', 'Decision')
    and (v_one.tenant, v_other.tenant) = (p_owner.tenant, p_owner.tenant)
    and (p_record ->> 'save_id')::uuid = encode(substr(pgmem.near_hash(v_earlier, v_later), 1, 16), 'hex')::uuid, false);
end;
$$;
comment on function pgmem.is_near_review is
  'Whether a save under review asks which of two decisions of near titles holds, both of which the owner has here.';


create or replace function pgmem.known_review(p_record jsonb, p_owner pgmem.caller) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select p_record || jsonb_build_object('status', a.status, 'updated_at', a.updated_at)
  from pgmem.save_attempt a
  where a.tenant = p_owner.tenant and a.save_id = (p_record ->> 'save_id')::uuid
    and (p_record ->> 'status' not in ('saved', 'dropped') or a.status in ('saved', 'dropped')
      and ((p_record ->> 'updated_at')::timestamptz >= a.updated_at
           or (p_record ->> 'status', p_record ->> 'dedup_outcome') = (a.status::text, a.dedup_outcome::text)));
$$;
comment on function pgmem.known_review is
  'A save of another store with its state in this one, where it says nothing new: decided before here, or alike; else null.';


create or replace function pgmem.as_asked(p_record jsonb, p_owner pgmem.caller, p_caller pgmem.caller) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_maker text;
  v_takes text[] := (
    select array_agg(substr(a.name, 3)) from pg_proc p cross join unnest(p.proargnames) as a(name)
    where p.pronamespace = 'pgmem'::regnamespace and p.proname = p_record ->> 'verb' and a.name like 'p\_%'
      and exists (select from pgmem.verb v where v.name = p.proname::text and v.rights = 'writer'));
begin
  if p_record ->> 'status' <> 'failed' or p_record ->> 'dedup_outcome' is distinct from 'manual_review'
      or coalesce(p_record ->> 'resolved_by', '') <> '' then
    raise exception using errcode = 'PM004', message = 'It was decided there; here a person decides.';
  elsif v_takes is null then
    raise exception using errcode = 'PM001', message = format(
      'It asks for %s, not a verb that saves.', coalesce(quote_literal(left(p_record ->> 'verb', 80)), 'nothing'));
  elsif jsonb_typeof(p_record -> 'arguments') is distinct from 'object'
      or exists (select from jsonb_object_keys(p_record -> 'arguments') k
                 where k <> all (v_takes || '{label,key}'::text[]) or k in ('governance_token', 'save_id')) then
    raise exception using errcode = 'PM001', message = format(
      'Its arguments must be an object of those that %s takes, without a token.', p_record ->> 'verb');
  elsif jsonb_typeof(p_record -> 'batch') = 'object'
      or p_record ->> 'artifact_id' is not null and not pgmem.is_near_review(p_record, p_owner) then
    raise exception using errcode = 'PM004',
      message = 'It names what became of it; a save that waits for a person has become nothing yet.';
  elsif p_record ->> 'candidate_id' is not null
      and (pgmem.imported_node((p_record ->> 'candidate_id')::uuid, p_owner)).seq is null then
    raise exception using errcode = 'PM002', message = 'The memory that it would change does not exist here.';
  end if;
  if pgmem.reviews_are_full(p_caller, (p_record ->> 'save_id')::uuid) then
    raise exception using errcode = 'PM004', message = pgmem.full_reviews();
  end if;
  perform pgmem.require_length(p_record -> 'arguments');
  select pgmem.snake(l.name) || '_of' into v_maker from pgmem.label l
  where l.verb = p_record ->> 'verb' and l.stored_by is not null;
  if v_maker is null then
    perform pgmem.clean_properties(p_record -> 'arguments');
  else
    execute format('select pgmem.%I($1, null, $2)', v_maker) using (p_record -> 'arguments') - '{scope,focus,share}'::text[], p_caller;
  end if;
  return p_record || jsonb_build_object('source', p_caller.source, 'decides', false, 'agent_id', p_caller.agent_id,
    'trust_level', least((p_record ->> 'trust_level')::float8, p_caller.trust_level), 'next_step', null, 'batch', null,
    'message', 'It waits for a person in another store, and here too.');
end;
$$;
comment on function pgmem.as_asked is
  'A save under review of a caller who does not vouch: its request without its outcome.';


create or replace function pgmem.as_arrived(p_record jsonb, p_caller pgmem.caller) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_given jsonb := jsonb_build_object('source', p_caller.source, 'agent_id', p_caller.agent_id);
  v_label pgmem.label;
  v_owner pgmem.caller;
  v_known jsonb;
begin
  perform pgmem.require_times(p_record, pgmem.clock() + interval '2 minutes');
  if p_record ->> 'type' = 'node' and not pgmem.is_of_store(p_record ->> 'label') then
    perform pgmem.require_form(p_record);
  end if;
  if pgmem.vouches(p_caller) then
    return p_record;
  end if;
  case p_record ->> 'type'
  when 'node' then
    v_label := pgmem.require_label(p_record ->> 'label');
    if pgmem.is_of_store(v_label.name) then
      return p_record;  -- import_place refuses it
    end if;
    p_record := pgmem.as_saved(p_record, v_label, p_caller) - '{approved,agent_id}'::text[] || v_given;
    if p_record ? 'versions' then
      p_record := p_record || jsonb_build_object('versions', (
        select coalesce(jsonb_agg(pgmem.as_saved(v.value, v_label, p_caller) || v_given - 'agent_id' order by v.place), '[]')
        from jsonb_array_elements(p_record -> 'versions') with ordinality as v(value, place)));
    end if;
    return p_record - v_label.vouched_parts;
  when 'purge' then
    return p_record || v_given || jsonb_build_object('purged_by', session_user, 'purged_at', pgmem.clock(),
      'trust_level', least((p_record ->> 'trust_level')::float8, p_caller.trust_level));
  when 'save' then
    v_owner := pgmem.import_owner(p_record, p_caller, false);
    v_known := pgmem.known_review(p_record, v_owner);
    return case when v_known is null then pgmem.as_asked(p_record, v_owner, p_caller) else v_known end;
  when 'edge' then
    perform pgmem.require_no_steering(coalesce(p_record -> 'props', '{}'), p_caller);
    return p_record || jsonb_build_object('props', pgmem.clean_properties(pgmem.require_length(coalesce(p_record -> 'props', '{}'))));
  else
    return p_record;
  end case;
end;
$$;
comment on function pgmem.as_arrived is $$
A record of another store as this one believes it, or an error where it is none that a store has made.

A record of a caller who does not vouch for it: without who wrote and who approved it, and as a save would have made it.
$$;


create or replace function pgmem.require_arrival(p_record jsonb, p_node pgmem.node, p_caller pgmem.caller) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if p_node.seq is not null then
    perform pgmem.require_own(p_node, p_caller);
  end if;
  if coalesce(p_node.scope, p_record ->> 'scope') = 'global'
      and not coalesce((p_record ->> 'approved')::boolean, false) then
    raise exception using errcode = 'PM004', message =
      'It is global: it travels with its approval, to a caller who is the owner or a reviewer.';
  end if;
  if pgmem.vouches(p_caller) then
    return;
  elsif p_node.seq is null and p_caller.user_id <> '' and (pgmem.import_owner(p_record, p_caller, false)).user_id = '' then
    raise exception using errcode = 'PM004', message =
      'It is shared in the organisation: a person brings it, or each of its users saves it with share.';
  elsif not (pgmem.require_label(p_record ->> 'label')).kept_as_sent then
    perform pgmem.require_no_steering(jsonb_build_object('title', s.state -> 'title', 'key', s.state -> 'key', 'props', s.state -> 'props'), p_caller)
    from (select p_record as state union all select v.value from jsonb_array_elements(coalesce(p_record -> 'versions', '[]')) v) s;
  end if;
end;
$$;
comment on function pgmem.require_arrival is $$
An error where a change of another store may not be made here.

That is a memory of others, a global one without approval and, of a caller who does not vouch, a new one that would be shared
or one that steers agents.
$$;
