create or replace function pgmem.check_graph()
returns table (label text, missing bigint, extra bigint, different bigint)
language plpgsql
set search_path = ag_catalog, pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_name     text;
  v_expected text;
begin
  perform pgmem.require_age();
  perform ag_catalog._label_id('pgmem_graph', '_ag_label_vertex');
  if not exists (select from ag_catalog.ag_graph g where g.name = 'pgmem_graph' and g.namespace = to_regnamespace('pgmem_graph')
      and exists (select from ag_catalog.ag_label a where a.graph = g.graphid and a.name = 'Project')
      and g.graphid = to_regnamespace('pgmem_graph')::oid) then
    label := 'pgmem_graph';
    missing := (select count(*) from pgmem.node);
    extra := 0;
    different := 0;
    return next;
    return;
  end if;
  for v_name, v_expected in
    select l.name, format('select ag_catalog._graphid(pgmem.label_number(n.label), n.seq)::text as id,
        ag_catalog.agtype_out(vertex.properties::ag_catalog.agtype)::text as what
        from pgmem.node n cross join lateral pgmem.vertex_properties(n) vertex where n.label = %L', l.name)
    from pgmem.label l
    union all
    select r.name, case r.name
      when 'BELONGS_TO' then $q$select ag_catalog._graphid(ag_catalog._label_id('pgmem_graph', 'BELONGS_TO')::int, n.seq)::text as id,
        ag_catalog._graphid(pgmem.label_number(n.label), n.seq)::text || '>' || case when n.scope = 'global'
          then ag_catalog._graphid(pgmem.label_number('GlobalScope'), 1) else ag_catalog._graphid(pgmem.label_number('Project'), n.project_seq) end::text as what
        from pgmem.node n where n.project_seq is not null or n.scope = 'global'$q$
      when 'HAS_FOCUS' then $q$select ag_catalog._graphid(ag_catalog._label_id('pgmem_graph', 'HAS_FOCUS')::int, n.seq)::text as id,
        ag_catalog._graphid(pgmem.label_number(n.label), n.seq)::text || '>' || ag_catalog._graphid(pgmem.label_number('FocusArea'), n.focus_seq)::text as what
        from pgmem.node n where n.focus_seq is not null$q$
      else format('select ag_catalog._graphid(ag_catalog._label_id(''pgmem_graph'', %1$L)::int, e.seq)::text as id,
        ag_catalog._graphid(pgmem.label_number(s.label), s.seq)::text || ''>'' || ag_catalog._graphid(pgmem.label_number(d.label), d.seq)::text as what
        from pgmem.edge e join pgmem.node s on s.seq = e.src join pgmem.node d on d.seq = e.dst where e.rel = %1$L', r.name) end
    from pgmem.relation r
  loop
    execute format('select count(*) filter (where g.id is null), count(*) filter (where t.id is null), '
      'count(*) filter (where g.what <> t.what) from (%s) t full join (select id::text as id, %s as what from only pgmem_graph.%I) g on g.id = t.id',
      v_expected, case when exists (select from pgmem.label l where l.name = v_name) then 'ag_catalog.agtype_out(properties)::text'
        else 'start_id::text || ''>'' || end_id::text' end, v_name)
    into missing, extra, different;
    if missing + extra + different > 0 then
      label := v_name;
      return next;
    end if;
  end loop;
end;
$$;
comment on function pgmem.check_graph() is
  'Where the graph differs from the tables, a row a label; no row means that they agree.';
