create or replace function pgmem.rebuild_graph(out vertices bigint, out edges bigint)
language plpgsql
set search_path = ag_catalog, pgmem, pg_temp
set client_min_messages = warning
as $$
#variable_conflict use_column
begin
  perform pgmem.require_age();
  lock table pgmem.node, pgmem.edge in share row exclusive mode;
  perform ag_catalog._label_id('pgmem_graph', '_ag_label_vertex');  -- loads the library
  -- Emptied, not dropped, where it can be: before AGE 1.7, drop_graph breaks the session that drops more than 41 labels
  -- (apache/age#2245), if not the server. After pg_restore the graph's record holds the OID of another database's schema.
  if exists (select from ag_catalog.ag_graph g where g.name = 'pgmem_graph' and to_regnamespace('pgmem_graph') is not null
               and not exists (select from ag_catalog.ag_label a where a.graph = g.graphid
                                 and to_regclass(format('pgmem_graph.%I', a.name)) is null)) then
    with moved as (
      update ag_catalog.ag_graph g set graphid = 'pgmem_graph'::regnamespace::oid, namespace = 'pgmem_graph'::regnamespace
      where g.name = 'pgmem_graph' and g.graphid <> 'pgmem_graph'::regnamespace::oid returning g.graphid)
    update ag_catalog.ag_label a set graph = 'pgmem_graph'::regnamespace::oid, relation = to_regclass(format('pgmem_graph.%I', a.name))
    where exists (select from moved) and a.graph = (select g.graphid from ag_catalog.ag_graph g where g.name = 'pgmem_graph');
    if found then
      -- Whoever has looked the graph up before forgets it.
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
  -- The triggers write to it with the rights of who owns the schema.
  perform pgmem.give_to_owner((select n.nspowner::regrole::text::name from pg_namespace n where n.nspname = 'pgmem'));
  execute 'select count(*) from pgmem_graph._ag_label_vertex' into vertices;
  execute 'select count(*) from pgmem_graph._ag_label_edge' into edges;
end;
$$;
comment on function pgmem.rebuild_graph() is
  'Make the graph again from the tables (after pg_restore its stored OID is stale). Writers wait; readers do not.';
