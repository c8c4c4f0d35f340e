create or replace function pgmem.export_tenants(p_all_tenants boolean) returns text[]
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
begin
  if not p_all_tenants then
    return pgmem.visible_tenants();
  elsif not pgmem.is_reviewer() then
    raise exception using errcode = 'PM004',
      message = 'To export all tenants is for people who keep the store: connect as its owner or a member of pgmem_reviewer.';
  end if;
  return array(select distinct n.tenant from pgmem.node n union select distinct a.tenant from pgmem.save_attempt a);
end;
$$;
comment on function pgmem.export_tenants(boolean) is 'The tenants whose rows an export holds: those the caller sees, or all for who keeps the store.';
