create or replace function pgmem.has_vectors() returns boolean
language sql stable
set search_path = pgmem, pg_temp
as $$
  select to_regclass('pgmem.embedding') is not null;
$$;
comment on function pgmem.has_vectors() is 'Whether this store keeps vectors.';
