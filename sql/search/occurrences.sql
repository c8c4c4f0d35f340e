-- For one word ts_rank is the sum of 1/i^2 over its n places, divided by pi^2/6 (tsrank.c, calc_rank_or): that gives n back, at a
-- tenth of the price of unnest(tsvector). The bounds lie half way between n - 1 and n, for n from 2 to 32; more count as 32.
create or replace function pgmem.occurrences(p_tsv tsvector, p_word tsquery) returns integer
language sql immutable parallel safe
begin atomic
  select 1 + width_bucket(ts_rank('{1,1,1,1}'::float4[], p_tsv, p_word)::float8, array[
    0.683918, 0.793683, 0.846454, 0.87761, 0.898212, 0.912859, 0.923812, 0.932314, 0.939106, 0.944658, 0.949281,
    0.95319, 0.95654, 0.959442, 0.96198, 0.964219, 0.966209, 0.967989, 0.969591, 0.97104, 0.972357, 0.97356,
    0.974662, 0.975676, 0.976612, 0.977479, 0.978284, 0.979033, 0.979732, 0.980386, 0.980999]::float8[]);
end;
comment on function pgmem.occurrences(tsvector, tsquery) is 'How often a text holds a word that it holds, up to 32.';
