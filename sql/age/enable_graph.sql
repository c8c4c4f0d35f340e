-- Labels of the graph are made here and nowhere else: eight sessions that use a new label first fail 66 times of 80.
create or replace function pgmem.enable_graph() returns boolean
language plpgsql
set search_path = ag_catalog, pgmem, pg_temp
set client_min_messages = warning
as $$
declare
  v_name text;
  v_new  boolean := false;
begin
  if not exists (select from pg_extension where extname = 'age') then
    return false;
  end if;
  perform ag_catalog._label_id('pgmem_graph', '_ag_label_vertex');  -- loads the library; LOAD is refused to a plain role
  if not exists (select from ag_catalog.ag_graph where name = 'pgmem_graph') then
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
  if v_new then
    perform pgmem.fill_graph();
  end if;
  return true;
end;
$$;
comment on function pgmem.enable_graph() is
  'Make the graph, its labels and the triggers that keep it in step; false where the server has no AGE. Every pgmem init calls it.';
