create or replace function pgmem.derived_trust(p_own float8, p_sources bigint[]) returns float8
language sql stable
set search_path = pgmem, pg_temp
as $$
  select least(p_own, (select min(n.trust_level) from pgmem.visible_node n where n.seq = any (p_sources)));
$$;
comment on function pgmem.derived_trust(float8, bigint[]) is
  'Trust of what was derived: the least of its writer''s and its sources''. Deriving launders nothing.';
