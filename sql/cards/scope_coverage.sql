-- Reads card_subject itself: scope_key holds the tenant.
create or replace function pgmem.scope_coverage(p_keys bigint[], p_paths text[], p_symbols text[] default '{}', out paths jsonb, out coverage jsonb)
language sql stable
set search_path = pgmem, pg_temp
as $$
  with asked as (
    select p as name, p as exact, p || '/' as low, p || '0' as high from unnest(p_paths) p
    union all select s, '#' || s, '#' || s || '.', '#' || s || '/' from unnest(p_symbols) s
  ), found as (
    select a.name, exists (
      select from unnest(p_keys) as k(key) join pgmem.card_subject s on s.scope_key = k.key
      where s.status = 'active' and s.match = a.exact collate "C")
      or exists (
      select from unnest(p_keys) as k(key) join pgmem.card_subject s on s.scope_key = k.key
      where s.status = 'active' and s.match > a.low collate "C" and s.match < a.high collate "C") as covered
    from asked a
  )
  select coalesce(jsonb_agg(jsonb_build_object('path', name, 'covered', covered) order by name), '[]'),
    jsonb_build_object(
      'record_coverage', jsonb_build_object('scope_paths_with_memory', count(*) filter (where covered), 'scope_paths_total', count(*),
        'coverage_percent', coalesce(round(100.0 * count(*) filter (where covered) / nullif(count(*), 0), 1), 0), 'coverage_kind', 'record_subject_coverage'),
      'observation_confidence', jsonb_build_object('level', case when coalesce(bool_or(covered), false) then 'partial' else 'unknown' end,
        'basis', case when coalesce(bool_or(covered), false) then '["records"]'::jsonb else '[]' end,
        'note', 'Evidence availability only; not correctness, approval, or edit authorization.'))
  from found;
$$;
comment on function pgmem.scope_coverage(bigint[], text[], text[]) is
  'Of which paths an active card is about the path itself or something below it, and the share of them in per cent.';
