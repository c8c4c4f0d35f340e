-- The cards that touch a scope, with what each of their subjects scores. Index lookups only: exact and parent paths by
-- equality, what lies below a path by one range of a byte-sorted index, so that pkg/mo never covers pkg/mod2.py.
-- Reads card_subject itself: scope_key holds the tenant. Each look-up stands by itself (lateral, offset 0): a planner that
-- thinks there are many paths would read every subject.
create or replace function pgmem.card_match(p_tenants text[], p_project_seq bigint, p_paths text[], p_symbols text[], p_statuses text[])
returns table (node_seq bigint, score float8)
language sql stable
set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
  with own as materialized (
    select pgmem.scope_key(tenant, p_project_seq::text, 'Card') as key from unnest(p_tenants) as tenant
  ), named as materialized (
    -- Where a symbol's module lies is known from the last run; else its dots are taken for folders.
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
    select lead || parent, 0.8 from unnest(p_paths) p cross join lateral unnest(pgmem.parent_paths(p)) as parent cross join (values (''), (':')) as l(lead)
  ), dependent as materialized (
    -- Files that import one of these: where a change would be felt.
    select distinct d.match from own k
    cross join lateral (
      select s.node_seq from pgmem.card_subject s
      where s.scope_key = k.key and s.match = any (p_paths) and s.kind = 'path' and s.relation = 'about' offset 0) s
    cross join lateral (select e.src from pgmem.edge e where e.dst = s.node_seq and e.rel = 'DEPENDS_ON' offset 0) e
    join pgmem.card_subject d on d.node_seq = e.src and d.kind = 'path' and d.relation = 'about' and d.scope_key in (select key from own)
    limit 500
  ), target as (
    select match collate "C" as match, max(base) as base
    from (select match, base from named union all select match, 0.7 from dependent) t group by match
  ), hit as (
    select s.node_seq, s.kind, s.key, s.weight, t.base
    from target t cross join own k cross join lateral (
      select * from pgmem.card_subject s where s.scope_key = k.key and s.match = t.match and s.status = any (p_statuses) offset 0) s
    union all
    select s.node_seq, s.kind, s.key, s.weight, 0.8
    from unnest(p_paths) as p cross join (values (''), (':')) as l(lead) cross join own k cross join lateral (
      select * from pgmem.card_subject s
      where s.scope_key = k.key and s.match > (l.lead || p || '/') collate "C" and s.match < (l.lead || p || '0') collate "C"
        and s.status = any (p_statuses) offset 0) s
  )
  -- A dependent counts once, and only where nothing nearer does: else a test of twenty modules would lead every list.
  select node_seq, (coalesce(sum(base) filter (where base > 0.7), 0.7) + max(weight))::float8
  from (select node_seq, kind, key, max(base) as base, max(weight) as weight from hit group by node_seq, kind, key) subject
  group by node_seq;
$$;
comment on function pgmem.card_match(text[], bigint, text[], text[], text[]) is
  'The cards about some paths and symbols with their rank: each subject exact 1.0, above or below 0.8, importing it 0.7; plus the card''s weight.';
