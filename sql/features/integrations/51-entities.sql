-- Entities with observations
--
-- The nine verbs of the reference memory server of MCP, with its answers, over the nodes that remember writes: an
-- entity is a node of the label that its type names (Person for person), else a Concept with the property
-- entity_type; its observations are the property notes. So each of the two reads the texts of the other, and an import
-- of the server's file (importers/mcp_memory) reads as if it had been written here. They are the nodes of the caller
-- without project.
--
-- A relation of a type that the registry knows by that very name is an edge of it. Any other is RELATED_TO, with its
-- types in the properties of the edge. An end that is not an entity becomes a stub, which is not an entity until it is made
-- one.
--
-- Locks: the scopes of all labels of entities that are written, sorted and with that of Concept, before the reads that
-- they guard; then the rows.


create or replace function pgmem.entity_label(p_type text) returns text
language sql stable set search_path = pgmem, pg_temp as $$
  select coalesce((
    select l.name from pgmem.label l
    where l.verb is null and l.key_field is not null and lower(l.name) = lower(btrim(p_type))
    order by l.name limit 1), 'Concept');
$$;
comment on function pgmem.entity_label is 'The label of an entity of a type: the one of that name, else Concept.';


create or replace function pgmem.is_entity(p_node pgmem.node, p_tenant text, p_statuses text[]) returns boolean
language sql stable
begin atomic
  select p_node.tenant = p_tenant and p_node.project_seq is null and p_node.key is not null and p_node.status = any (p_statuses)
    and (p_node.valid_from is null or p_node.valid_from <= pgmem.now()) and (p_node.valid_to is null or p_node.valid_to >= pgmem.now())
    and exists (select from pgmem.label l where l.name = p_node.label and l.verb is null and l.key_field is not null);
end;
comment on function pgmem.is_entity is 'Whether a node is an entity of a tenant, of some statuses: active, stub.';


-- Reads node itself, by the caller's own tenant.
create or replace function pgmem.entity_nodes(p_tenant text, p_statuses text[]) returns setof pgmem.node
language sql stable set search_path = pgmem, pg_temp as $$
  select n.* from pgmem.label l
  join pgmem.node n on n.label = l.name and n.tenant = p_tenant and n.project_seq is null
  where pgmem.is_entity(n, p_tenant, p_statuses);
$$;
comment on function pgmem.entity_nodes is 'The nodes of a tenant that are entities, of some statuses.';


create or replace function pgmem.named_entities(p_tenant text, p_names text[], p_statuses text[]) returns setof pgmem.node
language sql stable set search_path = pgmem, pg_temp as $$
  select n.* from (select distinct u.name from unnest(p_names) as u(name)) w
  cross join lateral (
    select * from pgmem.node n
    where pgmem.name_hash(coalesce(n.key, n.title)) = pgmem.name_hash(w.name) and n.key = w.name
      and pgmem.is_entity(n, p_tenant, p_statuses)
    offset 0) n;
$$;
comment on function pgmem.named_entities is 'The entities of a tenant that have one of some names.';


create or replace function pgmem.named_entity(p_tenant text, p_name text, p_statuses text[]) returns pgmem.node
language sql stable set search_path = pgmem, pg_temp as $$
  select row(n.*)::pgmem.node from pgmem.named_entities(p_tenant, array[p_name], p_statuses) n
  order by n.status, n.seq limit 1;
$$;
comment on function pgmem.named_entity is
  'The entity of a tenant that has a name, an active one before a stub; null where there is none.';


create or replace function pgmem.observations(p_props jsonb) returns jsonb
language sql immutable parallel safe
begin atomic
  select case jsonb_typeof(p_props -> 'notes') when 'array' then p_props -> 'notes'
    when 'string' then jsonb_build_array(p_props -> 'notes') else '[]' end;
end;
comment on function pgmem.observations is 'The observations of an entity: its notes, as a list.';


create or replace function pgmem.lock_entities(p_tenant text, p_labels text[]) returns void
language sql set search_path = pgmem, pg_temp as $$
  select pgmem.lock_scopes(array(
    select pgmem.scope_key(p_tenant, null, l.name)
    from unnest(array_remove(p_labels, null) || '{Concept}'::text[]) as l(name)));
$$;
comment on function pgmem.lock_entities is
  'Lock the scopes of labels of entities; Concept always, so that writers take turns.';


create or replace function pgmem.entity_text(p_entity jsonb, p_field text) returns text
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if jsonb_typeof(p_entity -> p_field) is distinct from 'string' or btrim(p_entity ->> p_field) = '' then
    raise exception using errcode = 'PM001', message = format('%s must be a text that is not empty.', p_field);
  end if;
  return pgmem.clean_key(p_entity ->> p_field, p_field);
end;
$$;
comment on function pgmem.entity_text is
  'A name or type from an entity or relation that was sent; an error where it is missing.';


create or replace function pgmem.write_entity(
  p_caller pgmem.caller,
  p_node pgmem.node,
  p_name text,
  p_type text,
  p_notes jsonb,
  p_status text default 'active'
) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_name  text := coalesce(p_node.label, pgmem.entity_label(p_type));
  v_field text := (select l.key_field from pgmem.label l where l.name = v_name);
  v_place pgmem.node := pgmem.item_place(v_name, null, p_caller);
  v_node  pgmem.node := p_node;
begin
  perform pgmem.require_no_steering(jsonb_build_array(p_name, p_type, p_notes), p_caller);
  if v_node.seq is null then
    v_node := pgmem.stored_item(v_place, p_name);  -- a forgotten one is brought back, with its history
  end if;
  if v_node.seq is null then
    v_node := v_place;
    v_node.key := p_name;
    v_node.title := p_name;
  else
    perform pgmem.require_item_rank(v_node, p_caller);
    if v_node.status = 'active' and v_node.props - v_field - 'notes' <> '{}'
        or p_notes @> pgmem.observations(v_node.props) then
      v_node.trust_level := least(v_node.trust_level, p_caller.trust_level);
    else
      v_node.trust_level := p_caller.trust_level;
    end if;
    v_node.source := p_caller.source;
    v_node.agent_id := p_caller.agent_id;
    v_node.session_id := p_caller.session_id;
  end if;
  v_node.props := jsonb_strip_nulls((case when v_node.status = 'active' then v_node.props else '{}' end)
    || jsonb_build_object(v_field, p_name, 'notes', nullif(p_notes, '[]'),
         'entity_type', case when p_type <> v_name then p_type end));
  v_node.status := p_status;
  v_node.valid_to := null;
  v_node := case when v_node.seq is null then pgmem.insert_node(v_node) else pgmem.update_node(v_node) end;
  perform pgmem.store_embedding(v_node);
  if p_caller.session_id is not null then
    perform pgmem.link_session(p_caller, v_node.id);
  end if;
  return v_node;
end;
$$;
comment on function pgmem.write_entity is
  'Store an entity, or the new observations of one (p_node). The caller holds the scope locks.';


select pgmem.declare_answer('known_entities', $$
Entities of the knowledge graph: objects of name, entityType and observations.

entities object[]
$$);

create or replace function pgmem.create_entities(p_entities pgmem.objects) returns pgmem.known_entities
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.known_entities;
  v_caller pgmem.caller := pgmem.require_writer();
  v_entity jsonb;
  v_name   text;
  v_notes  jsonb;
begin
  perform pgmem.require_objects(p_entities, 'entities', '[{"name": "…", "entityType": "…", "observations": ["…"]}]');
  v_answer.entities := '[]';
  perform pgmem.require_length(p_entities);
  perform pgmem.lock_entities(v_caller.tenant,
    array(select pgmem.entity_label(e.value ->> 'entityType') from jsonb_array_elements(p_entities) e));
  for v_entity in select e.value from jsonb_array_elements(p_entities) with ordinality as e(value, place) order by place
  loop
    v_name := pgmem.entity_text(v_entity, 'name');
    continue when (pgmem.named_entity(v_caller.tenant, v_name, '{active}')).seq is not null;
    v_notes := pgmem.clean_texts(v_entity -> 'observations', 'observations');
    perform pgmem.write_entity(v_caller, pgmem.named_entity(v_caller.tenant, v_name, '{stub}'), v_name,
      pgmem.entity_text(v_entity, 'entityType'), v_notes);
    v_answer.entities := v_answer.entities || jsonb_build_object(
      'name', v_name, 'entityType', btrim(v_entity ->> 'entityType'),
      'observations', v_notes);
  end loop;
  return v_answer;
end;
$$;
comment on function pgmem.create_entities is $$
Make entities with observations; answers with the new ones.

An entity whose name is taken stays as it is.

entities: A list of {"name": …, "entityType": …, "observations": ["…"]}.

InvalidArgument: a name or type is missing or too long.
NotPermitted: a name belonged to an entity of a more trusted source.
$$;
select pgmem.declare_verb('create_entities', p_rights => 'writer', p_effect => 'repeat', p_answer => 'KnownEntities');


create or replace function pgmem.entity_relations(p_tenant text, p_seqs bigint[] default null) returns table (
  edge_seq bigint,
  src bigint,
  dst bigint,
  from_name text,
  to_name text,
  relation_type text
)
language sql stable set search_path = pgmem, pg_temp as $$
  select e.seq, e.src, e.dst, s.key::text, d.key::text, kind.type
  from (
    select e.seq, e.src, e.dst, e.rel, e.props from pgmem.entity_nodes(p_tenant, '{active,stub}') n
    join pgmem.edge e on e.src = n.seq where p_seqs is null
    union select e.seq, e.src, e.dst, e.rel, e.props from pgmem.edge e where e.src = any (p_seqs)
    union select e.seq, e.src, e.dst, e.rel, e.props from pgmem.edge e where e.dst = any (p_seqs)) e
  join pgmem.node s on s.seq = e.src and pgmem.is_entity(s, p_tenant, '{active,stub}')
  join pgmem.node d on d.seq = e.dst and pgmem.is_entity(d, p_tenant, '{active,stub}')
  join pgmem.relation r on r.name = e.rel and not r.by_verb
  cross join lateral (
    select t.value as type, t.place
    from jsonb_array_elements_text(e.props -> 'types') with ordinality as t(value, place)
    where e.rel = 'RELATED_TO'
    union all select e.rel, 0 where e.rel <> 'RELATED_TO' or not e.props ? 'types') kind
  order by e.seq, kind.place;
$$;
comment on function pgmem.entity_relations is
  'The relations between entities of a tenant, by their types as they were sent; all, or those of some entities.';


select pgmem.declare_answer('known_relations', $$
Relations of the knowledge graph: objects of from, to and relationType.

relations object[]
$$);

create or replace function pgmem.create_relations(p_relations pgmem.objects) returns pgmem.known_relations
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer   pgmem.known_relations;
  v_caller   pgmem.caller := pgmem.require_writer();
  v_relation jsonb;
  v_ends     pgmem.node[];
  v_type     text;
  v_rel      text;
  v_props    jsonb;
  v_types    jsonb;
begin
  perform pgmem.require_objects(p_relations, 'relations', '[{"from": "…", "to": "…", "relationType": "…"}]');
  v_answer.relations := '[]';
  perform pgmem.lock_entities(v_caller.tenant, '{}');
  for v_relation in select e.value from jsonb_array_elements(p_relations) with ordinality as e(value, place)
                    order by place loop
    v_type := pgmem.entity_text(v_relation, 'relationType');
    v_ends := array[pgmem.entity_or_stub(v_caller, pgmem.entity_text(v_relation, 'from')),
                    pgmem.entity_or_stub(v_caller, pgmem.entity_text(v_relation, 'to'))];
    if v_ends[1].seq = v_ends[2].seq then
      raise exception using errcode = 'PM011',
        message = format('%s cannot be related to itself; add it as an observation.', v_relation ->> 'from');
    end if;
    v_rel := coalesce((select r.name from pgmem.relation r where r.name = v_type and not r.by_verb and not r.undirected
                         and coalesce(v_ends[1].label = any (r.from_labels), true)
                         and coalesce(v_ends[2].label = any (r.to_labels), true)), 'RELATED_TO');
    v_props := (select e.props from pgmem.edge e
                where e.src = v_ends[1].seq and e.rel = v_rel and e.dst = v_ends[2].seq);
    v_types := case when v_props is not null then coalesce(v_props -> 'types', jsonb_build_array(v_rel)) else '[]' end;
    continue when v_types ? v_type;
    delete from pgmem.edge e where e.src = v_ends[1].seq and e.rel = v_rel and e.dst = v_ends[2].seq;
    perform pgmem.insert_edge(v_ends[1].seq, v_rel, v_ends[2].seq, case when v_types = '[]' and v_type = v_rel then '{}'
      else jsonb_build_object('types', v_types || to_jsonb(v_type)) end);
    v_answer.relations := v_answer.relations || jsonb_build_object(
      'from', v_ends[1].key, 'to', v_ends[2].key, 'relationType', v_type);
  end loop;
  return v_answer;
end;
$$;
comment on function pgmem.create_relations is $$
Relate entities by their names; answers with the relations that are new.

A name without an entity becomes a stub.

relations: A list of {"from": …, "to": …, "relationType": …}.

InvalidArgument: a name or type is missing or too long.
RelationNotAllowed: an entity is to be related to itself.
$$;
select pgmem.declare_verb('create_relations', p_rights => 'writer', p_effect => 'repeat', p_answer => 'KnownRelations');


create or replace function pgmem.entity_or_stub(p_caller pgmem.caller, p_name text) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node := pgmem.named_entity(p_caller.tenant, p_name, '{active,stub}');
begin
  if v_node.seq is null then
    v_node := pgmem.write_entity(p_caller, null, p_name, 'Concept', '[]', 'stub');
  end if;
  return v_node;
end;
$$;
comment on function pgmem.entity_or_stub is 'The entity of a name; a stub is made where there is none.';


select pgmem.declare_answer('added_observations', $$
The observations that are new, by entity: objects of entityName and addedObservations.

results object[]
$$);

create or replace function pgmem.add_observations(p_observations pgmem.objects) returns pgmem.added_observations
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.added_observations;
  v_caller pgmem.caller := pgmem.require_writer();
  v_item   jsonb;
  v_node   pgmem.node;
  v_new    jsonb;
begin
  perform pgmem.require_objects(p_observations, 'observations', '[{"entityName": "…", "contents": ["…"]}]');
  v_answer.results := '[]';
  perform pgmem.require_length(p_observations);
  perform pgmem.lock_entities(v_caller.tenant, array(
    select (pgmem.named_entity(v_caller.tenant, btrim(o.value ->> 'entityName'), '{active}')).label
    from jsonb_array_elements(p_observations) o));
  for v_item in select o.value from jsonb_array_elements(p_observations) with ordinality as o(value, place)
                order by place loop
    v_node := pgmem.named_entity(v_caller.tenant, pgmem.entity_text(v_item, 'entityName'), '{active}');
    if v_node.seq is null then
      raise exception using errcode = 'PM002',
        message = format('Entity with name %s not found', v_item ->> 'entityName');
    end if;
    v_new := (select coalesce(jsonb_agg(c.value order by c.place), '[]')
              from jsonb_array_elements(pgmem.clean_texts(v_item -> 'contents', 'contents'))
                with ordinality as c(value, place)
              where not pgmem.observations(v_node.props) @> c.value);
    if v_new <> '[]' then
      v_node := pgmem.write_entity(v_caller, v_node, v_node.key, v_node.props ->> 'entity_type',
        pgmem.observations(v_node.props) || v_new);
    end if;
    v_answer.results := v_answer.results || jsonb_build_object('entityName', v_node.key, 'addedObservations', v_new);
  end loop;
  return v_answer;
end;
$$;
comment on function pgmem.add_observations is $$
Add observations to entities; answers with the new ones.

Those that an entity has already are left out.

observations: A list of {"entityName": …, "contents": ["…"]}.

MemoryNotFound: no entity has the name; nothing is added then.
InvalidArgument: a name is missing, or a text is too long.
NotPermitted: the entity was written by a more trusted source.
$$;
select pgmem.declare_verb('add_observations', p_rights => 'writer', p_effect => 'repeat',
  p_answer => 'AddedObservations');


create or replace function pgmem.delete_entities(p_entity_names text[], out deleted integer)
language plpgsql security definer set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_labels text[] := array(
    select distinct n.label from pgmem.named_entities(v_caller.tenant, p_entity_names, '{active,stub}') n);
  v_seqs   bigint[];
begin
  perform pgmem.lock_entities(v_caller.tenant, v_labels);
  v_seqs := array(select n.seq from pgmem.named_entities(v_caller.tenant, p_entity_names, '{active,stub}') n order by n.seq);
  deleted := pgmem.hide_items(v_seqs, v_caller);
  delete from pgmem.edge e where (e.src = any (v_seqs) or e.dst = any (v_seqs))
    and exists (select from pgmem.relation r where r.name = e.rel and not r.by_verb);
end;
$$;
comment on function pgmem.delete_entities is $$
Forget entities and delete their relations; how many.

revert brings an entity back, without its relations.

entity_names: Their names; a name without an entity is left out.

NotPermitted: an entity was written by a more trusted source.
$$;
select pgmem.declare_verb('delete_entities', p_rights => 'writer', p_effect => 'remove', p_answer => 'int');


create or replace function pgmem.delete_observations(p_deletions pgmem.objects, out deleted integer)
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_item   jsonb;
  v_node   pgmem.node;
  v_kept   jsonb;
begin
  perform pgmem.require_objects(p_deletions, 'deletions', '[{"entityName": "…", "observations": ["…"]}]');
  deleted := 0;
  perform pgmem.lock_entities(v_caller.tenant, array(
    select (pgmem.named_entity(v_caller.tenant, btrim(d.value ->> 'entityName'), '{active}')).label
    from jsonb_array_elements(p_deletions) d));
  for v_item in select value from jsonb_array_elements(p_deletions) loop
    v_node := pgmem.named_entity(v_caller.tenant, pgmem.entity_text(v_item, 'entityName'), '{active}');
    continue when v_node.seq is null;
    v_kept := (select coalesce(jsonb_agg(o.value order by o.place), '[]')
               from jsonb_array_elements(pgmem.observations(v_node.props)) with ordinality as o(value, place)
               where not coalesce(v_item -> 'observations', '[]') @> o.value);
    if v_kept <> pgmem.observations(v_node.props) then
      deleted := deleted + jsonb_array_length(pgmem.observations(v_node.props)) - jsonb_array_length(v_kept);
      perform pgmem.write_entity(v_caller, v_node, v_node.key, v_node.props ->> 'entity_type', v_kept);
    end if;
  end loop;
end;
$$;
comment on function pgmem.delete_observations is $$
Delete observations of entities; how many. The entity before it becomes a version.

deletions: A list of {"entityName": …, "observations": ["…"]}; pairs that do not exist are left out.

NotPermitted: an entity was written by a more trusted source.
$$;
select pgmem.declare_verb('delete_observations', p_rights => 'writer', p_effect => 'remove', p_answer => 'int');


create or replace function pgmem.delete_relations(p_relations pgmem.objects, out deleted integer)
language plpgsql security definer set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_caller   pgmem.caller := pgmem.require_writer();
  v_relation record;
  v_edge     pgmem.edge;
begin
  perform pgmem.require_objects(p_relations, 'relations', '[{"from": "…", "to": "…", "relationType": "…"}]');
  deleted := 0;
  perform pgmem.lock_entities(v_caller.tenant, '{}');
  for v_relation in
    select k.* from jsonb_array_elements(p_relations) d
    join pgmem.entity_relations(v_caller.tenant, array(
      select n.seq from pgmem.named_entities(v_caller.tenant, array(select r.value ->> 'from' from jsonb_array_elements(p_relations) r),
        '{active,stub}') n)) k on k.from_name = d.value ->> 'from' and k.to_name = d.value ->> 'to'
      and k.relation_type = d.value ->> 'relationType'
  loop
    -- A relation is as trusted as the less trusted of its ends: it does not say who made it.
    perform pgmem.require_item_rank(n, v_caller) from pgmem.node n
    where n.seq = (select o.seq from pgmem.node o where o.seq in (v_relation.src, v_relation.dst)
                   order by o.trust_level, o.seq limit 1);
    delete from pgmem.edge e where e.src = v_relation.src and e.dst = v_relation.dst
      and e.rel in (v_relation.relation_type, 'RELATED_TO')
      and (e.rel = v_relation.relation_type and not e.props ? 'types' or e.props -> 'types' ? v_relation.relation_type)
    returning * into v_edge;
    continue when v_edge.seq is null;
    deleted := deleted + 1;
    if jsonb_array_length(v_edge.props -> 'types') > 1 then
      perform pgmem.insert_edge(v_edge.src, v_edge.rel, v_edge.dst,
        v_edge.props || jsonb_build_object('types', (v_edge.props -> 'types') - v_relation.relation_type));
    end if;
  end loop;
end;
$$;
comment on function pgmem.delete_relations is $$
Delete relations between entities; how many.

relations: A list of {"from": …, "to": …, "relationType": …}; relations that do not exist are left out.

NotPermitted: both entities of a relation were written by a more trusted source.
$$;
select pgmem.declare_verb('delete_relations', p_rights => 'writer', p_effect => 'remove', p_answer => 'int');


select pgmem.declare_answer('known_graph', $$
Entities of the knowledge graph and their relations.

like known_entities
relations object[]
$$);

create or replace function pgmem.known_graph(p_tenant text, p_seqs bigint[]) returns pgmem.known_graph
language sql stable set search_path = pgmem, pg_temp as $$
  select
    (select coalesce(jsonb_agg(jsonb_build_object('name', n.key,
              'entityType', coalesce(n.props ->> 'entity_type', n.label),
              'observations', pgmem.observations(n.props)) order by n.seq), '[]')
     from pgmem.node n where n.seq = any (p_seqs)),
    (select coalesce(jsonb_agg(jsonb_build_object('from', r.from_name, 'to', r.to_name,
              'relationType', r.relation_type)), '[]')
     from pgmem.entity_relations(p_tenant, p_seqs) r);
$$;
comment on function pgmem.known_graph is 'Entities, and the relations that begin or end at one of them.';


create or replace function pgmem.read_graph() returns pgmem.known_graph
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_tenant text := (pgmem.caller()).tenant;
  v_answer pgmem.known_graph :=
    pgmem.known_graph(v_tenant, array(select n.seq from pgmem.entity_nodes(v_tenant, '{active}') n));
begin
  -- A relation between two names without entities is read too.
  v_answer.relations := (select coalesce(jsonb_agg(jsonb_build_object('from', r.from_name, 'to', r.to_name,
                  'relationType', r.relation_type)), '[]') from pgmem.entity_relations(v_tenant) r);
  return v_answer;
end;
$$;
comment on function pgmem.read_graph is $$
Read all entities of the caller with their observations, and the relations between them.
$$;
select pgmem.declare_verb('read_graph', p_rights => 'reader', p_effect => 'look', p_answer => 'KnownGraph',
  p_reads_all => 'It returns all entities.');


create or replace function pgmem.search_nodes(p_query text) returns pgmem.known_graph
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_tenant text := (pgmem.caller()).tenant;
  v_query  text := lower(coalesce(p_query, ''));
begin
  return pgmem.known_graph(v_tenant, array(
    select n.seq from pgmem.entity_nodes(v_tenant, '{active}') n
    where strpos(lower(n.key), v_query) > 0
      or strpos(lower(coalesce(n.props ->> 'entity_type', n.label)), v_query) > 0
      or exists (select from jsonb_array_elements_text(pgmem.observations(n.props)) as o(text)
                 where strpos(lower(o.text), v_query) > 0)));
end;
$$;
comment on function pgmem.search_nodes is $$
Read the entities that hold a text in their name, type or observations, with their relations.

query: The text, in any case; search_memory finds by words and meaning.
$$;
select pgmem.declare_verb('search_nodes', p_rights => 'reader', p_effect => 'look', p_answer => 'KnownGraph',
  p_reads_all => 'It looks for a text in all entities.');


create or replace function pgmem.open_nodes(p_names text[]) returns pgmem.known_graph
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_tenant text := (pgmem.caller()).tenant;
begin
  return pgmem.known_graph(v_tenant, array(
    select n.seq from pgmem.named_entities(v_tenant, p_names, '{active}') n));
end;
$$;
comment on function pgmem.open_nodes is $$
Read the entities of some names, with their relations.

names: The names; one without an entity is left out.
$$;
select pgmem.declare_verb('open_nodes', p_rights => 'reader', p_effect => 'look', p_answer => 'KnownGraph');
