-- Edges
--
-- An edge is a row of edge, made by insert_edge alone. BELONGS_TO and HAS_FOCUS are columns of node instead. The
-- registry says which labels a relation joins, and which relations only verbs make (SUPERSEDES, PRODUCED); join_nodes
-- asks it.
--
-- remember and upsert_entity name the targets of their relations (link_named). A name is resolved in the project of
-- the node first. A name that no node has becomes a stub, a node that is not live until it is written; a name that
-- fits several nodes makes no edge, and the answer lists them (did_you_mean).
--
-- Locks: none; a unique index keeps one edge for (src, rel, dst). The caller of link_named holds the scope
-- lock of its node.


create or replace function pgmem.insert_edge(
  p_src bigint,
  p_rel text,
  p_dst bigint,
  p_props jsonb default '{}',
  p_created_at timestamptz default null
) returns boolean
language plpgsql as $$
begin
  insert into pgmem.edge (src, rel, dst, props, created_at)
  values (p_src, p_rel, p_dst, p_props, coalesce(p_created_at, pgmem.now()))
  on conflict (src, rel, dst) do nothing;
  return found;
end;
$$;
comment on function pgmem.insert_edge is 'Join two nodes; true when the edge is new.';


create or replace function pgmem.join_nodes(p_from pgmem.node, p_rel text, p_to pgmem.node, out edge_is_new boolean)
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_relation pgmem.relation := pgmem.require_relation(p_rel);
begin
  if v_relation.by_verb then
    raise exception using errcode = 'PM011', message = format(
      '%s is made by the verbs alone, not by relate. %s', p_rel, pgmem.known_relations());
  end if;
  if not coalesce(p_from.label = any (v_relation.from_labels), true)
      or not coalesce(p_to.label = any (v_relation.to_labels), true) then
    raise exception using errcode = 'PM011', message = format('%s joins %s with %s, not %s with %s.', p_rel,
      coalesce(array_to_string(v_relation.from_labels, ' or '), 'any label'),
      coalesce(array_to_string(v_relation.to_labels, ' or '), 'any label'), p_from.label, p_to.label);
  end if;
  -- Neither an export nor an exchange has the nodes that the store makes itself, so an edge to it would stay behind.
  if pgmem.is_of_store(p_from.label) or pgmem.is_of_store(p_to.label) then
    raise exception using errcode = 'PM011', message = format(
      'A %s is of the store itself; join memories, projects or focus areas.',
      case when pgmem.is_of_store(p_from.label) then p_from.label else p_to.label end);
  end if;
  if p_from.seq = p_to.seq then
    raise exception using errcode = 'PM011',
      message = 'A memory cannot be joined with itself; send two different ones.';
  end if;
  -- An undirected relation is stored once, from the older to the newer node.
  if v_relation.undirected and p_from.seq > p_to.seq then
    edge_is_new := pgmem.insert_edge(p_to.seq, p_rel, p_from.seq);
  else
    edge_is_new := pgmem.insert_edge(p_from.seq, p_rel, p_to.seq);
  end if;
end;
$$;
comment on function pgmem.join_nodes is 'Make an edge that the registry allows between two nodes; true when it is new.';


create or replace function pgmem.named_relations(p_relations jsonb) returns table (
  rel text,
  name text,
  label text,
  stub_label text,
  place bigint
)
language plpgsql stable set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_list jsonb;
  v_item jsonb;
begin
  place := 0;
  if p_relations is null or jsonb_typeof(p_relations) = 'null' then
    return;
  elsif jsonb_typeof(p_relations) <> 'object' then
    raise exception using errcode = 'PM001', message = 'relations must be an object; send {"USES": ["PostgreSQL"]}.';
  end if;
  perform pgmem.require_count((
    select sum(case jsonb_typeof(r.value) when 'array' then jsonb_array_length(r.value) else 1 end)
    from jsonb_each(p_relations) r)::bigint, 'relations', 'max_relations_limit');
  for rel, v_list in select r.key, r.value from jsonb_each(p_relations) r order by r.key loop
    if jsonb_typeof(v_list) <> 'array' then
      v_list := jsonb_build_array(v_list);
    end if;
    for v_item in select value from jsonb_array_elements(v_list) loop
      if jsonb_typeof(v_item) = 'string' then
        v_item := jsonb_build_object('name', v_item);
      end if;
      name := pgmem.clean_key(coalesce(v_item ->> 'name', v_item ->> 'title'), 'a relation''s target');
      if name is null then
        raise exception using errcode = 'PM001', message = format('%1$s needs names; send {"%1$s": ["PostgreSQL"]} '
          'or {"%1$s": [{"name": "PostgreSQL", "label": "Technology"}]}.', left(rel, 80));
      end if;
      label := v_item ->> 'label';
      if label is not null then
        label := (pgmem.require_label(label)).name;
      end if;
      stub_label := coalesce(label,
        (select r.to_labels[1] from pgmem.relation r where r.name = rel and cardinality(r.to_labels) = 1), 'Concept');
      place := place + 1;
      return next;
    end loop;
  end loop;
end;
$$;
comment on function pgmem.named_relations is $$
The targets of {REL: [name | {name, label}]}, the relations of remember, one row each.

stub_label is the label of a missing target: the given one, the only one that the relation joins, or Concept.
$$;


create or replace function pgmem.lock_targets(p_node pgmem.node, p_relations jsonb) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  perform pgmem.lock_scopes(p_node.scope_key || array(
    select pgmem.scope_key(p_node.tenant, p_node.place, r.stub_label) from pgmem.named_relations(p_relations) r));
end;
$$;
comment on function pgmem.lock_targets is 'Lock the scopes of a node and of the stubs that its relations may need.';


-- A plan is made while the tables are small, and one call may add a thousand rows: no plan may read a whole table.
create or replace function pgmem.link_named(
  p_node pgmem.node,
  p_relations jsonb,
  p_caller pgmem.caller,
  out relations_made jsonb,
  out stubs_made jsonb,
  out did_you_mean jsonb,
  out near_names jsonb
)
language plpgsql set search_path = pgmem, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_wanted record;
  v_found  pgmem.node[];
  v_target pgmem.node;
  v_label  pgmem.label;
  v_new    boolean;
  -- Arrays: an element is appended to one in place, and a jsonb is copied for each.
  v_made   jsonb[] := '{}';
  v_stubs  jsonb[] := '{}';
  v_meant  jsonb[] := '{}';
begin
  near_names := '[]';
  for v_wanted in select * from pgmem.named_relations(p_relations) order by place loop
    -- Before the target is looked up: an unknown relation is the same error whether the target exists or not.
    perform pgmem.require_relation(v_wanted.rel);
    v_found := pgmem.resolve_target(v_wanted.name, v_wanted.label, p_node.project_seq);
    v_found := coalesce((select array_agg(n) from unnest(v_found) n where n.seq <> p_node.seq), '{}');
    if cardinality(v_found) > 1 then
      v_meant := v_meant || jsonb_build_object('relation', v_wanted.rel, 'name', v_wanted.name, 'candidates',
        (select jsonb_agg(jsonb_build_object('id', n.id, 'label', n.label, 'name', coalesce(n.key, n.title),
                                             'project', n.project, 'by', pgmem.said_by(n.source, n.trust_level))
                          order by n.seq) from unnest(v_found) n));
      continue;
    end if;
    v_target := v_found[1];
    if v_target.seq is null then
      select * into v_label from pgmem.label l where l.name = v_wanted.stub_label;
      -- Naming a node neither makes one of a label that a verb writes nor brings a forgotten one back.
      if v_label.verb is not null or v_label.key_field is null
          or exists (select from (
                       select * from pgmem.node
                       where pgmem.name_hash(coalesce(key, title)) = pgmem.name_hash(v_wanted.name) offset 0) n
                     where n.scope_key = pgmem.scope_key(p_node.tenant, p_node.place, v_label.name)
                       and n.tenant || '' = p_node.tenant
                       and pgmem.folded(n.key) = pgmem.folded(v_wanted.name)) then
        v_meant := v_meant
          || jsonb_build_object('relation', v_wanted.rel, 'name', v_wanted.name, 'candidates', '[]'::jsonb);
        continue;
      end if;
      v_target := pgmem.insert_stub(p_node, v_label, v_wanted.name, p_caller);
      near_names := near_names || pgmem.near_names(v_target, p_caller);
      v_stubs := v_stubs || jsonb_build_object('id', v_target.id, 'label', v_target.label, 'name', v_target.key);
    end if;
    v_new := pgmem.join_nodes(p_node, v_wanted.rel, v_target);
    v_made := v_made || jsonb_build_object('relation', v_wanted.rel, 'id', v_target.id,
      'label', v_target.label, 'name', coalesce(v_target.key, v_target.title), 'created', v_new);
  end loop;
  relations_made := to_jsonb(v_made);
  stubs_made := to_jsonb(v_stubs);
  did_you_mean := to_jsonb(v_meant);
end;
$$;
comment on function pgmem.link_named is
  'Join a node with the targets of its relations: edges, stubs, and names that fit several or cannot be stubs.';


-- The stub lives where the node lives: it takes its tenant and its scope from it.
create or replace function pgmem.insert_stub(
  p_node pgmem.node,
  p_label pgmem.label,
  p_name text,
  p_caller pgmem.caller
) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_stub pgmem.node := p_node;
begin
  v_stub.id := gen_random_uuid();
  v_stub.label := p_label.name;
  v_stub.key := p_name;
  v_stub.title := p_name;
  v_stub.props := jsonb_build_object(p_label.key_field, p_name);
  v_stub.status := 'stub';
  v_stub.source := p_caller.source;
  v_stub.trust_level := p_caller.trust_level;
  v_stub.agent_id := p_caller.agent_id;
  v_stub.session_id := p_caller.session_id;
  v_stub.initial_confidence := 1.0;
  v_stub.valid_from := null;
  v_stub.valid_to := null;
  v_stub.content_hash := null;
  v_stub.title_tokens := null;
  v_stub.created_at := coalesce(p_caller.made_at, pgmem.now());
  return pgmem.insert_node(v_stub);
end;
$$;
comment on function pgmem.insert_stub is
  'Store the stub that a relation of a node names: a label and a name, and no text yet.';


-- Exact names before alike ones, the project of the node before others, own before shared before public ones.
create or replace function pgmem.resolve_target(p_name text, p_label text, p_project_seq bigint) returns pgmem.node[]
language plpgsql stable set search_path = pgmem, pg_temp set enable_seqscan = off as $$
declare
  v_found pgmem.node[];
  v_exact pgmem.node[];
  v_near  pgmem.node[];
begin
  if pgmem.is_uuid(p_name) then
    select array_agg(row(n.*)::pgmem.node) into v_found from pgmem.visible_node n
    where n.id = p_name::uuid and (p_label is null or n.label = p_label);
  end if;
  if v_found is null then
    -- The inner query leaves the index of names as the only way in.
    select array_agg(row(n.*)::pgmem.node order by n.seq) into v_found from (
      select n.* from (select * from pgmem.node
                       where pgmem.name_hash(coalesce(key, title)) = pgmem.name_hash(p_name) offset 0) n
      where n.tenant = any (pgmem.visible_tenants())
        and pgmem.folded(translate(coalesce(n.key, n.title), '-_', '  ')) = pgmem.folded(translate(p_name, '-_', '  '))
        and (p_label is null or n.label = p_label)
        and (pgmem.is_memory(n.label) or n.label = 'Project')
        and not pgmem.is_hidden_status(n.status)
      order by n.seq limit 20) n;
  end if;
  select array_agg(n) into v_exact from unnest(v_found) n where coalesce(n.key, n.title) = p_name;
  v_found := coalesce(v_exact, v_found);
  select array_agg(n) into v_near from unnest(v_found) n where n.project_seq is not distinct from p_project_seq;
  return pgmem.own_first(coalesce(v_near, v_found, '{}'), pgmem.visible_tenants());
end;
$$;
comment on function pgmem.resolve_target is
  'The nodes that a name in a relation can mean: none, one, or several that the caller chooses from.';


select pgmem.declare_answer('edge_answer', $$
A relation between two memories; created is false if it existed.

class Edge
from_id uuid, rel_type text, to_id uuid, created boolean
$$);

create or replace function pgmem.relate(
  p_from_label text,
  p_from_key text,
  p_rel_type text,
  p_to_label text,
  p_to_key text,
  p_project_id text default null
) returns pgmem.edge_answer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer      pgmem.edge_answer;
  v_caller      pgmem.caller := pgmem.require_writer();
  v_project_seq bigint := pgmem.find_project(p_project_id);
  v_from        pgmem.node;
  v_to          pgmem.node;
begin
  v_from := pgmem.find_node(p_from_label, p_from_key, v_project_seq);
  v_to := pgmem.find_node(p_to_label, p_to_key, v_project_seq);
  -- Every tenant would see an edge between two public memories, so one end must be the caller's.
  if v_to.tenant not in (v_caller.tenant, pgmem.tenant_of(v_caller.org_id)) then
    perform pgmem.require_own(v_from, v_caller);
  end if;
  v_answer.created := pgmem.join_nodes(v_from, p_rel_type, v_to);
  v_answer.from_id := v_from.id;
  v_answer.to_id := v_to.id;
  v_answer.rel_type := p_rel_type;
  return v_answer;
end;
$$;
comment on function pgmem.relate is $$
Join two memories; the same call again changes nothing more.

from_label: Such as Decision.
from_key: Id, name or title.
rel_type: Such as CONFLICTS_WITH; describe_schema lists them.
to_label: Such as Decision.
to_key: Id, name or title.

InvalidArgument: The label or the relation is unknown.
MemoryNotFound: A name fits no memory, or the project is unknown.
AmbiguousName: A name fits several memories; the message lists their ids.
NotPermitted: Both memories are public, and the caller has a tenant.
RelationNotAllowed: The relation does not join these labels, or verbs alone make it.
$$;
select pgmem.declare_verb('relate', p_rights => 'writer', p_effect => 'repeat', p_answer => 'Edge',
  p_toolset => 'graph,quality',
  p_description =>
    'Call this to join two memories, such as decisions that conflict.');
