create or replace function pgmem.parent_paths(p_path text, p_separator text default '/') returns text[]
language sql immutable strict parallel safe
set search_path = pgmem, pg_temp
as $$
  select coalesce(array_agg(array_to_string(parts[1 : n], p_separator) order by n), '{}')
  from (select string_to_array(p_path, p_separator) as parts) p, generate_series(1, cardinality(parts) - 1) as n;
$$;
comment on function pgmem.parent_paths(text, text) is 'Every path above one, shortest first, the root and itself left out.';
