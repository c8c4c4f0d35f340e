create or replace function pgmem.require_graph() returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  perform pgmem.require_age();
  -- pg_restore brings the graph's tables, but under another OID than the graph is entered with.
  if not exists (select from ag_catalog.ag_graph g where g.name = 'pgmem_graph' and g.graphid = to_regnamespace('pgmem_graph')::oid) then
    raise exception using errcode = 'PM008', message = 'The graph is not there, or came from a dump: run pgmem graph rebuild.';
  end if;
end;
$$;
comment on function pgmem.require_graph() is 'An error where the database has no graph.';
