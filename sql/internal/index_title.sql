-- Keeps the rows of one title in dedup_token: the floor(n/2) + 1 rarest of its n tokens. Whoever shares half of them
-- shares one of these (prefix filter; see docs/decisions, near-duplicates).
create or replace function pgmem.index_title(p_node_seq bigint, p_scope_key bigint, p_ranked bigint[]) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
declare
  v_signature bigint := pgmem.token_signature(p_ranked);
  v_size      integer := cardinality(p_ranked);
begin
  insert into pgmem.dedup_token (node_seq, scope_key, token, signature, size, weight)
  select p_node_seq, p_scope_key, token, v_signature, v_size, 2 * v_size - 3 * (position::integer - 1)
  from unnest(p_ranked[1 : v_size / 2 + 1]) with ordinality as prefix(token, position);
end;
$$;
comment on function pgmem.index_title(bigint, bigint, bigint[]) is 'Enter a live title into the near-duplicate index.';
