create or replace function pgmem.require_graph() returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  perform pgmem.require_age();
  if to_regnamespace('pgmem_graph') is null then
    raise exception using errcode = 'PM008', message = 'The graph is not there: run pgmem graph rebuild.';
  end if;
end;
$$;
comment on function pgmem.require_graph() is 'An error where the database has no graph.';
