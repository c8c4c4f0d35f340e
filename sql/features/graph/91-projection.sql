-- Projection: every node a vertex, every edge an edge
--
-- Where the server has Apache AGE, the graph pgmem_graph shows the tables to Cypher. The tables are the truth;
-- statement triggers on node and edge write the same into the graph, and fill_graph writes all of it at once. The id of
-- a vertex or edge is made of the number of its label and the seq of its row, so nothing is ever searched.
--
-- build_projection writes the trigger functions from the registry of labels and relations, one branch a label, because
-- dynamic SQL costs 0.16 to 0.31 ms a save. BELONGS_TO and HAS_FOCUS are columns of node and edges of the graph.
--
-- Locks: a new trigger locks its table against writers.


-- A vertex holds the properties that a Cypher query needs: names, places, times and the label's own short scalars.
-- Long texts, confidence and vectors stay in the tables. A number that AGE cannot hold (outside int64 or float8)
-- becomes text, because it would abort the save. The function returns a set, because such a one is inlined into the
-- statement of the trigger.
create or replace function pgmem.vertex_properties(p_node pgmem.node) returns table (
  properties text
)
language sql stable
begin atomic
  select jsonb_strip_nulls(coalesce(own.properties, '{}')
    || jsonb_build_object('id', p_node.id, 'key', p_node.key, 'title', p_node.title, 'project', p_node.project,
      'scope', p_node.scope, 'focus', p_node.focus, 'status', p_node.status, 'created_at', p_node.created_at,
      'valid_from', p_node.valid_from, 'valid_to', p_node.valid_to,
      'org_id', nullif(p_node.org_id, ''), 'user_id', nullif(p_node.user_id, '')))::text
  from (
    select jsonb_object_agg(name, case
      when jsonb_typeof(value) = 'number' and (
        (value #>> '{}')::numeric = trunc((value #>> '{}')::numeric)
          and abs((value #>> '{}')::numeric) >= 9223372036854775807
        or abs((value #>> '{}')::numeric) >= 1e307
        or (value #>> '{}')::numeric <> 0 and abs((value #>> '{}')::numeric) < 1e-300)
      then to_jsonb(value #>> '{}') else value end) as properties
    from jsonb_each(p_node.props) as p(name, value)
    where jsonb_typeof(value) in ('number', 'boolean')
      or jsonb_typeof(value) = 'string' and length(value #>> '{}') <= 200) own;
end;
comment on function pgmem.vertex_properties is
  'The properties of the vertex of a node, as JSON text; one row.';


create or replace function pgmem.make_projection(
  p_table text,
  p_event text,
  p_column text,
  p_some text,
  p_rows text,
  p_branches text,
  p_after text
) returns void
language plpgsql set search_path = pgmem, pg_temp as $make$
declare
  v_function text := format('project_%s_%s', p_table, p_event);
  v_body     text := format($f$
-- Written by build_projection() from the registry.
declare
  v_names text[];
  v_name  text;
  v_some  boolean;
begin
  select coalesce(array_agg(distinct n.%1$s), '{}'), bool_or(%5$s) into v_names, v_some from %2$s n;
  foreach v_name in array v_names loop
    case v_name%3$s
    else null;
    end case;
  end loop;%4$s
  return null;
end;
$f$, p_column, p_rows, p_branches, p_after, p_some);
begin
  -- It is replaced only where its text changed, because a trigger takes a lock that waits for every writer.
  if exists (
      select from pg_proc where pronamespace = 'pgmem'::regnamespace and proname = v_function and prosrc = v_body)
    and exists (
      select from pg_trigger where tgrelid = format('pgmem.%I', p_table)::regclass and tgname = v_function) then
    return;
  end if;
  execute format('create or replace function pgmem.%I() returns trigger language plpgsql security definer '
    'set search_path = pgmem, pg_temp%s set standard_conforming_strings = on set client_min_messages = notice as %L',
    v_function,
    -- Rows, vertices and edges are found by id, however many rows the tables had when the plan was made.
    case when p_event <> 'insert' then ' set enable_hashjoin = off set enable_mergejoin = off'
      when p_table = 'edge' then ' set enable_seqscan = off set jit = off' else '' end, v_body);
  execute format('comment on function pgmem.%I() is %L', v_function,
                 format('Trigger: every %s of %s goes to the graph.', p_event, p_table));
  execute format(
    'create or replace trigger %1$I after %2$s on pgmem.%3$I referencing %4$s '
    'for each statement execute function pgmem.%1$I()',
    v_function, p_event, p_table,
    case p_event when 'insert' then 'new table as new_rows' when 'delete' then 'old table as old_rows'
      else 'new table as new_rows old table as old_rows' end);
end;
$make$;
comment on function pgmem.make_projection is
  'Write one trigger function of the projection and its trigger; v_some in its body says whether a row meets p_some.';


create or replace function pgmem.drop_projection() returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_trigger record;
begin
  for v_trigger in
    select t.tgname, t.tgrelid::regclass as table_name from pg_trigger t
    where t.tgrelid in ('pgmem.node'::regclass, 'pgmem.edge'::regclass) and starts_with(t.tgname, 'project_')
  loop
    execute format('drop trigger %I on %s', v_trigger.tgname, v_trigger.table_name);
  end loop;
end;
$$;
comment on function pgmem.drop_projection is 'Drop the triggers that keep the graph in step; build_projection makes them again.';


create or replace function pgmem.build_projection() returns void
language plpgsql set search_path = ag_catalog, pgmem, pg_temp set client_min_messages = warning as $build$
declare
  v_insert text := '';
  v_update text := '';
  v_delete text := '';
  v_edges_insert text := '';
  v_edges_update text := '';
  v_edges_delete text := '';
  v_cases  text := '';
  v_ids    jsonb;
  v_name   text;
begin
  select jsonb_object_agg(a.name, a.id) into v_ids
  from ag_catalog.ag_label a join ag_catalog.ag_graph g on g.graphid = a.graph where g.name = 'pgmem_graph';

  -- The labels of the save verbs first: a branch is found by a comparison with each before it.
  for v_name in select name from pgmem.label order by verb is null, name loop
    v_cases := v_cases || format(e'    when %L then %s\n', v_name, v_ids ->> v_name);
    v_insert := v_insert || format($b$
      when %1$L then
        with vertices as (
          insert into pgmem_graph.%1$I (id, properties)
          select ag_catalog._graphid(%2$s, n.seq), vertex.properties::ag_catalog.agtype
          from new_rows n cross join lateral pgmem.vertex_properties(n) vertex where n.label = %1$L)
        insert into pgmem_graph."BELONGS_TO" (id, start_id, end_id, properties)
        select ag_catalog._graphid(%3$s, n.seq), ag_catalog._graphid(%2$s, n.seq),
               case when n.scope = 'global' then ag_catalog._graphid(%5$s, 1)
                 else ag_catalog._graphid(%4$s, n.project_seq) end, '{}'
        from new_rows n where n.label = %1$L and (n.project_seq is not null or n.scope = 'global');$b$,
      v_name, v_ids ->> v_name, v_ids ->> 'BELONGS_TO', v_ids ->> 'Project', v_ids ->> 'GlobalScope');
    -- Changed rows are found by except, which sorts or hashes. A join would compare each row with each, once it was
    -- planned for one row.
    v_update := v_update || format($b$
      when %1$L then
        update pgmem_graph.%1$I g set properties = vertex.properties::ag_catalog.agtype
        from (select n.seq, n.key, n.title, n.project, n.scope, n.focus, n.status, n.created_at, n.valid_from,
                     n.valid_to, n.org_id, n.user_id, n.props
              from new_rows n where n.label = %1$L
              except
              select o.seq, o.key, o.title, o.project, o.scope, o.focus, o.status, o.created_at, o.valid_from,
                     o.valid_to, o.org_id, o.user_id, o.props
              from old_rows o where o.label = %1$L) changed
        cross join lateral (select n as node from pgmem.node n where n.seq = changed.seq offset 0) n
        cross join lateral pgmem.vertex_properties(n.node) vertex
        where g.id operator(ag_catalog.=) ag_catalog._graphid(%2$s, changed.seq);$b$, v_name, v_ids ->> v_name);
    v_delete := v_delete || format($b$
      when %1$L then
        delete from pgmem_graph.%1$I g using old_rows n
        where n.label = %1$L and g.id operator(ag_catalog.=) ag_catalog._graphid(%2$s, n.seq);$b$,
      v_name, v_ids ->> v_name);
  end loop;

  for v_name in select name from pgmem.relation where not is_column order by name loop
    v_edges_insert := v_edges_insert || format($b$
      when %1$L then
        insert into pgmem_graph.%1$I (id, start_id, end_id, properties)
        select ag_catalog._graphid(%2$s, e.seq), ag_catalog._graphid(pgmem.label_number(s.label), s.seq),
               ag_catalog._graphid(pgmem.label_number(d.label), d.seq), e.props::text::ag_catalog.agtype
        from new_rows e
        cross join lateral (select n.label, n.seq from pgmem.node n where n.seq = e.src offset 0) s
        cross join lateral (select n.label, n.seq from pgmem.node n where n.seq = e.dst offset 0) d
        where e.rel = %1$L;$b$,
      v_name, v_ids ->> v_name);
    v_edges_update := v_edges_update || format($b$
      when %1$L then
        update pgmem_graph.%1$I g set properties = e.props::text::ag_catalog.agtype
        from new_rows e where e.rel = %1$L and g.id operator(ag_catalog.=) ag_catalog._graphid(%2$s, e.seq);$b$,
      v_name, v_ids ->> v_name);
    v_edges_delete := v_edges_delete || format($b$
      when %1$L then
        delete from pgmem_graph.%1$I g using old_rows e
        where e.rel = %1$L and g.id operator(ag_catalog.=) ag_catalog._graphid(%2$s, e.seq);$b$,
      v_name, v_ids ->> v_name);
  end loop;

  execute format($f$create or replace function pgmem.label_number(p_label text) returns integer
    language sql immutable parallel safe
    return case p_label
%s    end$f$, v_cases);
  comment on function pgmem.label_number is
    'The number of a label in the graph: the high 16 bits of the ids of its vertices.';
  perform pgmem.make_projection('node', 'insert', 'label', 'n.focus_seq is not null', 'new_rows', v_insert, format($b$
  if v_some then
    insert into pgmem_graph."HAS_FOCUS" (id, start_id, end_id, properties)
    select ag_catalog._graphid(%1$s, n.seq), ag_catalog._graphid(pgmem.label_number(n.label), n.seq),
           ag_catalog._graphid(%2$s, n.focus_seq), '{}'
    from new_rows n where n.focus_seq is not null;
  end if;$b$,
    v_ids ->> 'HAS_FOCUS', v_ids ->> 'FocusArea'));
  perform pgmem.make_projection('node', 'update', 'label', 'false', 'new_rows', v_update, '');
  perform pgmem.make_projection('node', 'delete', 'label', 'false', 'old_rows', v_delete, format($b$
  delete from pgmem_graph."BELONGS_TO" g using old_rows n
  where g.id operator(ag_catalog.=) ag_catalog._graphid(%s, n.seq);
  delete from pgmem_graph."HAS_FOCUS" g using old_rows n
  where g.id operator(ag_catalog.=) ag_catalog._graphid(%s, n.seq);$b$,
    v_ids ->> 'BELONGS_TO', v_ids ->> 'HAS_FOCUS'));
  perform pgmem.make_projection('edge', 'insert', 'rel', 'false', 'new_rows', v_edges_insert, '');
  perform pgmem.make_projection('edge', 'update', 'rel', 'false', 'new_rows', v_edges_update, '');
  perform pgmem.make_projection('edge', 'delete', 'rel', 'false', 'old_rows', v_edges_delete, '');
end;
$build$;
comment on function pgmem.build_projection is
  'Write the trigger functions that keep the graph in step, one branch a label, and their triggers.';


create or replace function pgmem.fill_graph() returns void
language plpgsql set search_path = ag_catalog, pgmem, pg_temp as $$
declare
  v_name text;
begin
  for v_name in select l.name from pgmem.label l
    where exists (select from pgmem.node n where n.label = l.name) order by l.name loop
    execute format('insert into pgmem_graph.%1$I (id, properties)
      select ag_catalog._graphid(pgmem.label_number(n.label), n.seq), vertex.properties::ag_catalog.agtype
      from pgmem.node n cross join lateral pgmem.vertex_properties(n) vertex where n.label = %1$L', v_name);
  end loop;
  execute $q$insert into pgmem_graph."BELONGS_TO" (id, start_id, end_id)
    select ag_catalog._graphid(ag_catalog._label_id('pgmem_graph', 'BELONGS_TO')::int, n.seq),
      ag_catalog._graphid(pgmem.label_number(n.label), n.seq),
      case when n.scope = 'global' then ag_catalog._graphid(pgmem.label_number('GlobalScope'), 1)
           else ag_catalog._graphid(pgmem.label_number('Project'), n.project_seq) end
    from pgmem.node n where n.project_seq is not null or n.scope = 'global'$q$;
  execute $q$insert into pgmem_graph."HAS_FOCUS" (id, start_id, end_id)
    select ag_catalog._graphid(ag_catalog._label_id('pgmem_graph', 'HAS_FOCUS')::int, n.seq),
      ag_catalog._graphid(pgmem.label_number(n.label), n.seq),
      ag_catalog._graphid(pgmem.label_number('FocusArea'), n.focus_seq)
    from pgmem.node n where n.focus_seq is not null$q$;
  for v_name in select distinct e.rel from pgmem.edge e order by e.rel loop
    execute format('insert into pgmem_graph.%1$I (id, start_id, end_id, properties)
      select ag_catalog._graphid(ag_catalog._label_id(''pgmem_graph'', %1$L)::int, e.seq),
        ag_catalog._graphid(pgmem.label_number(s.label), s.seq),
        ag_catalog._graphid(pgmem.label_number(d.label), d.seq), e.props::text::ag_catalog.agtype
      from pgmem.edge e join pgmem.node s on s.seq = e.src join pgmem.node d on d.seq = e.dst
      where e.rel = %1$L', v_name);
  end loop;
end;
$$;
comment on function pgmem.fill_graph is 'Write every node and edge into an empty graph.';
