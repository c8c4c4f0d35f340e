create or replace function pgmem.clean_paths(p_paths text[]) returns text[]
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
declare
  v_paths text[] := array(select distinct pgmem.clean_path(coalesce(path, '')) from unnest(p_paths) as path order by 1);
begin
  if cardinality(v_paths) > pgmem.setting_int('max_intent_paths') then
    raise exception using errcode = 'PM010', message = format('%s paths are too many for one scope; send at most %s.',
      cardinality(v_paths), pgmem.setting_int('max_intent_paths'));
  end if;
  return v_paths;
end;
$$;
comment on function pgmem.clean_paths(text[]) is 'The paths of a scope, each cleaned and once, at most max_intent_paths of them.';
