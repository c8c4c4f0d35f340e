create or replace function pgmem.fill_graph() returns void
language plpgsql
set search_path = ag_catalog, pgmem, pg_temp
as $$
declare
  v_name text;
begin
  for v_name in select l.name from pgmem.label l order by l.name loop
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
      ag_catalog._graphid(pgmem.label_number(n.label), n.seq), ag_catalog._graphid(pgmem.label_number('FocusArea'), n.focus_seq)
    from pgmem.node n where n.focus_seq is not null$q$;
  for v_name in select r.name from pgmem.relation r where not r.is_column order by r.name loop
    execute format('insert into pgmem_graph.%1$I (id, start_id, end_id, properties)
      select ag_catalog._graphid(ag_catalog._label_id(''pgmem_graph'', %1$L)::int, e.seq),
        ag_catalog._graphid(pgmem.label_number(s.label), s.seq), ag_catalog._graphid(pgmem.label_number(d.label), d.seq),
        e.props::text::ag_catalog.agtype
      from pgmem.edge e join pgmem.node s on s.seq = e.src join pgmem.node d on d.seq = e.dst where e.rel = %1$L', v_name);
  end loop;
end;
$$;
comment on function pgmem.fill_graph() is 'Project every node and edge into an empty graph.';
