-- Identity comes from the login (tenant_role) or, for the schema's owner and members of pgmem_trusted only, from
-- settings: anybody can run set_config, so nothing else may rest on one.
-- security definer: reads tenant_role and setting, which no client may read. Its owner is the schema's, so that inside
-- it current_user is the schema's owner.
create or replace function pgmem.caller() returns pgmem.caller
language plpgsql stable security definer
set search_path = pgmem, pg_temp
-- setting is small, but a look-up by name costs less than reading all of it, and every verb begins here.
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_trusted    boolean := pg_has_role(session_user, current_user, 'member') or pgmem.is_member('pgmem_trusted');
  v_source     text := coalesce(nullif(current_setting('pgmem.source', true), ''), 'sql');
  v_org_id     text;
  v_user_id    text;
  v_agent_id   text;
  v_session_id text;
  v_made_at    timestamptz;
  v_tenant     text;
  v_tenants    text[];
  v_bound      boolean;
  v_required   boolean;
  v_shared     boolean;
  v_trust      float8;
begin
  -- One statement for all that is looked up: every verb begins here.
  select role.org_id, role.user_id, role.role_name is not null,
    (select value = 'true' from pgmem.setting where name = 'require_identity'),
    exists (select from pgmem.tenant_role) or exists (select from pgmem.api_token),
    (select value::float8 from pgmem.setting
     where name = 'trust_' || case when v_trusted and role.role_name is null then v_source else 'sql' end)
  into v_org_id, v_user_id, v_bound, v_required, v_shared, v_trust
  from (select) as one left join pgmem.tenant_role role on role.role_name = session_user;
  if v_trusted and not v_bound then
    v_org_id := current_setting('pgmem.org_id', true);
    v_user_id := current_setting('pgmem.user_id', true);
    -- The character between the two in tenant: inside one of them it would name another tenant.
    if strpos(concat(v_org_id, v_user_id), e'\x1f') > 0 then
      raise exception using errcode = 'PM001', message = 'pgmem.org_id or pgmem.user_id holds a control character; send printable characters only.';
    end if;
    v_agent_id := nullif(current_setting('pgmem.agent_id', true), '');
    v_session_id := nullif(current_setting('pgmem.session_id', true), '');
    v_made_at := nullif(current_setting('pgmem.made_at', true), '')::timestamptz;
  else
    v_source := 'sql';
  end if;
  v_org_id := coalesce(v_org_id, '');
  v_user_id := coalesce(v_user_id, '');
  v_tenant := v_org_id || e'\x1f' || v_user_id;
  -- Own first, then the organisation's, then the public.
  if v_org_id <> '' and v_user_id <> '' then
    v_tenants := array[v_tenant, v_org_id || e'\x1f', e'\x1f'];
  elsif v_org_id <> '' or v_user_id <> '' then
    v_tenants := array[v_tenant, e'\x1f'];
  elsif v_required then
    v_tenants := '{}';
  else
    v_tenants := array[e'\x1f'];
  end if;
  return row(v_org_id, v_user_id, v_tenant, v_tenants, v_agent_id, v_session_id, v_source, coalesce(v_trust, 0.5),
             v_org_id <> '' or v_user_id <> '', v_made_at, v_shared)::pgmem.caller;
end;
$$;
comment on function pgmem.caller() is
  'Who calls: tenant, the tenants he sees, agent, session and way in. A login bound in tenant_role is that tenant whatever it sets.';
