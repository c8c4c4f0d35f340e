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
  if exists (select from ag_catalog.ag_graph where name = 'pgmem_graph') then
    perform ag_catalog.drop_graph('pgmem_graph', true);
  end if;
  perform pgmem.enable_graph();
  -- The triggers write to it with the rights of who owns the schema.
  perform pgmem.give_to_owner((select n.nspowner::regrole::text::name from pg_namespace n where n.nspname = 'pgmem'));
  execute 'select count(*) from pgmem_graph._ag_label_vertex' into vertices;
  execute 'select count(*) from pgmem_graph._ag_label_edge' into edges;
end;
$$;
comment on function pgmem.rebuild_graph() is
  'Make the graph again from the tables (after pg_restore its stored OID is stale). Writers wait; readers do not.';
