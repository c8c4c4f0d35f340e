create or replace function pgmem.jaccard(p_a text[], p_b text[]) returns float8
language sql immutable strict parallel safe
begin atomic
  select case when cardinality(p_a) = 0 or cardinality(p_b) = 0 then 0.0
              else s.shared::float8 / (cardinality(p_a) + cardinality(p_b) - s.shared) end
  from (select count(*) as shared from unnest(p_a) as a(token) join unnest(p_b) as b(token) using (token)) s;
end;
comment on function pgmem.jaccard(text[], text[]) is 'Shared tokens over all tokens of two token sets; 0 when either is empty.';
