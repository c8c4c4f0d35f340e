-- Owner only: a binding decides whose memory a login is. security definer is not needed, the owner holds the rights.
create or replace function pgmem.bind_role(p_role text, p_org_id text default '', p_user_id text default '',
  out role_name text, out org_id text, out user_id text)
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  role_name := p_role;
  org_id := coalesce(pgmem.clean_key(p_org_id, 'org_id'), '');
  user_id := coalesce(pgmem.clean_key(p_user_id, 'user_id'), '');
  if not exists (select from pg_roles r where r.rolname = p_role) then
    raise exception using errcode = 'PM002', message = format('No database role %s is here; create it first.', quote_literal(left(p_role, 80)));
  end if;
  if pg_has_role(p_role, (select nspowner from pg_namespace where nspname = 'pgmem'), 'member') then
    raise exception using errcode = 'PM001', message = format('%s owns this store; bind a login that does not.', p_role);
  end if;
  if org_id = '' and user_id = '' then
    delete from pgmem.tenant_role r where r.role_name = p_role;
    return;
  end if;
  insert into pgmem.tenant_role (role_name, org_id, user_id) values (p_role, org_id, user_id)
  on conflict (role_name) do update set org_id = excluded.org_id, user_id = excluded.user_id;
end;
$$;
comment on function pgmem.bind_role(text, text, text) is
  'Make a database login a tenant, whatever it sets; with neither org_id nor user_id the binding ends.';
