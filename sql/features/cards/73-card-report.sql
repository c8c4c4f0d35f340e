-- Card report
--
-- A report is the result of a scan of a repository: modules with their imports and exports, tests with the modules they
-- anchor, the history of each file (facts), the records that people have written (notes), and the digests
-- of all files. Its cards follow from it alone: no function here looks at the
-- clock or at the store, so the same report gives the same cards, byte for byte.
--
-- A card from a report is identified by type, path and facet (role, tests, cochange, owners, history, decision,
-- generated, and one for each rule and reason); its fingerprint is the digest of its contents. Cards
-- come in the order of their value, because the last ones are left out where a project is full. A file of which a
-- report knows nothing has no card. All arrays are sorted by bytes, because the order of a collation may change.
--
-- Locks: none.


create or replace function pgmem.check_report(p_report jsonb) returns void
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  v_parts jsonb;
begin
  if jsonb_typeof(p_report) is distinct from 'object'
      or jsonb_typeof(p_report -> 'modules') is distinct from 'array'
      or jsonb_typeof(coalesce(p_report -> 'tests', '[]')) <> 'array'
      or jsonb_typeof(coalesce(p_report -> 'notes', '[]')) <> 'array'
      or jsonb_typeof(coalesce(p_report -> 'facts', '{}')) <> 'object'
      or jsonb_typeof(coalesce(p_report -> 'renames', '{}')) <> 'object'
      or jsonb_typeof(coalesce(p_report -> 'removed', '[]')) <> 'array'
      or jsonb_typeof(coalesce(p_report -> 'files', '{}')) <> 'object' then
    raise exception using errcode = 'PM010', message = 'refresh_from_run requires a report: '
      '{"modules": [{"path", "module", "doc", "imports": [paths], "exports": [names], "last_commit"}], '
      '"tests": [{"path", "anchors": [paths]}], '
      '"files": {path: digest}, "complete": false}. Only modules and their path are required. '
      'A person makes one of a repository by pgmem cards init, and a server with PGMEM_REPOSITORY where none is sent.';
  end if;
  if coalesce(p_report ->> 'schema', 'pgmem.cards/1') <> 'pgmem.cards/1' then
    raise exception using errcode = 'PM010',
      message = format('Report schema %s is not known; send pgmem.cards/1.', left(p_report ->> 'schema', 80));
  end if;
  v_parts := (p_report -> 'modules') || coalesce(p_report -> 'tests', '[]');
  if exists (
      select from jsonb_array_elements(v_parts) e
      where jsonb_typeof(e) <> 'object' or jsonb_typeof(e -> 'path') is distinct from 'string'
        or jsonb_typeof(coalesce(e -> 'imports', e -> 'anchors', '[]')) not in ('array', 'null')
        or jsonb_typeof(coalesce(e -> 'exports', '[]')) not in ('array', 'null')) then
    raise exception using errcode = 'PM010', message = 'Every module and test of a report is an object with '
      'path; imports, exports and anchors are lists.';
  end if;
  perform pgmem.clean_path(e ->> 'path') from jsonb_array_elements(v_parts) e;
  if exists (
      select from jsonb_array_elements(p_report -> 'notes') e
      where jsonb_typeof(e) <> 'object' or jsonb_typeof(e -> 'path') is distinct from 'string'
        or coalesce(btrim(e ->> 'statement'), '') = '' or coalesce(e ->> 'facet', '') = ''
        or coalesce(e ->> 'status', 'active') not in ('active', 'draft', 'superseded')) then
    raise exception using errcode = 'PM010', message = 'Every note of a report is an object with path, type, facet, '
      'statement and status: active, draft or superseded.';
  end if;
  perform pgmem.require_record_type(e ->> 'type') from jsonb_array_elements(p_report -> 'notes') e;
  perform pgmem.clean_path(e ->> 'path') from jsonb_array_elements(p_report -> 'notes') e;
  perform pgmem.clean_path(path) from jsonb_object_keys(coalesce(p_report -> 'files', '{}')) path;
  perform pgmem.clean_path(path) from jsonb_object_keys(coalesce(p_report -> 'facts', '{}')) path;
end;
$$;
comment on function pgmem.check_report is
  'Raise ContractError, with a description of a report, if a report cannot be read.';


create or replace function pgmem.report_modules(p_report jsonb) returns table (
  path text,
  module text,
  doc text,
  imports jsonb,
  exports jsonb,
  last_commit text
)
language sql immutable set search_path = pgmem, pg_temp as $$
  select distinct on (path) * from (
    select pgmem.clean_path(m.path) as path,
           coalesce(m.module, replace(substr(pgmem.module_match(pgmem.clean_path(m.path)), 2), '/', '.')) as module,
           nullif(regexp_replace(btrim(m.doc), '\s+', ' ', 'g'), '') as doc,
           case jsonb_typeof(m.imports) when 'array' then m.imports else '[]' end as imports,
           case jsonb_typeof(m.exports) when 'array' then m.exports else '[]' end as exports,
           m.last_commit
    from jsonb_to_recordset(p_report -> 'modules')
      as m(path text, module text, doc text, imports jsonb, exports jsonb, last_commit text)) cleaned
  order by path;
$$;
comment on function pgmem.report_modules is 'The modules of a report, each path once and in its one spelling.';


create or replace function pgmem.module_cards(p_report jsonb) returns setof pgmem.found_card
language sql immutable set search_path = pgmem, pg_temp as $$
  with module as materialized (
    -- Parts of a large report are unfolded once: reaching into it for each module would copy it as often.
    select m.*, f.value as fact from pgmem.report_modules(p_report) m
    left join jsonb_each(p_report -> 'facts') f on f.key = m.path
  )
  select 6, 'module_role', m.path, 'role', 'analysis', 'code', m.last_commit,
    -- A module that describes itself is a sentence, and its users follow; otherwise the users see the name.
    case when m.doc is null then m.module || ' is u' || substr(said.users, 2)
      else concat_ws(' ', m.module || ':', case when length(m.doc) <= 140 then rtrim(m.doc, '.') || '.'
        else regexp_replace(left(m.doc, 139), '\W*\s\S*$', '') || ' …' end, said.users) end,
    pgmem.path_subjects(m.path, m.module, array(
      select m.module || '.' || e.name from jsonb_array_elements_text(m.exports) with ordinality as e(name, place)
      where e.name !~ '^__' order by e.place limit 50)),
    coalesce((select jsonb_agg(distinct jsonb_build_object('rel', 'DEPENDS_ON', 'path', i.path))
              from jsonb_array_elements_text(m.imports) as i(path) where i.path <> m.path), '[]'),
    jsonb_build_object('module', m.module)
  from module m
  cross join lateral (
    select case when m.fact ? 'dependents' then format('Used by %s: %s.',
      case m.fact ->> 'dependent_count' when '1' then '1 file' else (m.fact ->> 'dependent_count') || ' files' end,
      pgmem.name_list(array(select jsonb_array_elements_text(m.fact -> 'dependents')), 100,
        (m.fact ->> 'dependent_count')::integer)) end as users) said
  where m.doc is not null or said.users is not null;
$$;
comment on function pgmem.module_cards is 'The cards of the modules of a report: their purpose, and their users.';


create or replace function pgmem.report_tests(p_report jsonb) returns table (
  path text,
  place bigint,
  test text,
  score float8,
  said text
)
language sql immutable set search_path = pgmem, pg_temp as $$
  -- Ranked by a scan; a report without scores names the tests of a module in the order of their paths.
  select f.key, t.place, t.value ->> 'path', coalesce((t.value ->> 'score')::float8, 0.5),
    (t.value ->> 'path') || format(' (%s)', concat_ws(', ', t.value ->> 'score',
      (select string_agg(w, ', ') from jsonb_array_elements_text(t.value -> 'why') w)))
  from jsonb_each(coalesce(p_report -> 'facts', '{}')) as f
  cross join lateral jsonb_array_elements(f.value -> 'tests') with ordinality as t(value, place)
  union all
  select a.path, row_number() over (partition by a.path order by e ->> 'path' collate "C"),
    pgmem.clean_path(e ->> 'path'), 0.5, pgmem.clean_path(e ->> 'path')
  from jsonb_array_elements(coalesce(p_report -> 'tests', '[]')) e
  cross join lateral jsonb_array_elements_text(
    case jsonb_typeof(e -> 'anchors') when 'array' then e -> 'anchors' else '[]' end) as a(path)
  where not p_report ? 'facts';
$$;
comment on function pgmem.report_tests is
  'The tests of each module of a report, the likeliest first, with their score.';


create or replace function pgmem.fact_cards(p_report jsonb) returns setof pgmem.found_card
language sql immutable set search_path = pgmem, pg_temp as $$
  with fact as materialized (
    select f.key as path, f.value as said, m.module, m.last_commit
    from jsonb_each(coalesce(p_report -> 'facts', '{}')) f left join pgmem.report_modules(p_report) m on m.path = f.key
  ), test as (
    select t.path, string_agg(t.said, '; ' order by t.place) filter (where t.place <= 3 and t.is_likely) as said,
           jsonb_agg(jsonb_build_object('path', t.test, 'score', t.score) order by t.place) as tests
    -- Beside a likely test one that is four times less likely is not worth a line.
    from (select *, score >= max(score) over (partition by path) / 4 as is_likely from pgmem.report_tests(p_report)) t
    group by t.path
  ), named as (
    select 2 as rank, 'test_anchor' as record_type, t.path, 'tests' as facet, 'test' as source,
      'Tests: ' || t.said || '.'
        || coalesce(' Tests run by: ' || (f.said ->> 'run'), '') as statement,
      (select jsonb_agg(jsonb_build_object('kind', 'test', 'key', x ->> 'path', 'relation', 'tests',
         'match', x ->> 'path')) from jsonb_array_elements(t.tests) x) as subjects,
      jsonb_build_array(jsonb_build_object('rel', 'TESTS', 'path', t.path)) as links,
      jsonb_build_object('tests', t.tests) as details
    from test t left join fact f using (path)
    union all
    -- The statement holds the likely ones, on which a reader acts; what_changes has all.
    select 3, 'risk_note', f.path, 'cochange', 'git', concat_ws(' ',
      'Changes with ' || pgmem.name_list(array(
        select (c ->> 'path') || case c ->> 'commits' when '0' then ''
          else format(' (%s of %s)', c ->> 'commits', c ->> 'of') end
        from jsonb_array_elements(f.said -> 'companions') with ordinality as e(c, place)
        where place = 1 or (c ->> 'score')::float8 >= case when (c ->> 'commits')::integer >= 2 then 0.1 else 0.25 end
        order by place), 380, 0) || '.',
      'Usually added with it: a file in ' || (f.said -> 'added' ->> 'folder')
        || format('/ (%s %%).', round(100 * (f.said -> 'added' ->> 'share')::numeric))),
      '[]', (select jsonb_agg(jsonb_build_object('rel', 'IMPLICIT_COUPLING', 'path', c ->> 'path'))
             from jsonb_array_elements(f.said -> 'companions') c where (c ->> 'score')::float8 >= 0.1),
      jsonb_strip_nulls(jsonb_build_object('companions', f.said -> 'companions', 'added', f.said -> 'added'))
    from fact f where f.said ? 'companions'
    union all
    select 4, 'change_rationale', f.path, 'history', 'git', concat_ws(' ', back.newest,
      case when (f.said ->> 'fix_count')::integer >= 3 then format('Fixed in %s of %s commits, last: %s.',
        f.said ->> 'fix_count', f.said ->> 'commits',
        (select string_agg(format('%s (%s, %s)', r ->> 'subject', left(r ->> 'commit', 9), r ->> 'on'), '; '
                           order by place)
         from jsonb_array_elements(f.said -> 'fixes') with ordinality as e(r, place) where place <= 2)) end, back.older),
      '[]', '[]', jsonb_build_object('commits',
        jsonb_path_query_array(f.said, '$.reverts[*].commit') || jsonb_path_query_array(f.said, '$.fixes[*].commit'))
    from fact f
    cross join lateral (
      select string_agg(said, ' ') filter (where place = 1) as newest,
             string_agg(said, ' ' order by place) filter (where place > 1) as older
      from (select place, format('Reverted: %s (%s, %s)%s.', r ->> 'subject', left(r ->> 'commit', 9), r ->> 'on',
              coalesce(': ' || nullif(rtrim(r ->> 'why', '.'), ''), '')) as said
            from jsonb_array_elements(f.said -> 'reverts') with ordinality as e(r, place)) r) back
    where f.said ? 'reverts' or (f.said ->> 'fix_count')::integer >= 3
    union all
    select 7, 'human_note', f.path, 'owners', 'git', concat_ws(' ',
      'Code owners: ' || (select string_agg(o, ', ') from jsonb_array_elements_text(f.said -> 'code_owners') o) || '.',
      'Known by ' || (select string_agg(format('%s (%s of %s commits, last in %s)', o ->> 'name', o ->> 'commits',
          o ->> 'of', o ->> 'last'), ', ' order by place)
        from jsonb_array_elements(f.said -> 'owners') with ordinality as e(o, place)) || '.'),
      '[]', '[]', '{}'
    from fact f where f.said ? 'code_owners' or f.said ? 'owners'
  )
  select n.rank, n.record_type, n.path, n.facet, n.source, case n.source when 'test' then 'test' else 'code' end,
    f.last_commit, n.statement, pgmem.path_subjects(n.path, f.module) || n.subjects, n.links, n.details
  from named n left join fact f on f.path = n.path;
$$;
comment on function pgmem.fact_cards is
  'The cards of a file from history and tests: its tests, its companions, reverts, fixes, and the people who know it.';


create or replace function pgmem.note_cards(p_report jsonb) returns table (
  rank integer,
  record_type text,
  path text,
  facet text,
  status text,
  statement text,
  subjects jsonb,
  evidence jsonb,
  links jsonb,
  details jsonb
)
language sql immutable set search_path = pgmem, pg_temp as $$
  select distinct on (n.path, n.facet)
    case when n.status = 'draft' then 10 when n.facet ~ '^reason:' then 5 else 1 end, n.type, pgmem.clean_path(n.path), n.facet,
    coalesce(n.status, 'active'), regexp_replace(btrim(n.statement), '\s+', ' ', 'g'),
    pgmem.path_subjects(pgmem.clean_path(n.path)) || coalesce((
      select jsonb_agg(jsonb_build_object('kind', 'path', 'key', p, 'relation', 'about', 'match', p))
      from jsonb_array_elements_text(n.names) p where p <> n.path), '[]')
      -- A guide of the whole repository is about its root, which path_digest asks for.
      || case when n.details -> 'scopes' ? '' then '[{"kind": "path", "key": ".", "relation": "about", "match": "."}]'::jsonb
         else '[]' end,
    coalesce(n.evidence, '[]'),
    -- A record says which one replaces it, by number or by file name in the same folder.
    coalesce((
      select jsonb_agg(jsonb_build_object('rel', 'SUPERSEDES', 'path', o.path, 'type', o.type, 'facet', o.facet))
      from jsonb_to_recordset(p_report -> 'notes') as o(path text, type text, facet text, details jsonb)
      where o.type = n.type and o.path <> n.path and (
        n.path like '%' || regexp_replace(o.details ->> 'superseded_by', '^[./]+', '')
        or ltrim(substring(n.path from '(\d+)[^/]*$'), '0') = ltrim(o.details ->> 'superseded_by', '0'))), '[]'),
    coalesce(n.details, '{}')
  from jsonb_to_recordset(p_report -> 'notes') as n(path text, type text, facet text, status text, statement text,
    names jsonb, evidence jsonb, details jsonb)
  order by n.path, n.facet, n.statement;
$$;
comment on function pgmem.note_cards is
  'The cards of written records: decision records, rules, explanations in messages.';


create or replace function pgmem.report_cards(p_report jsonb) returns setof pgmem.report_card
language sql immutable set search_path = pgmem, pg_temp as $$
  with made as materialized (
    select * from pgmem.module_cards(p_report)
    union all select * from pgmem.fact_cards(p_report)
  ), every as (
    select m.rank, m.record_type, m.path, m.facet, m.ingest_source, 'active' as status, m.statement, m.subjects,
      case when digest is not null
           then jsonb_build_array(jsonb_build_object('kind', m.kind, 'ref', m.path, 'digest', digest)) else '[]' end
        || case when m.last_commit <> ''
           then jsonb_build_array(jsonb_build_object('kind', 'git_commit', 'ref', m.last_commit)) else '[]' end
        || coalesce((
          select jsonb_agg(jsonb_build_object('kind', 'git_commit', 'ref', c))
          from jsonb_array_elements_text(m.details -> 'commits') c where c <> m.last_commit), '[]') as evidence,
      m.links, m.details
    from made m left join jsonb_each_text(p_report -> 'files') as file(path, digest) on file.path = m.path
    union all
    select n.rank, n.record_type, n.path, n.facet,
      case when n.evidence @> '[{"kind": "doc"}]' then 'doc' else 'git' end, n.status, n.statement, n.subjects,
      n.evidence, n.links, n.details
    from pgmem.note_cards(p_report) n
  )
  select row_number() over (order by e.rank, e.path collate "C", e.facet collate "C"), e.record_type, e.path, e.facet,
    pgmem.card_identity('system:' || e.record_type, e.path, e.facet), left(e.statement, 1000), e.ingest_source,
    e.subjects, e.evidence, e.links, e.details, md5(e.statement || e.subjects::text), e.status
  from every e
  order by 1;
$$;
comment on function pgmem.report_cards is
  'The cards of a report in the order of their value: decisions, tests, companions, reverts, explanations in messages, '
  'roles, owners, drafts.';
