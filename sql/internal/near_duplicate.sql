-- The live title of this scope with the highest Jaccard of at least 0.5; exact, by the prefix filter of docs/decisions.
-- A match of sizes n, m needs an overlap o with 3 o >= n + m. Of the first shared token, rank i here and position p there:
-- o <= n - i + 1 and o <= m - p + 1; and o <= n - (bits of ours that theirs lacks). What is left is compared exactly.
-- Called under the scope lock. Reads node itself: scope_key holds the tenant.
create or replace function pgmem.near_duplicate(p_scope_key bigint, p_title text,
  out words text[], out ranked bigint[], out seq bigint, out id uuid, out score float8)
language plpgsql stable
set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_found bigint[];
begin
  select title.words, r.ranked, array(
    select candidate.node_seq
    from unnest(r.ranked[1 : size.n / 2 + 1]) with ordinality as probe(token, rank)
    cross join lateral (
      select t.node_seq from pgmem.dedup_token t
      where t.scope_key = p_scope_key and t.token = probe.token
        and t.size between (size.n + 1) / 2 and least(2 * size.n, 3 + 2 * size.n - 3 * probe.rank::integer)
        and t.weight >= size.n
        and 3 * (size.n - bit_count((s.signature & ~t.signature)::bit(64))) >= size.n + t.size
      offset 0) candidate)
  into words, ranked, v_found
  from pgmem.title_words(p_title) title
  cross join lateral pgmem.ranked_tokens(title.words) r
  cross join lateral pgmem.token_signature(r.ranked) s
  cross join lateral cardinality(r.ranked) as size(n);
  if v_found = '{}' then
    return;
  end if;
  select n.seq, n.id, exact.score into seq, id, score
  from pgmem.node n
  cross join lateral (select pgmem.jaccard(words, n.title_tokens) as score offset 0) exact
  where n.seq = any (v_found) and n.status = 'active' and (n.valid_to is null or n.valid_to >= pgmem.now())
    and exact.score >= 0.5
  order by exact.score desc, n.seq limit 1;
end;
$$;
comment on function pgmem.near_duplicate(bigint, text) is
  'The nearest live title of a scope, if its Jaccard is 0.5 or more, the oldest of equals; and the words of the title asked for.';
