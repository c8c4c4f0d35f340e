-- Import: the lines of an export
--
-- import_records takes one batch of lines in one transaction. Existing memories stay as they are: a line is taken,
-- present (its id exists), or merged (its name or content exists). So an import that was interrupted between two
-- batches is run again from the beginning, and a second import of the same file changes nothing. Times, history and
-- trust are written as the file has them, so the verb is for the owner and reviewers. Names and the columns that follow
-- from texts (hash, words, lexemes) are composed as this release does (06-derived), whichever release wrote the file, and
-- records of a release without periods get them by the rules that saves follow (07-truth).
--
-- A batch is taken in kinds: vocabulary, projects, focus areas, nodes, edges, the rest. An error names the line; the
-- importer then sends each half of the batch for itself, so that a broken line leaves out itself alone.
--
-- Locks: for each kind of node the scopes of the batch, sorted, in a statement before the reads that they guard;
-- projects first, then focus areas, then the others, as in every save.


-- The caller holds the scope lock. An empty store fills within one session, and a plan made for ten rows would go on
-- reading all of a hundred thousand.
create or replace function pgmem.import_node(
  p_node pgmem.node,
  p_record jsonb,
  p_owner pgmem.caller,
  p_vectors boolean
) returns text
language plpgsql set search_path = pgmem, pg_temp set enable_seqscan = off as $$
declare
  v_id    uuid := p_node.id;
  v_given text;
  v_other bigint;
begin
  if not p_record ? 'begins_at' then
    p_record := pgmem.with_periods(p_node, p_record);
    p_node.begins_at := (p_record ->> 'begins_at')::timestamptz;
  end if;
  if (pgmem.imported_node(v_id, p_owner)).seq is not null then
    return 'present';
  end if;
  v_given := p_node.key;
  select c.* into p_node.key, p_node.title, p_node.props, p_node.content_hash
  from pgmem.composed(p_node.label, p_node.key, p_node.title, p_node.props, p_node.content_hash) c;
  p_node.title_tokens := null;
  if p_node.key is not null then
    select n.seq into v_other from pgmem.node n
    where n.scope_key = p_node.scope_key and n.tenant || '' = p_node.tenant
      and pgmem.folded(n.key) = pgmem.folded(v_given) and n.key = v_given;
    -- Names that earlier releases distinguished stay two memories, as in an upgrade; hygiene proposes to merge them.
    if v_other is null and p_node.key <> v_given and exists (
        select from pgmem.node n
        where n.scope_key = p_node.scope_key and n.tenant || '' = p_node.tenant
          and pgmem.folded(n.key) = pgmem.folded(v_given) and n.key = p_node.key) then
      p_node.key := v_given;
      p_node.props := p_node.props || (select jsonb_build_object(l.key_field, v_given)
                                       from pgmem.label l where l.name = p_node.label);
    end if;
  elsif p_node.content_hash is not null and pgmem.keeps_content(p_node.status) then
    select n.seq into v_other from pgmem.node n
    where n.scope_key = p_node.scope_key and n.tenant || '' = p_node.tenant and n.content_hash = p_node.content_hash
      and pgmem.keeps_content(n.status);
  end if;
  if v_other is not null then
    insert into pgmem.imported (id, node_seq) values (v_id, v_other);
    return 'merged';
  end if;
  -- Another tenant's node has this id: the copy gets its own id, the same at every import.
  if exists (select from pgmem.node n where n.id = v_id) then
    p_node.id := md5(p_node.tenant || v_id)::uuid;
  end if;
  if p_node.session_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    p_node.session_id := coalesce(
      (pgmem.imported_node(p_node.session_id::uuid, p_owner)).id::text, p_node.session_id);
  end if;
  p_node := pgmem.insert_node(p_node, p_keeps_times => true);
  if p_node.id <> v_id then
    insert into pgmem.imported (id, node_seq) values (v_id, p_node.seq);
  end if;
  -- A new row has its periods already; to work them out anew would write it once more.
  if p_record -> 'versions' <> '[]' then
    perform pgmem.import_versions(p_node, p_record -> 'versions', p_owner);
  end if;
  perform pgmem.import_parts(p_node, p_record);
  perform pgmem.import_vectors(p_node, case when p_vectors then p_record -> 'vectors' end);
  -- Who may decide on a rule here is believed that one was decided on.
  if p_record ? 'declined' and pgmem.vouches(p_owner) then
    insert into pgmem.declined_rule (node_seq, text_hash, declined_by, declined_at)
    values (p_node.seq, pgmem.rule_hash(p_node.label, p_node.title, p_node.props),
            pgmem.require_key(p_record #>> '{declined,by}', 'by'), (p_record #>> '{declined,at}')::pgmem.moment);
  end if;
  return 'taken';
end;
$$;
comment on function pgmem.import_node is
  'Store a node with its versions, vectors and parts, unless its id exists (present) or its name or content does (merged).';


create or replace function pgmem.with_periods(p_node pgmem.node, p_record jsonb) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_states jsonb[] := array(select value from jsonb_array_elements(coalesce(p_record -> 'versions', '[]'))
                            order by (value ->> 'version')::integer);
  v_state  pgmem.node_version;
  v_before pgmem.node_version;
  v_same   boolean;
begin
  for v_place in 1 .. cardinality(v_states) + 1 loop
    v_state := jsonb_populate_record(null::pgmem.node_version, coalesce(v_states[v_place], p_record));
    v_state.ingested_at := coalesce(v_state.ingested_at, p_node.recorded_at);
    v_same := v_state.title = v_before.title and v_state.props = v_before.props;
    v_state.begins_at := case
      when v_place = 1
        then pgmem.first_begins(v_state.valid_from, v_state.valid_to, coalesce(v_state.created_at, p_node.created_at))
      else pgmem.state_begins(v_state.valid_from, v_state.valid_to, case when not v_same then v_state.ingested_at end,
                              v_before.begins_at) end;
    if v_place > 1 then
      v_states[v_place - 1] := v_states[v_place - 1] || jsonb_build_object('begins_at', v_before.begins_at,
        'ends_at', pgmem.state_ends(v_before.valid_to, v_same, v_state.begins_at));
    end if;
    v_before := v_state;
  end loop;
  return p_record || jsonb_build_object('versions', to_jsonb(v_states), 'begins_at', v_state.begins_at);
end;
$$;
comment on function pgmem.with_periods is
  'A record of a release that kept no periods, with those of its states, worked out from the settings and their times.';


create or replace function pgmem.import_versions(p_node pgmem.node, p_versions jsonb, p_owner pgmem.caller) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_record  jsonb;
  v_version pgmem.node_version;
  v_project bigint;
begin
  for v_record in select value from jsonb_array_elements(coalesce(p_versions, '[]')) loop
    v_version := jsonb_populate_record(null::pgmem.node_version, v_record);
    v_project := case
      when v_version.project is null then null
      when v_record ? 'project_id'
        then coalesce((pgmem.imported_node((v_record ->> 'project_id')::uuid, p_owner)).seq, p_node.project_seq)
      else p_node.project_seq end;
    insert into pgmem.node_version (node_seq, version, label, key, title, props, status, scope, project, project_seq,
      focus, place, org_id, user_id, tenant, source, trust_level, initial_confidence, valid_from, valid_to, begins_at,
      ends_at, yields, text_config, tsv, created_at, ingested_at, replaced_at, agent_id)
    values (p_node.seq, v_version.version, p_node.label, v_version.key, v_version.title, v_version.props,
      v_version.status, v_version.scope, v_version.project, v_project, v_version.focus,
      pgmem.place_of(v_version.scope, v_project, v_version.focus),
      p_node.org_id, p_node.user_id, p_node.tenant, v_version.source, v_version.trust_level,
      v_version.initial_confidence, v_version.valid_from, v_version.valid_to, v_version.begins_at, v_version.ends_at,
      v_version.yields, p_node.text_config,
      (select d.tsv from pgmem.derived(p_node.label, v_version.title, v_version.props, p_node.tenant, v_project,
                                       p_node.session_id, p_node.text_config) d),
      v_version.created_at, v_version.ingested_at, v_version.replaced_at, v_version.agent_id);
  end loop;
  if p_versions is not null then
    perform pgmem.refresh_states(p_node.seq);
  end if;
end;
$$;
comment on function pgmem.import_versions is 'Store the earlier states of a node that was just imported.';


create or replace function pgmem.import_edge(p_record jsonb, p_caller pgmem.caller, p_all_tenants boolean) returns text
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_src      pgmem.node;
  v_dst      pgmem.node;
  v_relation pgmem.relation;
  v_new      boolean;
begin
  if p_all_tenants then
    p_caller.tenants := null;
  end if;
  v_src := pgmem.imported_node((p_record ->> 'src')::uuid, p_caller);
  v_dst := pgmem.imported_node((p_record ->> 'dst')::uuid, p_caller);
  if v_src.seq is null or v_dst.seq is null then
    raise exception using errcode = 'PM002',
      message = 'one of its ends does not exist; import the lines of both memories first';
  end if;
  select r.* into v_relation from pgmem.relation r where r.name = p_record ->> 'rel';
  if v_relation.name is null or v_relation.is_column then
    raise exception using errcode = 'PM001',
      message = format('its relation %s is not known here; add it with init_schema',
                       quote_literal(left(p_record ->> 'rel', 80)));
  end if;
  -- The two memories became one; or both belong to all tenants, so their relations do too.
  if v_src.seq = v_dst.seq or not p_all_tenants
      and not array[v_src.tenant, v_dst.tenant] && array[p_caller.tenant, pgmem.tenant_of(p_caller.org_id)] then
    return 'present';
  end if;
  -- An undirected relation is stored once, from the older to the newer node.
  v_new := pgmem.insert_edge(
    case when v_relation.undirected then least(v_src.seq, v_dst.seq) else v_src.seq end, v_relation.name,
    case when v_relation.undirected then greatest(v_src.seq, v_dst.seq) else v_dst.seq end,
    coalesce(p_record -> 'props', '{}'), (p_record ->> 'created_at')::timestamptz);
  return case when v_new then 'taken' else 'present' end;
end;
$$;
comment on function pgmem.import_edge is
  'Join two imported nodes by the relation of a record; taken, or present where they are joined.';


create or replace function pgmem.import_vectors(p_node pgmem.node, p_vectors jsonb) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_given record;
  v_model pgmem.embedding_model;
begin
  if not pgmem.has_vectors() or not pgmem.is_memory(p_node.label)
      or pgmem.is_hidden_status(p_node.status) then
    return;
  end if;
  for v_given in
    select v.* from jsonb_to_recordset(coalesce(p_vectors, '[]'))
      as v(model text, kind text, text_hash text, vector jsonb)
    -- Releases before 0.2 also kept the vector of a memory between its neighbours.
    where coalesce(v.kind, 'self') = 'self'
  loop
    select m.* into v_model from pgmem.embedding_model m
    where m.name = v_given.model and m.dimensions = jsonb_array_length(v_given.vector);
    if found then
      perform pgmem.put_vector(p_node.seq, v_model, p_node.tenant, coalesce(p_node.project_seq, 0),
        v_given.text_hash, array(select jsonb_array_elements_text(v_given.vector))::real[]);
    end if;
  end loop;
  perform pgmem.queue_changed(array[p_node.seq]);
end;
$$;
comment on function pgmem.import_vectors is
  'Store the vectors of a record whose models exist; queue the node where the active model has none of its text.';


create or replace function pgmem.import_parts(p_node pgmem.node, p_record jsonb) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_step name := (select l.imported_by from pgmem.label l where l.name = p_node.label);
begin
  if v_step is not null then
    execute format('select pgmem.%I($1, $2)', v_step) using p_node, p_record;
  end if;
end;
$$;
comment on function pgmem.import_parts is 'Store the parts that a record of this label has beside its node.';


create or replace function pgmem.import_save(p_record jsonb, p_owner pgmem.caller) returns text
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  insert into pgmem.save_attempt (tenant, save_id, org_id, user_id, verb, project, session_id, arguments,
    arguments_hash, status, artifact_id, dedup_outcome, candidate_id, message, embedded, batch, attempts, resolved_by,
    next_step, created_at, updated_at, source, trust_level, agent_id, decides)
  select p_owner.tenant, a.save_id, p_owner.org_id, p_owner.user_id, a.verb, a.project, a.session_id,
    nullif(a.arguments, 'null'), a.arguments_hash, a.status,
    coalesce((pgmem.imported_node(a.artifact_id, p_owner)).id, a.artifact_id), a.dedup_outcome,
    coalesce((pgmem.imported_node(a.candidate_id, p_owner)).id, a.candidate_id), a.message, a.embedded,
    nullif(a.batch, 'null'), a.attempts, a.resolved_by, a.next_step, a.created_at, a.updated_at,
    a.source, a.trust_level, a.agent_id, a.decides
  from jsonb_populate_record(null::pgmem.save_attempt, p_record) a
  on conflict (tenant, save_id) do nothing;
  return case when found then 'taken' else 'present' end;
end;
$$;
comment on function pgmem.import_save is
  'Store the record of a save, so that a pending one stays pending and a repeated save_id finds its first result.';


create or replace function pgmem.import_lines(p_records jsonb, p_kind text) returns table (
  place integer,
  number integer,
  record jsonb
)
language sql immutable set search_path = pgmem, pg_temp as $$
  select r.place::integer, row_number() over (order by r.place)::integer, r.value
  from jsonb_array_elements(p_records) with ordinality as r(value, place)
  where case
    when r.value ->> 'type' in ('label', 'relation', 'model') then 'vocabulary'
    when r.value ->> 'type' = 'node'
      then case when r.value ->> 'label' in ('Project', 'FocusArea') then r.value ->> 'label' else 'node' end
    when r.value ->> 'type' = 'edge' then 'edge'
    else 'rest' end = p_kind
  order by r.place;
$$;
comment on function pgmem.import_lines is
  'The records of one kind in a batch, with their places in the batch and within their kind.';


-- Anybody can write into a file that a person of another store said it. Nobody has seen it here, so it is what a folder of
-- notes is (08-caller): the statement of whoever imports it, and no order until a person decides. An approval of another
-- store is none of this one.
create or replace function pgmem.as_told_by_file(p_state jsonb, p_caller pgmem.caller) returns jsonb
language sql immutable
begin atomic
  select p_state || jsonb_strip_nulls(jsonb_build_object(
    'source', case when p_state ->> 'source' in ('cli', 'ui') then 'sync' end,
    'trust_level', least((p_state ->> 'trust_level')::float8, p_caller.trust_level)));
end;
comment on function pgmem.as_told_by_file is
  'A state out of a file: the word of a person in it is that of a file, and no trust is above the caller''s.';


create or replace function pgmem.as_filed(p_record jsonb, p_caller pgmem.caller) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_label pgmem.label;
begin
  case p_record ->> 'type'
  when 'node' then
    select l.* into v_label from pgmem.label l where l.name = p_record ->> 'label';
    if v_label.arrives_by is not null and not v_label.kept_as_sent then
      p_record := pgmem.as_saved(p_record, v_label, p_caller);
    end if;
    if p_record ? 'versions' then
      p_record := p_record || jsonb_build_object('versions', (
        select coalesce(jsonb_agg(pgmem.as_told_by_file(v.value, p_caller) order by v.place), '[]')
        from jsonb_array_elements(p_record -> 'versions') with ordinality as v(value, place)));
    end if;
    return pgmem.as_told_by_file(p_record, p_caller) - coalesce(v_label.vouched_parts, '{}') - 'declined';
  when 'save' then
    return pgmem.as_told_by_file(p_record, p_caller) || '{"decides": false}';
  else
    return p_record;
  end case;
end;
$$;
comment on function pgmem.as_filed is
  'A record of a file as this store believes it: the word of a person in it is that of whoever imports it, out of a file.';


select pgmem.declare_answer('imported_records', $$
How many records were taken, were present, or were merged.

taken bigint, present bigint, merged bigint
doubted bigint = 0: Memories taken that the file calls the word of a person, which it cannot prove.
$$);

create or replace function pgmem.import_records(
  p_records jsonb,
  p_first_line bigint default 1,
  p_vectors boolean default true,
  p_all_tenants boolean default false,
  p_own boolean default false
) returns pgmem.imported_records
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer  pgmem.imported_records;
  v_caller  pgmem.caller := pgmem.require_keeper('import_records');
  v_kind    text;
  v_line    record;
  v_done    text;
  v_owner   pgmem.caller;
  v_nodes   pgmem.node[];
  v_records jsonb[];
  v_place   integer := 0;
  v_claims  boolean;
begin
  if not p_all_tenants then
    perform pgmem.require_writer();
  end if;
  if jsonb_typeof(p_records) is distinct from 'array' then
    raise exception using errcode = 'PM001', message = 'records must be a list; send the lines of an export.';
  end if;
  v_answer.taken := 0;
  v_answer.present := 0;
  v_answer.merged := 0;
  v_answer.doubted := 0;
  foreach v_kind in array '{vocabulary,Project,FocusArea,node,edge,rest}'::text[] loop
    v_records := '{}';
    if v_kind in ('Project', 'FocusArea', 'node') then
      -- All locks of a kind are taken in one order before the first of its nodes is read or written.
      v_nodes := '{}';
      for v_line in select * from pgmem.import_lines(p_records, v_kind) loop
        v_place := v_line.place;
        if not p_own then
          v_line.record := pgmem.as_filed(v_line.record, v_caller);
        end if;
        v_records[v_line.number] := v_line.record;
        v_owner := pgmem.import_owner(v_line.record, v_caller, p_all_tenants);
        v_nodes[v_line.number] := pgmem.import_place(v_line.record, v_owner);
      end loop;
      perform pgmem.lock_scopes(array(select n.scope_key from unnest(v_nodes) n));
    end if;
    for v_line in select * from pgmem.import_lines(p_records, v_kind) loop
      v_place := v_line.place;
      v_claims := v_kind = 'node' and not p_own and pgmem.is_of_a_person(v_line.record ->> 'source', (v_line.record ->> 'trust_level')::float8);
      if v_records[v_line.number] is not null then
        v_line.record := v_records[v_line.number];
      elsif not p_own then
        v_line.record := pgmem.as_filed(v_line.record, v_caller);
      end if;
      v_owner := pgmem.import_owner(v_line.record, v_caller, p_all_tenants);
      case v_line.record ->> 'type'
      when 'node' then
        perform pgmem.require_form(v_line.record), pgmem.require_times(v_line.record, null);
        v_done := pgmem.import_node(v_nodes[v_line.number], v_line.record, v_owner, p_vectors);
      when 'edge' then
        v_done := pgmem.import_edge(v_line.record, v_caller, p_all_tenants);
      when 'save' then
        v_done := pgmem.import_save(v_line.record, v_owner);
      when 'label', 'relation', 'model' then
        v_done := pgmem.import_word(v_line.record);
      else
        v_done := pgmem.import_row(v_line.record, v_owner);
      end case;
      v_answer.taken := v_answer.taken + (v_done = 'taken')::integer;
      v_answer.present := v_answer.present + (v_done = 'present')::integer;
      v_answer.merged := v_answer.merged + (v_done = 'merged')::integer;
      v_answer.doubted := v_answer.doubted + coalesce(v_claims and v_done = 'taken', false)::integer;
    end loop;
  end loop;
  return v_answer;
exception when integrity_constraint_violation or data_exception or sqlstate 'PM001' or sqlstate 'PM002' then
  if v_place = 0 then
    raise;
  end if;
  raise exception using errcode = 'PM001',
    message = format('Line %s cannot be taken: %s.', p_first_line + v_place - 1, rtrim(sqlerrm, '.'));
end;
$$;
comment on function pgmem.import_records is $$
Take a batch of the lines of an export; existing memories stay as they are.

Returns the numbers of lines that were taken, present (their id exists) and merged (their name or content exists).
A line with a mistake refuses the whole batch; pgmem import then sends each half of it, down to the line.

records: The lines, a list of JSON objects.
first_line: The number in the file of the first of them, for messages.
vectors: Take the vectors of nodes too.
all_tenants: Keep the tenant that each record names, instead of the caller's.
own: Believe the file who wrote and who approved its memories, as of an export that you wrote; else the word of a person in it
  is that of whoever imports it, out of a file, and no rule until a person approves it.

InvalidArgument: a line cannot be taken; the message names it and the reason.
$$;
select pgmem.declare_verb('import_records', p_rights => 'reviewer', p_effect => 'write', p_reach => 'caller',
  p_reads => 2000);
