create or replace function pgmem.import_owner(p_record jsonb, p_caller pgmem.caller, p_all_tenants boolean) returns pgmem.caller
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
declare
  v_org  text := coalesce(p_record ->> 'org_id', '');
  v_user text := coalesce(p_record ->> 'user_id', '');
begin
  if p_all_tenants then
    p_caller.org_id := coalesce(pgmem.clean_key(v_org, 'org_id'), '');
    p_caller.user_id := coalesce(pgmem.clean_key(v_user, 'user_id'), '');
  elsif v_user = '' and v_org <> '' and p_caller.org_id <> '' then
    -- What an organisation shared stays shared, within the caller's; all else becomes his own.
    p_caller.user_id := '';
  end if;
  p_caller.tenant := p_caller.org_id || e'\x1f' || p_caller.user_id;
  p_caller.tenants := array[p_caller.tenant, p_caller.org_id || e'\x1f', e'\x1f'];
  return p_caller;
end;
$$;
comment on function pgmem.import_owner(jsonb, pgmem.caller, boolean) is
  'Whose a record becomes: as it says when all tenants are imported, else the caller''s or, where it was shared, his organisation''s.';
