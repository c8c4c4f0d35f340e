-- security definer: the thresholds are for everyone to read.
create or replace function pgmem.list_settings() returns table (name text, value text, description text)
language sql stable security definer
set search_path = pgmem, pg_temp
as $$
  select s.name, s.value, s.description from pgmem.setting s order by s.name;
$$;
comment on function pgmem.list_settings() is 'The thresholds and limits of this store.';
