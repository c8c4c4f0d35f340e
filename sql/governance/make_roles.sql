-- Roles are cluster-wide: another database, or another installer at the same moment, may have made them. Run by the installer as
-- himself: he needs CREATEROLE, and on PostgreSQL 16 and later that alone neither sets nor inherits a role he has made.
create or replace function pgmem.make_roles() returns text[]
language plpgsql
set search_path = pgmem, pg_temp
as $$
declare
  v_role  text;
  v_made  text[] := '{}';
  v_super boolean := (select r.rolsuper from pg_roles r where r.rolname = current_user);
begin
  foreach v_role in array '{pgmem_owner,pgmem_writer,pgmem_reader,pgmem_trusted,pgmem_reviewer}'::text[] loop
    if not exists (select from pg_roles r where r.rolname = v_role) then
      begin
        execute format('create role %I nologin', v_role);
        v_made := v_made || v_role;
      exception when duplicate_object or unique_violation then
        null;
      when insufficient_privilege then
        raise exception using errcode = 'PM004', message = format('%s may not create roles. Run pgmem init --roles as a role with CREATEROLE; '
          'without, the verbs alone keep tenants apart (one wall).', current_user);
      end;
    end if;
  end loop;
  if not v_super and not pg_has_role(current_user, 'pgmem_owner', 'usage') then
    begin
      if current_setting('server_version_num')::integer >= 160000 then
        execute 'grant pgmem_owner to current_user with set true, inherit true';
      else
        execute 'grant pgmem_owner to current_user';
      end if;
    exception when insufficient_privilege then
      raise exception using errcode = 'PM004', message = format('%s may not become pgmem_owner, which another role has made: let that role '
        'or a superuser run: grant pgmem_owner to %I', current_user, current_user);
    end;
  end if;
  begin
    execute 'grant pgmem_writer to pgmem_trusted';
    execute 'grant pgmem_writer, pgmem_reader to pgmem_reviewer';
  exception when insufficient_privilege then
    null;  -- made by another installer, who has granted them
  end;
  perform pgmem.give_to_owner('pgmem_owner');
  perform pgmem.grant_rights();
  return v_made;
end;
$$;
comment on function pgmem.make_roles() is
  'Make the roles of the second wall where they are missing, hand the schema to pgmem_owner, and grant; the roles made.';
