-- security definer: clients hold no rights on tables.
create or replace function pgmem.list_tenants() returns table (org_id text, user_id text, memories bigint, projects bigint,
  tokens bigint, roles text[])
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  perform pgmem.require_reviewer('list_tenants');
  return query
  with known as (
    select n.org_id, n.user_id from pgmem.node n where n.label <> 'GlobalScope' group by 1, 2
    union select t.org_id, t.user_id from pgmem.api_token t
    union select r.org_id, r.user_id from pgmem.tenant_role r
  )
  select k.org_id, k.user_id,
    (select count(*) from pgmem.node n join pgmem.label l on l.name = n.label and l.kind = 'memory'
     where n.tenant = k.org_id || e'\x1f' || k.user_id and n.status in ('active', 'approved')),
    (select count(*) from pgmem.node n where n.tenant = k.org_id || e'\x1f' || k.user_id and n.label = 'Project'),
    (select count(*) from pgmem.api_token t where t.org_id = k.org_id and t.user_id = k.user_id and t.revoked_at is null
       and (t.expires_at is null or t.expires_at > pgmem.now())),
    array(select r.role_name::text from pgmem.tenant_role r where r.org_id = k.org_id and r.user_id = k.user_id order by 1)
  from known k order by 1, 2;
end;
$$;
comment on function pgmem.list_tenants() is 'The tenants of this store: live memories, projects, valid tokens, bound logins. Empty names: public.';
