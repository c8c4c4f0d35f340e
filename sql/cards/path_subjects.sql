create or replace function pgmem.path_subjects(p_path text, p_module text default null, p_symbols text[] default '{}') returns jsonb
language sql immutable
set search_path = pgmem, pg_temp
as $$
  select jsonb_build_array(jsonb_build_object('kind', 'path', 'key', p_path, 'relation', 'about', 'match', p_path))
    || case when p_path like '%.py' then jsonb_build_array(jsonb_build_object('kind', 'module',
         'key', coalesce(p_module, replace(substr(pgmem.module_match(p_path), 2), '/', '.')),
         'relation', 'about', 'match', pgmem.module_match(p_path))) else '[]' end
    || coalesce((select jsonb_agg(jsonb_build_object('kind', 'symbol', 'key', symbol, 'relation', 'about', 'match', '#' || symbol) order by symbol)
                 from (select distinct btrim(s) as symbol from unnest(p_symbols) s where btrim(s) <> '') named), '[]');
$$;
comment on function pgmem.path_subjects(text, text, text[]) is 'The subjects of a card about a file: its path, its module, the symbols named.';
