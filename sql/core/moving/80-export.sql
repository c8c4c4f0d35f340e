-- Export: a memory as lines of JSON
--
-- An export is a header and records, in parts: vocabulary, project, focus, node, edge, run, files, intent, save. A
-- client reads the parts in this order, page by page, in one REPEATABLE READ transaction, so that memory stays flat on
-- both sides and all pages show one moment. Projects and focus areas come before their contents, edges after both
-- their ends. A node is one line with its earlier states, so an import takes it whole or not at all.
--
-- Left out are tokens and logins, which are secrets and rights of a server; settings, which belong to its owner; and
-- all that is worked out from the rest: search texts, near-duplicate entries, word counts, the graph. The same data
-- gives the same bytes on every server: time zone, float digits and the form of bytea are pinned.
--
-- A page is read by the keys of its rows, whatever the statistics of the tables: those of a store that has just been filled
-- say nothing yet.
--
-- Locks: none.


create or replace function pgmem.export_tenants(p_all_tenants boolean) returns text[]
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if not p_all_tenants then
    return pgmem.visible_tenants();
  elsif not pgmem.is_reviewer() then
    raise exception using errcode = 'PM004',
      message = 'To export all tenants is for people who keep the store: '
        'connect as its owner or a member of pgmem_reviewer.';
  end if;
  return array(select distinct n.tenant from pgmem.node n union select distinct a.tenant from pgmem.save_attempt a);
end;
$$;
comment on function pgmem.export_tenants is
  'The tenants whose rows an export holds: those the caller sees, or all of them for the owner and reviewers.';


create or replace function pgmem.node_record(p_node pgmem.node, p_vectors boolean) returns jsonb
language plpgsql stable set search_path = pgmem, pg_temp set timezone = 'UTC' set extra_float_digits = 1 as $$
declare
  -- An import works these out again.
  v_derived constant text[] :=
    '{seq,place,tenant,scope_key,project_seq,focus_seq,tsv,text_length,session_place,asks,instructs,titled,node_seq,told,turns_at}';  -- words: as is
  v_record  jsonb;
  v_part    jsonb;
  v_step    name;
begin
  p_node.tsv := null;  -- to write it costs more than all the rest
  -- The start is written where it is open too: a record without one is of a release that had none.
  v_record := jsonb_strip_nulls(to_jsonb(p_node) - v_derived - '{props}'::text[])
    || jsonb_build_object('type', 'node', 'props', p_node.props, 'begins_at', p_node.begins_at);
  if p_node.project_seq is not null then
    v_record := v_record
      || jsonb_build_object('project_id', (select n.id from pgmem.node n where n.seq = p_node.project_seq));
  end if;
  if p_node.focus_seq is not null then
    v_record := v_record
      || jsonb_build_object('focus_id', (select n.id from pgmem.node n where n.seq = p_node.focus_seq));
  end if;
  if p_node.version > 1 or p_node.told is not null then
    select jsonb_agg(jsonb_strip_nulls(to_jsonb(v) - v_derived - '{props,label,org_id,user_id}'::text[])
        || jsonb_build_object('props', v.props)
        || case when v.project_seq is distinct from p_node.project_seq and v.project_seq is not null
             then jsonb_build_object('project_id', (select n.id from pgmem.node n where n.seq = v.project_seq))
             else '{}' end
      order by v.version)
    into v_part from pgmem.node_version v where v.node_seq = p_node.seq;
    if v_part is not null then
      v_record := v_record || jsonb_build_object('versions', v_part);
    end if;
  end if;
  select l.exported_by into v_step from pgmem.label l where l.name = p_node.label;
  if v_step is not null then
    execute format('select pgmem.%I($1)', v_step) into v_part using p_node.seq;
    v_record := v_record || v_part;
  end if;
  if p_vectors and pgmem.has_vectors() then
    select jsonb_agg(jsonb_build_object('model', m.name, 'kind', 'self', 'text_hash', e.text_hash,
                                        'vector', to_jsonb(e.vector::real[])) order by m.name)
    into v_part from pgmem.embedding e join pgmem.embedding_model m on m.id = e.model_id where e.node_seq = p_node.seq;
    if v_part is not null then
      v_record := v_record || jsonb_build_object('vectors', v_part);
    end if;
  end if;
  return v_record;
end;
$$;
comment on function pgmem.node_record is
  'A node as one line of an export, with its earlier states, the parts of its label and, on request, its vectors.';


create or replace function pgmem.approval_record(p_node pgmem.node) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select case when p_node.scope = 'global' and exists (
      select from pgmem.governance_token t join pgmem.save_attempt a on a.save_id = t.used_by and a.tenant = t.tenant
      where a.artifact_id = p_node.id or t.used_by = p_node.id)
    then '{"approved": true}'::jsonb else '{}' end;
$$;
comment on function pgmem.approval_record is 'That a global memory was approved, for another store.';


create or replace function pgmem.declined_record(p_node pgmem.node) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select coalesce((
    select jsonb_build_object('declined', jsonb_build_object('by', d.declined_by, 'at', d.declined_at))
    from pgmem.declined_rule d
    where d.node_seq = (p_node).seq and d.text_hash = pgmem.rule_hash((p_node).label, (p_node).title, (p_node).props)), '{}');
$$;
comment on function pgmem.declined_record is
  'That a person left a rule of an agent an ordinary note, for an export; a store in step asks its own person.';


create or replace function pgmem.export_header(
  p_vectors boolean default false,
  p_all_tenants boolean default false
) returns jsonb
language plpgsql stable security definer set search_path = pgmem, pg_temp set timezone = 'UTC' as $$
declare
  v_tenants text[] := pgmem.export_tenants(p_all_tenants);
  v_caller  pgmem.caller := pgmem.caller();
  v_header  jsonb;
  v_more    jsonb;
  v_step    name;
begin
  v_header := jsonb_build_object(
    'type', 'header', 'pgmem_export', 1, 'release', (select v.release from pgmem.schema_version v),
    'build', (select left(v.digest, 8) from pgmem.schema_version v),
    'exported_at', pgmem.now(), 'org_id', v_caller.org_id, 'user_id', v_caller.user_id,
    'all_tenants', p_all_tenants, 'vectors', p_vectors,
    'nodes', (select count(*) from pgmem.node n
              where n.tenant = any (v_tenants) and not pgmem.is_of_store(n.label)),
    'edges', (select count(*) from pgmem.edge e join pgmem.node s on s.seq = e.src join pgmem.node d on d.seq = e.dst
              where s.tenant = any (v_tenants) and d.tenant = any (v_tenants)
                and 'GovernanceToken' not in (s.label, d.label)),
    'saves', (select count(*) from pgmem.save_attempt a where a.tenant = any (v_tenants)));
  for v_step in select * from pgmem.steps('export header') loop
    execute format('select pgmem.%I()', v_step) into v_more;
    v_header := v_header || v_more;
  end loop;
  return v_header;
end;
$$;
comment on function pgmem.export_header is $$
The first line of an export: format, release, tenant, the numbers of records, and the cursor of its moment in the feed.

vectors: Whether the export holds vectors.
all_tenants: Whether it holds the rows of every tenant, instead of those the caller sees.

NotPermitted: all tenants, and the login is neither owner nor reviewer.
$$;
select pgmem.declare_verb('export_header', p_rights => 'reader', p_effect => 'look',
  p_reads_all => 'It counts all memories.');


create or replace function pgmem.row_records(p_part text, p_tenants text[], out number bigint, out line jsonb)
returns setof record
language plpgsql stable set search_path = pgmem, pg_temp set timezone = 'UTC' set extra_float_digits = 1 as $$
declare
  v_rule pgmem.table_rule;
begin
  select t.* into v_rule from pgmem.table_rule t where t.part = p_part;
  if v_rule.exported_by is not null then
    return query execute format('select r.number, r.line from pgmem.%I($1) r', v_rule.exported_by) using p_tenants;
    return;
  end if;
  return query execute format($q$
    select row_number() over (order by %s),
           (select jsonb_object_agg(f.key, f.value) from jsonb_each(to_jsonb(r) - '{tenant,project_seq}'::text[]) f
            where f.value <> 'null') || jsonb_build_object('type', $2, 'project_id', p.id)
    from pgmem.%I r join pgmem.node p on p.seq = r.project_seq
    where r.tenant = any ($1) and p.tenant = any ($1)$q$,
    (select string_agg(format('r.%I', c), ', ') from unnest(v_rule.ordered_by) c), v_rule.name) using p_tenants, p_part;
end;
$$;
comment on function pgmem.row_records is
  'The records of a part of an export that is rows of a declared table, each with its number in their order.';


select pgmem.declare_answer('exported_record', $$
A record of an export, and the place after which the next page begins.

place text[], record text
$$);

create or replace function pgmem.export_records(
  p_part text,
  p_after text[] default null,
  p_limit integer default 500,
  p_vectors boolean default false,
  p_all_tenants boolean default false
) returns setof pgmem.exported_record
language plpgsql stable security definer set search_path = pgmem, pg_temp set timezone = 'UTC'
set extra_float_digits = 1 set bytea_output = 'hex' set enable_seqscan = off as $$
declare
  v_tenants text[] := pgmem.export_tenants(p_all_tenants);
  v_reader  pgmem.caller := pgmem.caller();
  v_seq     bigint := case when p_part not in ('save', 'purge') then coalesce(p_after[1], '0')::bigint end;
begin
  case p_part
  when 'vocabulary' then
    return query
    select array[v.number::text], v.line::text from (
      select row_number() over (order by w.is_relation, w.line ->> 'name') as number, w.line from (
        select false as is_relation,
               jsonb_strip_nulls(to_jsonb(l) - '{vocabulary}'::text[]) || '{"type": "label"}' as line
        from pgmem.label l where l.vocabulary = 'own'
        union all
        select true, jsonb_strip_nulls(to_jsonb(r) - '{vocabulary}'::text[]) || '{"type": "relation"}'
        from pgmem.relation r where r.vocabulary = 'own'
        union all
        select true, jsonb_build_object('type', 'model', 'name', m.name, 'dimensions', m.dimensions)
        from pgmem.embedding_model m where p_vectors) w) v
    where v.number > v_seq order by v.number limit p_limit;
  when 'project', 'focus', 'node', 'memory' then
    return query
    select array[n.seq::text], (pgmem.node_record(n, p_vectors)
      || case p_part when 'memory' then pgmem.approval_record(n) when 'node' then pgmem.declined_record(n) else '{}' end)::text
    from pgmem.node n
    where n.seq > v_seq and n.tenant = any (v_tenants)
      and case p_part when 'project' then n.label = 'Project' when 'focus' then n.label = 'FocusArea'
            else pgmem.is_memory(n.label) end
    order by n.seq limit p_limit;
  when 'edge' then
    return query
    select array[e.seq::text],
           jsonb_build_object('type', 'edge', 'src', s.id, 'rel', e.rel, 'dst', d.id, 'props', e.props,
                              'created_at', e.created_at)::text
    from pgmem.edge e
    cross join lateral (select n.id, n.label, n.tenant from pgmem.node n where n.seq = e.src offset 0) s
    cross join lateral (select n.id, n.label, n.tenant from pgmem.node n where n.seq = e.dst offset 0) d
    where e.seq > v_seq and s.tenant = any (v_tenants) and d.tenant = any (v_tenants)
      and 'GovernanceToken' not in (s.label, d.label)
    order by e.seq limit p_limit;
  when 'purge' then
    return query
    select array[t.id::text], (jsonb_strip_nulls(to_jsonb(t) - 'tenant') || '{"type": "purge"}')::text
    from pgmem.tombstone t
    where t.tenant = any (v_tenants) and (p_after is null or t.id > p_after[1]::uuid)
    order by t.id limit p_limit;
  when 'save' then
    return query
    select array[a.tenant, a.save_id::text], (jsonb_strip_nulls(to_jsonb(a) - '{tenant,arguments,batch}'::text[])
      || jsonb_build_object('type', 'save', 'arguments', a.arguments, 'batch', a.batch))::text
    from (select s as attempt from pgmem.save_attempt s
          where s.tenant = any (v_tenants) and (p_after is null or (s.tenant, s.save_id) > (p_after[1], p_after[2]::uuid))
          order by s.tenant, s.save_id limit p_limit) page
    cross join lateral pgmem.held_texts(page.attempt, v_reader) a
    order by a.tenant, a.save_id;
  else
    if not exists (select from pgmem.table_rule t where t.part = p_part) then
      raise exception using errcode = 'PM001',
        message = format('Unknown part %s of an export. Known: vocabulary, project, focus, node, edge, %ssave, purge.',
                         quote_literal(p_part),
                         (select string_agg(t.part || ', ', '' order by t.place) from pgmem.table_rule t));
    end if;
    return query
    select array[r.number::text], r.line::text from pgmem.row_records(p_part, v_tenants) r
    where r.number > v_seq order by r.number limit p_limit;
  end case;
end;
$$;
comment on function pgmem.export_records is $$
A page of one part of an export: each record as JSON text, with its place.

part: vocabulary, project, focus, node, edge, run, files, intent or save; memory
  and purge (nodes with their approvals, and tombstones) are for stores in step.
after: The place of the last record of the page before; unset: from the beginning.
limit: How many records at most.
vectors: Whether nodes bring their vectors, and the vocabulary its models.
all_tenants: The rows of every tenant, instead of those the caller sees.

InvalidArgument: no such part exists.
NotPermitted: all tenants, and the login is neither owner nor reviewer.
$$;
select pgmem.declare_verb('export_records', p_rights => 'reader', p_effect => 'look');
