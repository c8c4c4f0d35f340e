-- The graph: made, rebuilt and checked
--
-- The graph of 91-projection is made where the server has Apache AGE. Without it only Cypher is missing. It can be made
-- again from the tables at any time, as after a restore or an upgrade, and compared with them.
--
-- Locks: who makes the graph or rebuilds it takes turns with who installs, by the lock of schema_version: both write the
-- functions of the triggers, and PostgreSQL refuses the second of two writers. rebuild_graph also locks node and edge
-- against writers.


create or replace function pgmem.require_age() returns void
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  if to_regclass('ag_catalog.ag_graph') is null then
    raise exception using errcode = 'PM008',
      message = 'This server has no Apache AGE: all but Cypher works. '
        'Install the extension and run pgmem init to add the graph.';
  end if;
end;
$$;
comment on function pgmem.require_age is 'Raise an error where the database has no Apache AGE.';


create or replace function pgmem.require_graph() returns void
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  perform pgmem.require_age();
  -- pg_restore brings the tables of the graph, but its schema has another OID than ag_graph records.
  if not exists (
      select from ag_catalog.ag_graph g
      where g.name = 'pgmem_graph' and g.graphid = to_regnamespace('pgmem_graph')::oid) then
    raise exception using errcode = 'PM008',
      message = 'The graph is not there, or came from a dump: run pgmem graph rebuild.';
  end if;
end;
$$;
comment on function pgmem.require_graph is 'Raise an error where the database has no graph that can be read.';


-- AGE 1.8 answers paths of variable length from a cache of each session, and a trigger on each table of the graph says
-- when it is out of date. AGE makes the trigger with a label, and a dump of an older AGE brings tables without it.
create or replace function pgmem.labels_with_stale_paths() returns setof text
language sql stable set search_path = pgmem, pg_temp as $$
  select c.relname::text
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent in (to_regclass('pgmem_graph._ag_label_vertex'), to_regclass('pgmem_graph._ag_label_edge'))
    and to_regprocedure('ag_catalog.age_invalidate_graph_cache()') is not null
    and not exists (
      select from pg_trigger t
      where t.tgrelid = c.oid and t.tgenabled <> 'D'
        and t.tgfoid = to_regprocedure('ag_catalog.age_invalidate_graph_cache()'))
  order by c.relname;
$$;
comment on function pgmem.labels_with_stale_paths is
  'The labels whose changes do not renew the cache from which AGE 1.8 and later answers paths of variable length.';


create or replace function pgmem.keep_graph_cache() returns integer
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_name  text;
  v_count integer := 0;
begin
  for v_name in select pgmem.labels_with_stale_paths() loop
    -- The name and the events that AGE gives to its own.
    execute format('create or replace trigger _age_cache_invalidate after insert or update or delete or truncate '
      'on pgmem_graph.%I for each statement execute function ag_catalog.age_invalidate_graph_cache()', v_name);
    v_count := v_count + 1;
  end loop;
  return v_count;
end;
$$;
comment on function pgmem.keep_graph_cache is
  'Make the triggers that renew the cache of paths of AGE 1.8 and later on every label that lacks its own; how many.';


-- AGE gives a table of edges no key, and under a publication of all tables nobody may delete from a table without one.
create or replace function pgmem.identify_edges() returns integer
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_one   record;
  v_count integer := 0;
begin
  for v_one in
    select c.relname as label, min(k.relname) as key
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    join pg_index x on x.indrelid = c.oid and x.indisunique and x.indpred is null join pg_class k on k.oid = x.indexrelid
    where i.inhparent = to_regclass('pgmem_graph._ag_label_edge') and c.relreplident = 'd'
      and not exists (select from pg_index p where p.indrelid = c.oid and p.indisprimary)
    group by 1
  loop
    execute format('alter table pgmem_graph.%I replica identity using index %I', v_one.label, v_one.key);
    v_count := v_count + 1;
  end loop;
  return v_count;
end;
$$;
comment on function pgmem.identify_edges is
  'Name the key by which a publication knows the rows of each label of edges that has none yet; how many.';


-- Labels of the graph are made here and nowhere else: of eight sessions that first use a new label at once, 66 of 80
-- attempts fail.
create or replace function pgmem.enable_graph() returns boolean
language plpgsql set search_path = ag_catalog, pgmem, pg_temp set client_min_messages = warning as $$
declare
  v_name  text;
  v_owner name := (select pg_get_userbyid(n.nspowner) from pg_namespace n where n.nspname = 'pgmem');
  v_new   boolean := false;
  v_may   boolean;
begin
  if not exists (select from pg_extension where extname = 'age') then
    perform pgmem.drop_projection();  -- Without the extension every save would fail at a trigger.
    return false;
  end if;
  lock table pgmem.schema_version in exclusive mode;
  v_may := has_schema_privilege('ag_catalog', 'usage');
  if v_may and not has_table_privilege('ag_catalog.ag_graph', 'insert') then
    v_may := not exists (
      select name from pgmem.label union all select name from pgmem.relation
      except
      select a.name::text from ag_catalog.ag_label a join ag_catalog.ag_graph g on g.graphid = a.graph
      where g.name = 'pgmem_graph');
  end if;
  if not v_may then
    raise exception using errcode = 'PM004', message = format(
      'AGE is installed here and %1$s may not use it. Run as a superuser, then pgmem init again: '
      'grant usage on schema ag_catalog to %1$s; '
      'grant select, insert, update, delete on ag_catalog.ag_graph, ag_catalog.ag_label to %1$s;',
      quote_ident(current_user));
  end if;
  -- Any call of AGE loads its library; LOAD is refused to a plain role.
  perform ag_catalog._label_id('pgmem_graph', '_ag_label_vertex');
  if not exists (select from ag_catalog.ag_graph where name = 'pgmem_graph') then
    -- The remains of an extension that was dropped, or a dump without the rows of ag_catalog.
    execute 'drop schema if exists pgmem_graph cascade';
    perform ag_catalog.create_graph('pgmem_graph');
    v_new := true;
  end if;
  -- A label's name is a name in AGE 1.5 and a cstring since 1.7: a literal is either.
  for v_name in select l.name from pgmem.label l where not exists (
      select from ag_catalog.ag_label a join ag_catalog.ag_graph g on g.graphid = a.graph
      where g.name = 'pgmem_graph' and a.name = l.name) order by l.name loop
    execute format('select ag_catalog.create_vlabel(''pgmem_graph'', %L)', v_name);
  end loop;
  for v_name in select r.name from pgmem.relation r where not exists (
      select from ag_catalog.ag_label a join ag_catalog.ag_graph g on g.graphid = a.graph
      where g.name = 'pgmem_graph' and a.name = r.name) order by r.name loop
    execute format('select ag_catalog.create_elabel(''pgmem_graph'', %L)', v_name);
    execute format('create unique index on pgmem_graph.%I (id)', v_name);
  end loop;
  perform pgmem.build_projection();
  perform pgmem.keep_graph_cache();
  perform pgmem.identify_edges();
  -- The triggers write to it with the rights of the schema's owner, who need not be the login that made it.
  if current_user <> v_owner then
    perform pgmem.give_to_owner(v_owner);
  end if;
  if v_new then
    perform pgmem.fill_graph();
  elsif not exists (
      select from ag_catalog.ag_graph g
      where g.name = 'pgmem_graph' and g.graphid = to_regnamespace('pgmem_graph')::oid) then
    perform pgmem.needs_renewal('graph');  -- It came from a dump.
  end if;
  return true;
end;
$$;
comment on function pgmem.enable_graph is $$
Make the graph and the triggers that keep it in step; false where the server has no AGE.

Every pgmem init calls it. A graph that exists keeps its vertices and gets the labels that it lacks; one that came from
a dump is made again by renew.
$$;
select pgmem.declare_verb('enable_graph', p_rights => 'owner', p_effect => 'repeat', p_reach => 'cell',
  p_reads_all => 'It fills a new graph from all tables.');


select pgmem.declare_answer('graph_counts', $$
How many vertices and edges a rebuild of the graph wrote.

vertices bigint, edges bigint
$$);

create or replace function pgmem.rebuild_graph() returns pgmem.graph_counts
language plpgsql set search_path = ag_catalog, pgmem, pg_temp set client_min_messages = warning as $$
declare
  v_answer pgmem.graph_counts;
begin
  perform pgmem.require_age();
  lock table pgmem.schema_version in exclusive mode;
  lock table pgmem.node, pgmem.edge in share row exclusive mode;
  perform ag_catalog._label_id('pgmem_graph', '_ag_label_vertex');
  -- The graph is emptied, not dropped, where it can be: before AGE 1.7, drop_graph breaks the session that drops more
  -- than 41 labels (apache/age#2245), if not the server. After pg_restore its record holds the OID of another database.
  if exists (
      select from ag_catalog.ag_graph g
      where g.name = 'pgmem_graph' and to_regnamespace('pgmem_graph') is not null
        and not exists (select from ag_catalog.ag_label a where a.graph = g.graphid
                          and to_regclass(format('pgmem_graph.%I', a.name)) is null)) then
    with moved as (
      update ag_catalog.ag_graph g
      set graphid = 'pgmem_graph'::regnamespace::oid, namespace = 'pgmem_graph'::regnamespace
      where g.name = 'pgmem_graph' and g.graphid <> 'pgmem_graph'::regnamespace::oid returning g.graphid)
    update ag_catalog.ag_label a
    set graph = 'pgmem_graph'::regnamespace::oid, relation = to_regclass(format('pgmem_graph.%I', a.name))
    where exists (select from moved)
      and a.graph = (select g.graphid from ag_catalog.ag_graph g where g.name = 'pgmem_graph');
    if found then
      -- A grant invalidates the graph cache of sessions.
      execute format('grant usage on schema pgmem_graph to %I', (
        select n.nspowner::regrole::text::name from pg_namespace n where n.nspname = 'pgmem_graph'));
    end if;
    execute 'truncate pgmem_graph._ag_label_vertex, pgmem_graph._ag_label_edge';
    perform pgmem.enable_graph();
    perform pgmem.fill_graph();
  else
    if exists (select from ag_catalog.ag_graph where name = 'pgmem_graph') then
      perform ag_catalog.drop_graph('pgmem_graph', true);
    end if;
    perform pgmem.enable_graph();
  end if;
  execute 'select count(*) from pgmem_graph._ag_label_vertex' into v_answer.vertices;
  execute 'select count(*) from pgmem_graph._ag_label_edge' into v_answer.edges;
  return v_answer;
end;
$$;
comment on function pgmem.rebuild_graph is $$
Make the graph again from the tables; returns the numbers of vertices and edges written.

No save is possible while it runs.

TierMissing: the server has no Apache AGE.
$$;
select pgmem.declare_verb('rebuild_graph', p_rights => 'owner', p_effect => 'repeat', p_answer => 'GraphCounts',
  p_patience => 'rebuild', p_reach => 'cell',
  p_reads_all => 'It makes the graph of all tables.');


select pgmem.declare_answer('checked_label', $$
The differences between graph and tables for a label: vertices or edges that are missing, extra or different.

With `stale_paths`, paths of variable length over it may be answered from a cache that is out of date.

label text, missing bigint, extra bigint, different bigint, stale_paths boolean
$$);

create or replace function pgmem.check_graph() returns setof pgmem.checked_label
language plpgsql set search_path = ag_catalog, pgmem, pg_temp as $$
declare
  v_answer   pgmem.checked_label;
  v_name     text;
  v_expected text;
  v_stale    text[];
begin
  perform pgmem.require_age();
  perform ag_catalog._label_id('pgmem_graph', '_ag_label_vertex');
  if not exists (
      select from ag_catalog.ag_graph g
      where g.name = 'pgmem_graph' and g.namespace = to_regnamespace('pgmem_graph')
        and exists (select from ag_catalog.ag_label a where a.graph = g.graphid and a.name = 'Project')
        and g.graphid = to_regnamespace('pgmem_graph')::oid) then
    v_answer.label := 'pgmem_graph';
    v_answer.missing := (select count(*) from pgmem.node);
    v_answer.extra := 0;
    v_answer.different := 0;
    v_answer.stale_paths := false;
    return next v_answer;
    return;
  end if;
  v_stale := array(select pgmem.labels_with_stale_paths());
  for v_name, v_expected in
    select l.name, format('select ag_catalog._graphid(pgmem.label_number(n.label), n.seq)::text as id,
        ag_catalog.agtype_out(vertex.properties::ag_catalog.agtype)::text as what
        from pgmem.node n cross join lateral pgmem.vertex_properties(n) vertex where n.label = %L', l.name)
    from pgmem.label l
    union all
    select r.name, case r.name
      when 'BELONGS_TO' then $q$
        select ag_catalog._graphid(ag_catalog._label_id('pgmem_graph', 'BELONGS_TO')::int, n.seq)::text as id,
          ag_catalog._graphid(pgmem.label_number(n.label), n.seq)::text || '>' || case when n.scope = 'global'
            then ag_catalog._graphid(pgmem.label_number('GlobalScope'), 1)
            else ag_catalog._graphid(pgmem.label_number('Project'), n.project_seq) end::text as what
        from pgmem.node n where n.project_seq is not null or n.scope = 'global'$q$
      when 'HAS_FOCUS' then $q$
        select ag_catalog._graphid(ag_catalog._label_id('pgmem_graph', 'HAS_FOCUS')::int, n.seq)::text as id,
          ag_catalog._graphid(pgmem.label_number(n.label), n.seq)::text || '>'
            || ag_catalog._graphid(pgmem.label_number('FocusArea'), n.focus_seq)::text as what
        from pgmem.node n where n.focus_seq is not null$q$
      else format($q$
        select ag_catalog._graphid(ag_catalog._label_id('pgmem_graph', %1$L)::int, e.seq)::text as id,
          ag_catalog._graphid(pgmem.label_number(s.label), s.seq)::text || '>'
            || ag_catalog._graphid(pgmem.label_number(d.label), d.seq)::text as what
        from pgmem.edge e join pgmem.node s on s.seq = e.src join pgmem.node d on d.seq = e.dst
        where e.rel = %1$L$q$, r.name) end
    from pgmem.relation r
  loop
    execute format('select count(*) filter (where g.id is null), count(*) filter (where t.id is null), '
      'count(*) filter (where g.what <> t.what) from (%s) t '
      'full join (select id::text as id, %s as what from only pgmem_graph.%I) g on g.id = t.id',
      v_expected, case when exists (select from pgmem.label l where l.name = v_name)
        then 'ag_catalog.agtype_out(properties)::text' else 'start_id::text || ''>'' || end_id::text' end, v_name)
    into v_answer.missing, v_answer.extra, v_answer.different;
    v_answer.stale_paths := v_name = any (v_stale);
    if v_answer.missing + v_answer.extra + v_answer.different > 0 or v_answer.stale_paths then
      v_answer.label := v_name;
      return next v_answer;
    end if;
  end loop;
end;
$$;
comment on function pgmem.check_graph is $$
Where the graph differs from the tables; empty when they agree.

Each row counts, for a label or relation, the rows that the graph lacks (missing), has beyond the tables (extra), and
holds with other properties or ends (different). With stale_paths, AGE 1.8 or later may answer paths of variable length over
the
label from a cache that is out of date: pgmem init mends it.

TierMissing: the server has no Apache AGE.
$$;
select pgmem.declare_verb('check_graph', p_rights => 'owner', p_effect => 'look', p_answer => 'list[CheckedLabel]',
  p_reach => 'union',
  p_reads_all => 'It compares the graph with all tables.');


create or replace function pgmem.renew_graph() returns bigint
language sql set search_path = pgmem, pg_temp as $$
  select case when exists (select from pg_extension e where e.extname = 'age')
    then (select g.vertices + g.edges from pgmem.rebuild_graph() g) else 0 end;
$$;
comment on function pgmem.renew_graph is 'Make the graph again where the server has Apache AGE; the vertices and edges written.';
select pgmem.declare_step('renew graph', 'renew_graph');
select pgmem.declare_step('vocabulary', 'enable_graph');
