-- The live title of this scope with the highest Jaccard of at least 0.5; exact, by the prefix filter of docs/decisions.
-- A match of sizes n, m needs an overlap o with 3 o >= n + m. Of the first shared token, rank i here and position p there:
-- o <= n - i + 1 and o <= m - p + 1; and o <= n - (bits of ours that theirs lacks). What is left is compared exactly.
-- Called under the scope lock. Reads node itself: scope_key holds the tenant.
create or replace function pgmem.near_duplicate(p_scope_key bigint, p_tokens text[], p_ranked bigint[],
  out seq bigint, out id uuid, out score float8)
language plpgsql stable
set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_signature bigint := pgmem.token_signature(p_ranked);
  v_size      integer := cardinality(p_ranked);
begin
  if v_size = 0 then
    return;
  end if;
  select n.seq, n.id, pgmem.jaccard(p_tokens, n.title_tokens) into seq, id, score
  from (select distinct candidate.node_seq
        from unnest(p_ranked[1 : v_size / 2 + 1]) with ordinality as probe(token, rank)
        cross join lateral (
          select t.node_seq from pgmem.dedup_token t
          where t.scope_key = p_scope_key and t.token = probe.token
            and t.size between (v_size + 1) / 2 and least(2 * v_size, 3 + 2 * v_size - 3 * probe.rank::integer)
            and t.weight >= v_size
            and 3 * (v_size - bit_count((v_signature & ~t.signature)::bit(64))) >= v_size + t.size
          offset 0) candidate) found
  join pgmem.node n on n.seq = found.node_seq
  where n.status = 'active' and (n.valid_to is null or n.valid_to >= pgmem.now())
    and pgmem.jaccard(p_tokens, n.title_tokens) >= 0.5
  order by 3 desc, n.seq limit 1;
end;
$$;
comment on function pgmem.near_duplicate(bigint, text[], bigint[]) is
  'The nearest live title of a scope, if its Jaccard is 0.5 or more; the oldest of equals.';
