create or replace function pgmem.text_length(p_tsv tsvector) returns table (text_length integer)
language sql immutable parallel safe
begin atomic
  select coalesce(sum(cardinality(positions))::integer, 0) from unnest(p_tsv) as u(lexeme, positions, weights);
end;
comment on function pgmem.text_length(tsvector) is 'Lexemes in a tsvector, with repeats (its positions); one row.';
