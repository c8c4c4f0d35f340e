-- What stands in dedup_token for one title: the floor(n/2) + 1 rarest of its n tokens. Whoever shares half of them
-- shares one of these (prefix filter; see docs/decisions, near-duplicates).
create or replace function pgmem.title_entries(p_ranked bigint[])
returns table (token bigint, signature bigint, size integer, weight integer)
language sql immutable parallel safe
begin atomic
  select prefix.token, s.signature, cardinality(p_ranked), 2 * cardinality(p_ranked) - 3 * (prefix.position::integer - 1)
  from pgmem.token_signature(p_ranked) s
  cross join unnest(p_ranked[1 : cardinality(p_ranked) / 2 + 1]) with ordinality as prefix(token, position);
end;
comment on function pgmem.title_entries(bigint[]) is 'The rows of the near-duplicate index for a live title, from its ranked tokens.';
