create or replace function pgmem.require_age() returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  if to_regclass('ag_catalog.ag_graph') is null then
    raise exception using errcode = 'PM008',
      message = 'This server has no Apache AGE: all but Cypher works. Install the extension and run pgmem init to add the graph.';
  end if;
end;
$$;
comment on function pgmem.require_age() is 'An error where the database has no Apache AGE.';
