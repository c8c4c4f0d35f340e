create or replace function pgmem.lexeme_query(p_lexeme text) returns tsquery
language sql immutable strict parallel safe
begin atomic
  select quote_literal(p_lexeme)::tsquery;
end;
comment on function pgmem.lexeme_query(text) is 'A query for one lexeme, taken as it is.';
