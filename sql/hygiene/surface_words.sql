-- A hook asks with what it has: a path, an identifier, a command. camelCase, snake_case and paths are taken apart, and kept whole.
create or replace function pgmem.surface_words(p_text text, p_config text) returns text[]
language sql stable
set search_path = pgmem, pg_temp
as $$
  select coalesce(array_agg(distinct lexeme), '{}')
  from (values (p_text), (replace(p_text, '/', ' ')), (regexp_replace(regexp_replace(p_text, '([[:lower:]\d])([[:upper:]])', '\1 \2', 'g'), '[\W_]+', ' ', 'g'))) as t(text)
  cross join lateral unnest(pgmem.query_lexemes(t.text, p_config)) as lexeme
  where length(lexeme) >= 3 or lexeme ~ '[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]';
$$;
comment on function pgmem.surface_words(text, text) is 'The lexemes of three or more characters that a line of code or a path asks for.';
