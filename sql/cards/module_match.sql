create or replace function pgmem.module_match(p_path text) returns text
language sql immutable strict parallel safe
set search_path = pgmem, pg_temp
as $$
  select ':' || regexp_replace(p_path, '(/__init__)?\.py$', '');
$$;
comment on function pgmem.module_match(text) is 'What the module of a file is looked up by: its path without .py and __init__, after a colon.';
