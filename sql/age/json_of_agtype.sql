-- AGE before 1.6 has no agtype_to_json, and that of 1.7 takes no bare number: the text of an agtype is JSON but for the
-- types it appends to values. A string is matched first, so what looks like a type inside it stays.
create or replace function pgmem.json_of_agtype(p_text text) returns jsonb
language sql immutable parallel safe strict
set search_path = pgmem, pg_temp
as $$
  select regexp_replace(p_text, '("(?:[^"\\]|\\.)*")|::(?:vertex|edge|path|numeric)\M', '\1', 'g')::jsonb
$$;
comment on function pgmem.json_of_agtype(text) is 'A value of the graph, written as text, as JSON.';
