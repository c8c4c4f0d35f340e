-- Card matching
--
-- Which cards a scope touches, and how a card ranks and shows. Every subject has a key `match`, sorted by bytes: a
-- path as it is, a module as :path/of/module, a symbol as #dotted.name. A card matches exactly or through a path
-- above by equality, through a path below by one range of the index (from "path/" to "path0", 0 being the byte after
-- the slash), so pkg/mo never covers pkg/mod2.py.
--
-- The rank of a card is the sum over its subjects (exact 1.0, above or below 0.8; once 0.7 if only a file that
-- imports the path matches) plus its weight, which does not depend on the scope and is stored on the subjects.
--
-- Functions here read tables directly, by the caller's tenants.
--
-- Locks: none.


-- Each look-up is its own subquery (lateral, offset 0): a planner that estimates many paths would read every
-- subject.
create or replace function pgmem.card_match(
  p_tenants text[],
  p_project_seq bigint,
  p_paths text[],
  p_symbols text[],
  p_statuses text[],
  p_branch text default null
) returns table (
  node_seq bigint,
  score float8
)
language sql stable set search_path = pgmem, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off
set jit = off as $$
  with own as materialized (
    select tenant, pgmem.scope_key(tenant, p_project_seq::text, 'Card') as key from unnest(p_tenants) as tenant
  ), named as materialized (
    -- The last run knows the file of a symbol's module; without it the dots stand for folders.
    select '#' || s as match, 1.0::float8 as base from unnest(p_symbols) s
    union all
    select coalesce(f.path, ':' || replace(prefix, '.', '/')), 0.8::float8
    from unnest(p_symbols) s cross join lateral unnest(pgmem.parent_paths(s, '.') || s) as prefix
    left join pgmem.card_file f on f.tenant = any (p_tenants) and f.project_seq = p_project_seq and f.module = prefix
    union all
    select p, 1.0 from unnest(p_paths) p
    union all
    select pgmem.module_match(p), 1.0 from unnest(p_paths) p where p like '%.py'
    union all
    select lead || parent, 0.8
    from unnest(p_paths) p
    cross join lateral unnest(pgmem.parent_paths(p)) as parent
    cross join (values (''), (':')) as l(lead)
  ), dependent as materialized (
    -- Files that import one of the paths: a change has its effects there.
    select distinct d.match from own k
    cross join lateral (
      select s.node_seq from pgmem.card_subject s
      where s.scope_key = k.key and s.tenant = k.tenant and s.match = any (p_paths)
        and s.kind = 'path' and s.relation = 'about' offset 0) s
    cross join lateral (
      select e.src from pgmem.edge e where e.dst = s.node_seq and e.rel = 'DEPENDS_ON' offset 0) e
    join pgmem.card_subject d on d.node_seq = e.src and d.kind = 'path' and d.relation = 'about'
      and d.scope_key in (select key from own) and d.tenant = any (p_tenants)
    limit 500
  ), target as (
    select match collate "C" as match, max(base) as base
    from (select match, base from named union all select match, 0.7 from dependent) t group by match
  ), hit as (
    select s.node_seq, s.kind, s.key, s.weight, t.base
    from target t cross join own k cross join lateral (
      select * from pgmem.card_subject s
      where s.scope_key = k.key and s.tenant = k.tenant and s.match = t.match and s.status = any (p_statuses)
      offset 0) s
    union all
    select s.node_seq, s.kind, s.key, s.weight, 0.8
    from unnest(p_paths) as p cross join (values (''), (':')) as l(lead) cross join own k cross join lateral (
      select * from pgmem.card_subject s
      where s.scope_key = k.key and s.tenant = k.tenant and s.match > (l.lead || p || '/') collate "C"
        and s.match < (l.lead || p || '0') collate "C" and s.status = any (p_statuses) offset 0) s
  )
  -- Importing files count once, and only if nothing nearer matches: a test of twenty modules would lead every list.
  select node_seq, (coalesce(sum(base) filter (where base > 0.7), 0.7) + max(weight))::float8
  from (select node_seq, kind, key, max(base) as base, max(weight) as weight
        from hit group by node_seq, kind, key) subject
  where node_seq not in (select pgmem.elsewhere(p_tenants, array(select key from own), p_branch))
  group by node_seq;
$$;
comment on function pgmem.card_match is
  'The cards about some paths and symbols with their rank: the scores of the matching subjects plus the weight.';


create or replace function pgmem.find_cards(
  p_mode text,
  p_tenants text[],
  p_scope pgmem.scope_state,
  p_path text,
  p_symbol text,
  p_query text,
  p_match_mode text,
  p_statuses text[],
  p_branch text default null
) returns table (
  node_seq bigint,
  score float8
)
language plpgsql stable set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_keys  bigint[] := array(select pgmem.scope_key(t, p_scope.project_seq::text, 'Card') from unnest(p_tenants) t);
  v_query tsquery;
begin
  if p_mode = 'for_path' then
    return query
    select m.node_seq, m.score
    from pgmem.card_match(p_tenants, p_scope.project_seq, array[p_path], '{}', p_statuses, p_branch) m;
  elsif p_mode = 'for_symbol' then
    return query
    select m.node_seq, m.score
    from pgmem.card_match(p_tenants, p_scope.project_seq, '{}', array[p_symbol], p_statuses, p_branch) m;
  elsif p_mode = 'search' then
    v_query := case when p_match_mode = 'all' then pgmem.every_word(pgmem.query_lexemes(p_query, p_scope.text_config))
      else pgmem.any_word(p_query, p_scope.text_config) end;
    if v_query is null then
      return;
    end if;
    return query
    select n.seq, pgmem.word_rank(n.tsv, v_query, 1)::float8 from pgmem.node n
    where n.label = 'Card' and n.scope_key = any (v_keys) and n.tenant || '' = any (p_tenants)
      and n.status = any (p_statuses)
      and n.status <> 'captured' and n.tsv @@ (v_query && pgmem.lexeme_query('@p' || p_scope.project_seq))
      and n.seq not in (select pgmem.elsewhere(p_tenants, v_keys, p_branch));
  else
    return query
    select n.seq, extract(epoch from n.updated_at)::float8 from pgmem.node n
    where n.label = 'Card' and n.scope_key = any (v_keys) and n.tenant || '' = any (p_tenants)
      and n.status = any (p_statuses)
      and (p_path is null or n.props ->> 'path' = p_path)
      and n.seq not in (select pgmem.elsewhere(p_tenants, v_keys, p_branch));
  end if;
end;
$$;
comment on function pgmem.find_cards is
  'The cards of a query mode with the number they are ordered by: rank, text rank, or the time of the last change.';


create or replace function pgmem.scope_coverage(
  p_tenants text[],
  p_keys bigint[],
  p_paths text[],
  p_symbols text[],
  p_branch text,
  out paths jsonb,
  out coverage jsonb
)
language sql stable set search_path = pgmem, pg_temp as $$
  with asked as (
    select p as name, p as exact, p || '/' as low, p || '0' as high from unnest(p_paths) p
    union all select s, '#' || s, '#' || s || '.', '#' || s || '/' from unnest(p_symbols) s
  ), elsewhere as materialized (
    select seq from pgmem.elsewhere(p_tenants, p_keys, p_branch) as seq
  ), found as (
    select a.name, exists (
      select from unnest(p_keys) as k(key) join pgmem.card_subject s on s.scope_key = k.key
      where s.tenant = any (p_tenants) and s.status = 'active' and s.match = a.exact collate "C"
        and s.node_seq not in (select seq from elsewhere))
      or exists (
      select from unnest(p_keys) as k(key) join pgmem.card_subject s on s.scope_key = k.key
      where s.tenant = any (p_tenants) and s.status = 'active' and s.match > a.low collate "C"
        and s.match < a.high collate "C" and s.node_seq not in (select seq from elsewhere)) as covered
    from asked a
  )
  select coalesce(jsonb_agg(jsonb_build_object('path', name, 'covered', covered) order by name), '[]'),
    jsonb_build_object(
      'record_coverage', jsonb_build_object(
        'scope_paths_with_memory', count(*) filter (where covered),
        'scope_paths_total', count(*),
        'coverage_percent',
          coalesce(round(100.0 * count(*) filter (where covered) / nullif(count(*), 0), 1), 0),
        'coverage_kind', 'record_subject_coverage'),
      'observation_confidence', jsonb_build_object(
        'level', case when coalesce(bool_or(covered), false) then 'partial' else 'unknown' end,
        'basis', case when coalesce(bool_or(covered), false) then '["records"]'::jsonb else '[]' end,
        'note', 'Evidence availability only; not correctness, approval, or edit authorization.'))
  from found;
$$;
comment on function pgmem.scope_coverage is
  'For each path whether an active card seen on a branch is about it or something below it, and the percentage.';


create or replace function pgmem.card_subjects(p_node_seq bigint, p_full boolean, out count bigint, out subjects jsonb)
language sql stable set search_path = pgmem, pg_temp as $$
  select count(*), coalesce(jsonb_agg(jsonb_build_object('kind', kind, 'key', key, 'relation', relation) order by place)
    filter (where p_full or place <= 6), '[]')
  from (select c.kind, c.key, c.relation,
               row_number() over (order by c.relation <> 'about', c.kind = 'module', c.kind, c.key) as place
        from pgmem.card_subject c where c.node_seq = p_node_seq) numbered;
$$;
comment on function pgmem.card_subjects is 'How many subjects a card has, and all of them or the first six.';


create or replace function pgmem.card_json(p_node pgmem.node, p_score float8, p_full boolean) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'id', p_node.id,
    'type', p_node.props ->> 'record_type',
    'status', p_node.status,
    'confidence', p_node.props ->> 'confidence',
    'approved', p_node.props ? 'approved_by',
    'statement', case when p_full then p_node.props ->> 'statement' else left(p_node.props ->> 'statement', 160) end,
    'statement_length', length(p_node.props ->> 'statement'),
    'statement_truncated', not p_full and length(p_node.props ->> 'statement') > 160,
    'subjects', s.subjects,
    'subject_count', s.count,
    'evidence_count', (select count(*) from pgmem.card_evidence e where e.node_seq = p_node.seq),
    'relevance_score', round(p_score::numeric, 4),
    'retrieval_lane', case
      when p_node.props ->> 'ingest_source' = 'receipt' or p_node.props ->> 'record_type' = 'change_rationale'
        then 'workflow_context'
      else 'structure_context' end,
    'stale_reason', p_node.props ->> 'stale_reason',
    'branch', p_node.props ->> 'branch',
    'relations', (select jsonb_object_agg(name, ids) from (
      select case e.rel when 'SUPERSEDES' then 'superseded_by' else 'contradicted_by' end as name,
             jsonb_agg(n.id order by n.seq) as ids
      from pgmem.edge e join pgmem.visible_node n on n.seq = e.src
      where e.dst = p_node.seq and e.rel in ('SUPERSEDES', 'CONTRADICTS') group by e.rel) r)))
  || case when p_full then jsonb_strip_nulls(jsonb_build_object(
    'origin', p_node.props ->> 'origin',
    'ingest_source', p_node.props ->> 'ingest_source',
    'path', p_node.props ->> 'path',
    'approved_by', p_node.props ->> 'approved_by',
    'approved_at', p_node.props ->> 'approved_at',
    'rejected_by', p_node.props ->> 'rejected_by',
    'rejection', p_node.props ->> 'rejection',
    'contradiction', p_node.props ->> 'contradiction',
    'payload', p_node.props -> 'details',
    'created_at', p_node.created_at,
    'updated_at', p_node.updated_at,
    'version', p_node.version,
    'evidence', (
      select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('kind', e.kind, 'ref', e.ref, 'digest', e.digest,
        'added_by', e.added_by)) order by e.kind, e.ref)
      from pgmem.card_evidence e where e.node_seq = p_node.seq))) else '{}' end
  from pgmem.card_subjects(p_node.seq, p_full) s;
$$;
comment on function pgmem.card_json is
  'A card as it is shown: compact, with 160 characters of its statement and up to 6 subjects, or full.';


create or replace function pgmem.card_counts(p_tenants text[], p_keys bigint[], p_branch text) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  with elsewhere as materialized (
    select seq from pgmem.elsewhere(p_tenants, p_keys, p_branch) as seq
  ), counted as (
    select n.props ->> 'record_type' as type, n.status, count(*) as count from pgmem.node n
    where n.label = 'Card' and n.scope_key = any (p_keys) and n.tenant || '' = any (p_tenants)
      and n.seq not in (select seq from elsewhere) group by 1, 2
  )
  select jsonb_build_object(
    'record_count', (select coalesce(sum(count), 0) from counted),
    'records_by_type', (select coalesce(jsonb_object_agg(type, count), '{}')
      from (select type, sum(count) as count from counted group by 1) t),
    'records_by_status', (select coalesce(jsonb_object_agg(status, count), '{}')
      from (select status, sum(count) as count from counted group by 1) s),
    'records_elsewhere', (select count(*) from elsewhere),
    'capacity', jsonb_build_object(
      'max_candidates', pgmem.setting_int('max_candidates'), 'max_records', pgmem.setting_int('max_records')));
$$;
comment on function pgmem.card_counts is
  'The cards of a project that are seen on a branch in numbers: by type, by status; those of others, and how many fit.';


create or replace function pgmem.cards_digest(p_tenants text[], p_project_seq bigint) returns text
language sql stable set search_path = pgmem, pg_temp as $$
  select md5(coalesce(string_agg(md5(s.tenant) || ':' || s.revision, ',' order by s.tenant), ''))
  from pgmem.card_state s where s.tenant = any (p_tenants) and s.project_seq = p_project_seq;
$$;
comment on function pgmem.cards_digest is
  'The state of a project''s cards as the caller sees them; every change of a card gives another one.';


create or replace function pgmem.cards_sync(p_tenants text[], p_project_seq bigint) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select jsonb_build_object(
      'policy', pgmem.setting_text('cards_sync_policy'),
      'state', case when exists (
          select from pgmem.card_state s where s.tenant = any (p_tenants) and s.project_seq = p_project_seq)
        then 'ready' else 'missing' end)
    || coalesce((
      select jsonb_build_object('last_run_id', r.id, 'last_run_at', r.created_at, 'fingerprint', r.fingerprint,
        'commit', r.commit_id)
      from pgmem.card_run r where r.tenant = any (p_tenants) and r.project_seq = p_project_seq
      order by r.created_at desc, r.id desc limit 1), '{}');
$$;
comment on function pgmem.cards_sync is
  'Whether a project has engineering memory, its last run, and the policy by which retrieval refreshes it.';
