-- One report, one list of cards: nothing here looks at the clock or at what is stored. Counts that move with every commit
-- stay out of statements; they go into details.
create or replace function pgmem.report_cards(p_report jsonb, p_hotspot_changes integer) returns setof pgmem.report_card
language sql immutable
set search_path = pgmem, pg_temp
as $$
  with module as (
    select distinct on (path) * from (
      select pgmem.clean_path(m.path) as path, coalesce(m.module, replace(substr(pgmem.module_match(pgmem.clean_path(m.path)), 2), '/', '.')) as module,
        nullif(regexp_replace(btrim(m.doc), '\s+', ' ', 'g'), '') as doc, m.exports, m.imports, coalesce(m.changes, 0) as changes, m.last_commit
      from jsonb_to_recordset(p_report -> 'modules')
        as m(path text, module text, doc text, imports jsonb, exports jsonb, changes integer, last_commit text)) cleaned
    order by path
  ), depends as (
    select m.path, array_agg(distinct d.module collate "C" order by d.module collate "C") as modules, array_agg(distinct d.path collate "C" order by d.path collate "C") as paths
    from module m cross join lateral jsonb_array_elements_text(case jsonb_typeof(m.imports) when 'array' then m.imports else '[]' end) as i(path)
    join module d on d.path = i.path and d.path <> m.path group by m.path
  ), surface as (
    select m.path, array_agg(e.name order by e.place) as names
    from module m cross join lateral jsonb_array_elements_text(case jsonb_typeof(m.exports) when 'array' then m.exports else '[]' end) with ordinality as e(name, place)
    group by m.path
  ), anchor as (
    select pgmem.clean_path(t.path) as path, t.last_commit, array_agg(distinct m.module collate "C" order by m.module collate "C") as modules,
      array_agg(distinct m.path collate "C" order by m.path collate "C") as paths
    from jsonb_to_recordset(coalesce(p_report -> 'tests', '[]')) as t(path text, anchors jsonb, last_commit text)
    cross join lateral jsonb_array_elements_text(case jsonb_typeof(t.anchors) when 'array' then t.anchors else '[]' end) as a(path)
    join module m on m.path = a.path group by 1, 2
  ), document as (
    select pgmem.clean_path(d.path) as path, nullif(btrim(d.title), '') as title, d.last_commit,
      array_agg(distinct m.module collate "C" order by m.module collate "C") as modules, array_agg(distinct m.path collate "C" order by m.path collate "C") as paths
    from jsonb_to_recordset(coalesce(p_report -> 'documents', '[]')) as d(path text, title text, names jsonb, last_commit text)
    cross join lateral jsonb_array_elements_text(case jsonb_typeof(d.names) when 'array' then d.names else '[]' end) as n(path)
    join module m on m.path = n.path group by 1, 2, 3
  ), made as (
    select 1 as rank, 'module_role' as record_type, m.path, 'role' as facet, 'analysis' as ingest_source, 'code' as kind, m.last_commit,
      m.module || coalesce(': ' || rtrim(case when length(m.doc) > 140 then left(m.doc, 139) || '…' else m.doc end, '.') || '.', ' has no description.')
        || coalesce(' Depends on ' || pgmem.name_list(d.modules, 100) || '.', '') as statement,
      pgmem.path_subjects(m.path, m.module) as subjects,
      coalesce((select jsonb_agg(jsonb_build_object('rel', 'DEPENDS_ON', 'path', p) order by p collate "C") from unnest(d.paths) p), '[]') as links,
      jsonb_build_object('module', m.module, 'imports', coalesce(cardinality(d.paths), 0)) as details
    from module m left join depends d on d.path = m.path
    union all
    select 2, 'public_surface', m.path, 'surface', 'analysis', 'code', m.last_commit, m.module || ' offers ' || pgmem.name_list(s.names, 200) || '.',
      pgmem.path_subjects(m.path, m.module, array(select m.module || '.' || n from unnest(s.names[1:50]) n)), '[]',
      jsonb_build_object('module', m.module, 'names', cardinality(s.names))
    from module m join surface s on s.path = m.path
    union all
    select 3, 'risk_note', m.path, 'hotspot', 'git', 'code', m.last_commit,
      m.module || format(' is a hot spot: changed %s times or more within 90 days. Read its tests before you change it.',
        (select max(step) from unnest(array[p_hotspot_changes, 10, 20, 50, 100, 200, 500]) step where step <= m.changes and step >= p_hotspot_changes)),
      pgmem.path_subjects(m.path, m.module), '[]', jsonb_build_object('module', m.module, 'changes', m.changes)
    from module m where m.changes >= p_hotspot_changes
    union all
    select 4, 'test_anchor', a.path, 'tests', 'test', 'test', a.last_commit, a.path || ' tests ' || pgmem.name_list(a.modules, 200) || '.',
      jsonb_build_array(jsonb_build_object('kind', 'test', 'key', a.path, 'relation', 'about', 'match', a.path))
        || (select jsonb_agg(jsonb_build_object('kind', 'path', 'key', p, 'relation', 'tests', 'match', p) order by p collate "C") from unnest(a.paths[1:50]) p),
      (select jsonb_agg(jsonb_build_object('rel', 'TESTS', 'path', p) order by p collate "C") from unnest(a.paths) p),
      jsonb_build_object('modules', cardinality(a.paths))
    from anchor a
    union all
    select 5, 'document_link', d.path, 'document', 'doc', 'doc', d.last_commit,
      d.path || coalesce(' (' || left(d.title, 80) || ')', '') || ' names ' || pgmem.name_list(d.modules, 150) || '.',
      jsonb_build_array(jsonb_build_object('kind', 'doc', 'key', d.path, 'relation', 'about', 'match', d.path))
        || (select jsonb_agg(jsonb_build_object('kind', 'path', 'key', p, 'relation', 'documents', 'match', p) order by p collate "C") from unnest(d.paths[1:50]) p),
      (select jsonb_agg(jsonb_build_object('rel', 'DOCUMENTS', 'path', p) order by p collate "C") from unnest(d.paths) p),
      jsonb_build_object('modules', cardinality(d.paths))
    from document d
  )
  select row_number() over (order by m.rank, m.path collate "C"), m.record_type, m.path, m.facet,
    pgmem.card_identity('system:' || m.record_type, m.path, m.facet), left(m.statement, 1000), m.ingest_source, m.subjects,
    case when p_report #>> array['files', m.path] is not null
         then jsonb_build_array(jsonb_build_object('kind', m.kind, 'ref', m.path, 'digest', p_report #>> array['files', m.path])) else '[]' end
      || case when coalesce(m.last_commit, '') <> '' then jsonb_build_array(jsonb_build_object('kind', 'git_commit', 'ref', m.last_commit)) else '[]' end,
    m.links, m.details, md5(m.statement || m.subjects::text)
  from made m order by 1;
$$;
comment on function pgmem.report_cards(jsonb, integer) is
  'The cards a report stands for, in one order: roles, public surfaces, hot spots, tests that anchor modules, documents that name them.';
