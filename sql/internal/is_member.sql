create or replace function pgmem.is_member(p_role name) returns boolean
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
begin
  return coalesce((select pg_has_role(session_user, r.oid, 'member') from pg_roles r where r.rolname = p_role), false);
end;
$$;
comment on function pgmem.is_member(name) is 'Whether the login is a member of a role; roles are optional, a missing one has no members.';
