create or replace function pgmem.is_reviewer() returns boolean
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
begin
  return pg_has_role(session_user, (select nspowner from pg_namespace where nspname = 'pgmem'), 'member')
    or pgmem.is_member('pgmem_reviewer');
end;
$$;
comment on function pgmem.is_reviewer() is 'Whether the login may decide over memories: the schema''s owner and members of pgmem_reviewer.';
