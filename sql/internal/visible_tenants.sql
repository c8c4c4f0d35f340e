create or replace function pgmem.visible_tenants() returns text[]
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
begin
  return (pgmem.caller()).tenants;
end;
$$;
comment on function pgmem.visible_tenants() is
  'The tenants whose rows the caller may see: his own, his organisation''s shared, the public. Own first.';
