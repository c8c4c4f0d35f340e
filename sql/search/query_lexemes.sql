create or replace function pgmem.query_lexemes(p_text text, p_config text) returns text[]
language plpgsql immutable parallel safe
set search_path = pgmem, pg_temp
as $$
begin
  return tsvector_to_array(to_tsvector(p_config::regconfig, pgmem.segment(left(p_text, 10000))));
end;
$$;
comment on function pgmem.query_lexemes(text, text) is 'The lexemes a query asks for, stop words left out.';
