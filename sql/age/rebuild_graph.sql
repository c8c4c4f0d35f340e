create or replace function pgmem.rebuild_graph(out vertices bigint, out edges bigint)
language plpgsql
set search_path = ag_catalog, pgmem, pg_temp
set client_min_messages = warning
as $$
#variable_conflict use_column
begin
  perform pgmem.require_age();
  lock table pgmem.node, pgmem.edge in share row exclusive mode;
  perform ag_catalog._label_id('pgmem_graph', '_ag_label_vertex');
  -- Emptied where it can be: before AGE 1.7, drop_graph breaks the session that drops more than 41 labels (apache/age#2245).
  if exists (select from ag_catalog.ag_graph g where g.name = 'pgmem_graph' and g.graphid = to_regnamespace('pgmem_graph')::oid
               and not exists (select from ag_catalog.ag_label a where a.graph = g.graphid
                                 and to_regclass(format('pgmem_graph.%I', a.name)) is null)) then
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
