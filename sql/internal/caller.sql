-- Identity comes from the login (tenant_role) or, for the schema's owner and members of pgmem_trusted only, from
-- settings: anybody can run set_config, so nothing else may rest on one.
-- security definer: reads tenant_role and setting, which no client may read.
create or replace function pgmem.caller() returns pgmem.caller
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller  pgmem.caller;
  v_bound   boolean;
  v_trusted boolean;
begin
  select role.org_id, role.user_id, role.role_name is not null, pg_has_role(session_user, schema.nspowner, 'member')
  into v_caller.org_id, v_caller.user_id, v_bound, v_trusted
  from pg_namespace schema left join pgmem.tenant_role role on role.role_name = session_user
  where schema.nspname = 'pgmem';
  if not v_bound and (v_trusted or pgmem.is_member('pgmem_trusted')) then
    v_caller.org_id := current_setting('pgmem.org_id', true);
    v_caller.user_id := current_setting('pgmem.user_id', true);
    -- The character between the two in tenant: inside one of them it would name another tenant.
    if strpos(concat(v_caller.org_id, v_caller.user_id), e'\x1f') > 0 then
      raise exception using errcode = 'PM001', message = 'pgmem.org_id or pgmem.user_id holds a control character; send printable characters only.';
    end if;
    v_caller.agent_id := nullif(current_setting('pgmem.agent_id', true), '');
    v_caller.session_id := nullif(current_setting('pgmem.session_id', true), '');
    v_caller.source := nullif(current_setting('pgmem.source', true), '');
    v_caller.made_at := nullif(current_setting('pgmem.made_at', true), '')::timestamptz;
  end if;
  v_caller.org_id := coalesce(v_caller.org_id, '');
  v_caller.user_id := coalesce(v_caller.user_id, '');
  v_caller.source := coalesce(v_caller.source, 'sql');
  v_caller.identified := v_caller.org_id <> '' or v_caller.user_id <> '';
  v_caller.tenant := v_caller.org_id || e'\x1f' || v_caller.user_id;
  -- Own first, then the organisation's, then the public.
  v_caller.tenants := case
    when v_caller.org_id <> '' and v_caller.user_id <> '' then array[v_caller.tenant, v_caller.org_id || e'\x1f', e'\x1f']
    when v_caller.identified then array[v_caller.tenant, e'\x1f']
    when pgmem.setting_text('require_identity') = 'true' then '{}'
    else array[e'\x1f'] end;
  return v_caller;
end;
$$;
comment on function pgmem.caller() is
  'Who calls: tenant, the tenants he sees, agent, session and way in. A login bound in tenant_role is that tenant whatever it sets.';
