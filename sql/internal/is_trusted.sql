-- security definer: reads tenant_role, which no client may read.
create or replace function pgmem.is_trusted() returns boolean
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
begin
  return not exists (select from pgmem.tenant_role r where r.role_name = session_user)
    and (pg_has_role(session_user, (select nspowner from pg_namespace where nspname = 'pgmem'), 'member')
         or pgmem.is_member('pgmem_trusted'));
end;
$$;
comment on function pgmem.is_trusted() is 'Whether the settings pgmem.org_id and pgmem.user_id of this login count.';
