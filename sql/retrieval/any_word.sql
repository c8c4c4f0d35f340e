create or replace function pgmem.any_word(p_text text, p_config text) returns tsquery
language plpgsql stable parallel safe
set search_path = pgmem, pg_temp
as $$
begin
  return (select string_agg(quote_literal(lexeme), ' | ')::tsquery
          from unnest(tsvector_to_array(to_tsvector(p_config::regconfig, pgmem.segment(left(p_text, 10000))))) as lexeme);
end;
$$;
comment on function pgmem.any_word(text, text) is
  'A query for any word of a text, never for all of them at once; null when the text holds none that counts.';
