create or replace function pgmem.require_detail(p_detail_level text) returns text
language sql immutable
set search_path = pgmem, pg_temp
as $$
  select case when pgmem.require_word(coalesce(p_detail_level, 'compact'), array['compact', 'full', 'summary', 'normal'],
    'Unknown detail_level ''%s''. Allowed: %s.') = 'full' then 'full' else 'compact' end;
$$;
comment on function pgmem.require_detail(text) is 'compact or full; summary and normal mean compact.';
