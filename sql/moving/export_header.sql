-- security definer: clients hold no rights on tables.
create or replace function pgmem.export_header(p_vectors boolean default false, p_all_tenants boolean default false) returns jsonb
language plpgsql stable security definer
set search_path = pgmem, pg_temp
set timezone = 'UTC'
as $$
declare
  v_tenants text[] := pgmem.export_tenants(p_all_tenants);
  v_caller  pgmem.caller := pgmem.caller();
begin
  return jsonb_build_object('type', 'header', 'pgmem_export', 1, 'release', (select v.release from pgmem.schema_version v),
    'exported_at', pgmem.now(), 'org_id', v_caller.org_id, 'user_id', v_caller.user_id, 'all_tenants', p_all_tenants, 'vectors', p_vectors,
    'nodes', (select count(*) from pgmem.node n where n.tenant = any (v_tenants) and n.label not in ('GlobalScope', 'GovernanceToken')),
    'edges', (select count(*) from pgmem.edge e join pgmem.node s on s.seq = e.src join pgmem.node d on d.seq = e.dst
              where s.tenant = any (v_tenants) and d.tenant = any (v_tenants) and 'GovernanceToken' not in (s.label, d.label)),
    'saves', (select count(*) from pgmem.save_attempt a where a.tenant = any (v_tenants)));
end;
$$;
comment on function pgmem.export_header(boolean, boolean) is 'The first line of an export: format, release, whose memory it is and how much.';
