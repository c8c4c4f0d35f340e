-- Nodes as a graph store writes and reads them
--
-- The protocol of stores (pgmem/features/stores/protocol.py) knows a node by its label and its name, whatever its label. So
-- merge_node writes the labels of remember, and also projects and insights; the other labels keep their save verbs. The
-- vector that comes with a node is stored in the same transaction: where it cannot be stored, neither is the node.
--
-- read_node reads forgotten nodes too, with their status and the time they were forgotten.
--
-- find_projects finds projects by their words, which search_memory leaves out, as they hold no memory themselves.
--
-- Locks: the scope of the node, before the read that it guards; then the row. Those of remember.


select pgmem.declare_answer('merged_node_answer', $$
A node that was made or merged.

id uuid, created boolean, conflict json, near_names json
dedup_outcome text?: manual_review: nothing was written, as a person decides; pgmem review has it.
$$);

create or replace function pgmem.merge_node(
  p_label text,
  p_key text,
  p_properties jsonb,
  p_model text default null,
  p_vector real[] default null
) returns pgmem.merged_node_answer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.merged_node_answer;
  v_caller pgmem.caller := pgmem.require_writer();
  v_label  pgmem.label := pgmem.require_label(p_label);
  v_props  jsonb := p_properties || jsonb_build_object(coalesce(v_label.key_field, 'title'), p_key);
  v_node   pgmem.node;
  v_old    pgmem.node;
begin
  if p_label not in ('Project', 'Insight') then
    select r.id, r.created, r.conflict, r.near_names, r.dedup_outcome into v_answer
    from pgmem.remember(p_label, v_props) r;
  else
    v_node := pgmem.named_node(v_label, v_props, null, pgmem.resolve_scope(v_caller, null, null), v_caller);
    perform pgmem.lock_scope(v_node.scope_key);
    select n.* into v_old from pgmem.visible_node n
    where n.scope_key = v_node.scope_key and n.tenant || '' = v_node.tenant
      and pgmem.folded(n.key) = pgmem.folded(v_node.key)
    order by n.key = v_node.key desc, n.seq limit 1;
    v_answer.created := v_old.seq is null;
    if v_answer.created then
      -- An insight is decided by a person (resolve_insight), so it begins as one that is pending.
      v_node.status := case p_label when 'Insight' then 'pending' else 'active' end;
      v_node.props := jsonb_strip_nulls(v_node.props);
      v_node := pgmem.insert_node(v_node);
      v_answer.near_names := pgmem.near_names(v_node, v_caller);
    elsif pgmem.outranked(v_old.trust_level, v_caller) then
      raise exception using errcode = 'PM004', message = format(
        '%s %s was written by a more trusted source (%s, trust %s; yours is %s): write another one, or let a person change it.',
        p_label, quote_literal(left(v_old.key, 80)), v_old.source, v_old.trust_level, v_caller.trust_level);
    else
      v_node := pgmem.merged_node(v_old, v_node, v_label.key_field);
      -- Approved was another text.
      v_node.status := case when p_label <> 'Insight' then 'active' when v_old.status = 'archived' then 'pending'
        when v_old.status = 'approved' and v_node.props <> v_old.props then 'pending' else v_old.status end;
      v_node := pgmem.update_node(v_node);
    end if;
    v_answer.id := v_node.id;
  end if;
  if p_vector is not null and v_answer.dedup_outcome is null then
    perform pgmem.store_node_vectors(p_model,
      jsonb_build_array(jsonb_build_object('id', v_answer.id, 'vector', to_jsonb(p_vector))));
  end if;
  return v_answer;
end;
$$;
comment on function pgmem.merge_node is $$
Create or update a node by its name, with its vector, in one transaction; for graph stores.

A label that a save verb writes is refused, but for projects and insights. An insight is pending until a person decides, and
again once its text is another one.

label: The kind of node, such as Technology or Project.
key: Its name or title.
properties: Its known facts; null removes a property.
model: The model of the vector.
vector: The vector of the node; unset: none.

InvalidArgument: an unknown label or one that a save verb writes, no name, or a vector that cannot be kept.
NotPermitted: the project or the insight was written by a more trusted source.
$$;
select pgmem.declare_verb('merge_node', p_rights => 'writer', p_effect => 'repeat');


select pgmem.declare_answer('node_row', $$
A node with its properties, its periods and its writer.

id uuid, label text, key text, title text, status text, properties json, project text, scope text, focus text
valid_from timestamptz, valid_to timestamptz, confidence float8, trust_level float8, source text, version integer
created_at timestamptz, updated_at timestamptz, archived_at timestamptz, org_id text, user_id text, agent_id text
session_id text
$$);

create or replace function pgmem.read_node(
  p_label text,
  p_key text
) returns setof pgmem.node_row
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node := pgmem.find_recorded(p_label, p_key);
begin
  return query
  select n.id, n.label, n.key::text, n.title::text, n.status::text, n.props, n.project::text, n.scope::text,
         n.focus::text, n.valid_from::timestamptz, n.valid_to::timestamptz,
         pgmem.confidence(n.initial_confidence, n.label, n.instructs, n.updated_at),
         n.trust_level::float8, n.source, n.version, n.created_at::timestamptz, n.updated_at::timestamptz,
         case when n.status = 'archived' then n.updated_at::timestamptz end, n.org_id, n.user_id, n.agent_id, n.session_id
  from pgmem.visible_node n where n.seq = v_node.seq;
end;
$$;
comment on function pgmem.read_node is $$
Read a node for a graph store, also one that was forgotten: then with archived_at.

MemoryNotFound: no such node is visible to the caller.
AmbiguousName: a name fits several nodes; the message lists their ids.
InvalidArgument: an unknown label, or an empty key.
$$;
select pgmem.declare_verb('read_node', p_rights => 'reader', p_effect => 'look');


create or replace function pgmem.find_projects(
  p_query text,
  p_limit pgmem.row_limit default 10
) returns setof pgmem.ranked_node
language sql stable security definer set search_path = pgmem, pg_temp as $$
  select n.id, n.label, n.key::text, n.title::text, pgmem.excerpt(n.props ->> 'description'),
         pgmem.word_rank(n.tsv, words.query)::float8, n.trust_level::float8,
         pgmem.confidence(n.initial_confidence, n.label, n.instructs, n.updated_at),
         pgmem.said_by(n.source, n.trust_level)
  from pgmem.any_word(pgmem.clean_text(p_query, 'query'), pgmem.setting_text('text_config')) as words(query)
  join pgmem.visible_node n on n.label = 'Project' and n.status = 'active' and n.tsv @@ words.query
  order by 6 desc, n.seq desc limit p_limit;
$$;
comment on function pgmem.find_projects is $$
Find projects by their names and properties, best first; for graph stores.

query: Words; stop words do not count.

InvalidArgument: a limit outside 1 to 1000, or a query that is too long.
$$;
select pgmem.declare_verb('find_projects', p_rights => 'reader', p_effect => 'read');
