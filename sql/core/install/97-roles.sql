-- Roles and rights
--
-- A client may run verbs and nothing else, and which verbs follows from their declarations: pgmem_reader those that
-- read, pgmem_writer all of agents, pgmem_reviewer those of people, pgmem_trusted those of a server that acts for many
-- tenants. Readers may also read the views. pgmem_owner owns the schema and cannot log in.
--
-- Roles are optional (pgmem init --roles): a store without them belongs to the login that made it, and only the verbs
-- keep tenants apart. Roles are cluster-wide, so another database, or another installer at the same moment, may have
-- made them.
--
-- Locks: those of alter … owner and grant, in the install's transaction.


-- The installer runs it as itself. It needs CREATEROLE; on PostgreSQL 16 and later that alone neither sets nor inherits
-- a role that it has made.
create or replace function pgmem.make_roles() returns text[]
language plpgsql set search_path = pgmem, pg_temp as $$
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
        raise exception using errcode = 'PM004',
          message = format('%s may not create roles. Run pgmem init --roles as a role with CREATEROLE; '
                           'without, the verbs alone keep tenants apart (one layer of isolation).', current_user);
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
      raise exception using errcode = 'PM004',
        message = format('%s may not become pgmem_owner, which another role has made: let that role '
                         'or a superuser run: grant pgmem_owner to %I', current_user, current_user);
    end;
  end if;
  begin
    execute 'grant pgmem_writer to pgmem_trusted';
    execute 'grant pgmem_writer, pgmem_reader to pgmem_reviewer';
  exception when insufficient_privilege then
    null;  -- Another installer has made the roles, and granted them.
  end;
  perform pgmem.give_to_owner('pgmem_owner');
  perform pgmem.grant_rights();
  perform pgmem.revoke_from_all();
  return v_made;
end;
$$;
comment on function pgmem.make_roles is $$
Make the missing roles, hand the schema to pgmem_owner and grant rights.

Returns the names of the roles made. pgmem init --roles calls it.

NotPermitted: the login may not create roles, become pgmem_owner, or let it use the schema of an extension.
$$;
select pgmem.declare_verb('make_roles', p_rights => 'owner', p_effect => 'repeat', p_reach => 'cell');


-- Session locks, temporary tables and large objects each take an entry of the lock table, which all databases of the
-- server share and which one login can fill. Functions that only unlock stay: pools of drivers call them.
create or replace function pgmem.open_to_all() returns setof text
language sql stable set search_path = pgmem, pg_temp as $$
  select format('revoke temporary on database %I from public', d.datname)
  from pg_database d
  where d.datname = current_database()
    and exists (select from aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
                where a.grantee = 0 and a.privilege_type = 'TEMPORARY')
  union all
  select format('revoke execute on function %s from public',
                string_agg(p.oid::regprocedure::text, ', ' order by p.oid::regprocedure::text))
  from pg_proc p
  where p.pronamespace = 'pg_catalog'::regnamespace
    and (p.proname ~ '^pg_(try_)?advisory_(xact_)?lock' or p.proname in ('lo_creat', 'lo_create', 'lo_from_bytea'))
    and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0)
  having count(*) > 0;
$$;
comment on function pgmem.open_to_all is $$
Return the statements that take from PUBLIC the rights that allow one login to stop the whole server.

These are the functions of advisory locks and large objects, and temporary tables in this database. No row: all is revoked.
The owner of the database or a superuser runs them; pgmem init --roles tries to, and pgmem doctor shows the rest.
$$;


create or replace function pgmem.revoke_from_all() returns void
language plpgsql set search_path = pgmem, pg_temp set client_min_messages = error as $$
declare
  v_statement text;
begin
  for v_statement in select o from pgmem.open_to_all() o loop
    begin
      execute v_statement;
    exception when insufficient_privilege then
      null;  -- As on managed servers; without the grant option, revoke only warns.
    end;
  end loop;
end;
$$;
comment on function pgmem.revoke_from_all is
  'Take from PUBLIC the rights that allow one login to stop the whole server, as far as the caller may; open_to_all names the '
  'rest.';


create or replace function pgmem.give_to_owner(p_owner name) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_statement text;
  v_schema    name;
begin
  begin
    execute format('grant create on database %I to %I', current_database(), p_owner);
  exception when insufficient_privilege then
    null;
  end;
  -- Verbs run with the rights of the owner, who must reach the types of pgvector and the functions of AGE.
  for v_schema in
    select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace
    where e.extname in ('vector', 'age') and not has_schema_privilege(p_owner, n.oid, 'usage')
  loop
    begin
      execute format('grant usage on schema %I to %I', v_schema, p_owner);
    exception when insufficient_privilege then
      null;
    end;
    -- Without the grant option, grant only warns.
    if not has_schema_privilege(p_owner, v_schema, 'usage') then
      raise exception using errcode = 'PM004',
        message = format('%s may not let %s use the schema %I, which holds an extension: let its owner or a superuser '
                         'run: grant usage on schema %3$I to %2$I', current_user, p_owner, v_schema);
    end if;
  end loop;
  begin
    if to_regnamespace('ag_catalog') is not null then
      execute format('grant select on all tables in schema ag_catalog to %I', p_owner);
      -- A new label is a row in each.
      execute format('grant insert, update, delete on ag_catalog.ag_graph, ag_catalog.ag_label to %I', p_owner);
    end if;
  exception when insufficient_privilege then
    null;
  end;
  for v_statement in
    select format('alter schema %I owner to %I', n.nspname, p_owner) from pg_namespace n
    where n.nspname in ('pgmem', 'pgmem_graph', 'pgmem_report') and n.nspowner <> p_owner::regrole
    union all
    select format('alter %s %I.%I owner to %I',
                  case c.relkind when 'v' then 'view' when 'S' then 'sequence' when 'c' then 'type' else 'table' end,
                  n.nspname, c.relname, p_owner)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('pgmem', 'pgmem_graph', 'pgmem_report') and c.relkind in ('r', 'p', 'v', 'S', 'c')
      and c.relowner <> p_owner::regrole
      -- The sequence of an identity column goes with its table.
      and not exists (
        select from pg_depend d
        where d.classid = 'pg_class'::regclass and d.objid = c.oid and c.relkind = 'S' and d.deptype in ('a', 'i'))
    union all
    -- The domains of arguments, which every upgrade changes.
    select format('alter domain %I.%I owner to %I', n.nspname, t.typname, p_owner)
    from pg_type t join pg_namespace n on n.oid = t.typnamespace
    where n.nspname = 'pgmem' and t.typtype = 'd' and t.typowner <> p_owner::regrole
    union all
    select format('alter function %s owner to %I', p.oid::regprocedure, p_owner) from pg_proc p
    where p.pronamespace in ('pgmem'::regnamespace, to_regnamespace('pgmem_report')) and p.proowner <> p_owner::regrole
  loop
    execute v_statement;
  end loop;
end;
$$;
comment on function pgmem.give_to_owner is $$
Make a role the owner of the schema, the graph and all objects in them, and let it use the schemas of extensions.

NotPermitted: it may not use one, and the login cannot let it.
$$;


-- The views call nothing but the functions of their rows, which run as the owner.
create or replace function pgmem.grant_reports(p_role name) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_function regprocedure;
begin
  if to_regnamespace('pgmem_report') is null or to_regrole(p_role) is null then
    return;
  end if;
  execute format('grant usage on schema pgmem_report to %I', p_role);
  execute format('grant select on all tables in schema pgmem_report to %I', p_role);
  for v_function in
    select p.oid from pg_proc p
    where p.pronamespace = 'pgmem'::regnamespace and starts_with(p.proname, 'rows_of_')
      or p.pronamespace = 'pgmem_report'::regnamespace
  loop
    execute format('grant execute on function %s to %I', v_function, p_role);
  end loop;
end;
$$;
comment on function pgmem.grant_reports is 'Let a role read the views of the schema pgmem_report, and nothing else.';


-- The role sees as much as the login of a store without tenants: it is bound to none and may name none.
create or replace function pgmem.make_report_login(p_password text default null) returns text
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  perform pgmem.require_reviewer('make_report_login');
  if to_regrole('pgmem_report') is null then
    create role pgmem_report login;
  end if;
  alter role pgmem_report set search_path = pgmem_report;
  alter role pgmem_report set default_transaction_read_only = on;
  if p_password is not null then
    execute format('alter role pgmem_report password %L', p_password);
  end if;
  perform pgmem.grant_reports('pgmem_report');
  return 'pgmem_report';
end;
$$;
comment on function pgmem.make_report_login is $$
Make the login pgmem_report, which reads the views of its schema alone; its name.

password: For connections over TCP; unset: the present one, or none.
$$;
select pgmem.declare_verb('make_report_login', p_rights => 'owner', p_effect => 'repeat', p_answer => 'str', p_reach => 'cell');


-- A store without roles revokes from public and grants the login of reports alone.
create or replace function pgmem.grant_rights() returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_verb record;
  v_view text;
begin
  execute 'revoke all on all functions in schema pgmem from public';
  execute 'revoke all on all tables in schema pgmem from public';
  if to_regnamespace('pgmem_report') is not null then
    execute 'revoke all on all functions in schema pgmem_report from public';
    perform pgmem.grant_reports('pgmem_report');
  end if;
  if (select n.nspowner from pg_namespace n where n.nspname = 'pgmem')
      is distinct from to_regrole('pgmem_owner')::oid then
    return;
  end if;
  execute 'grant usage on schema pgmem to pgmem_writer, pgmem_reader';
  for v_verb in
    select p.oid::regprocedure as signature,
           case v.rights when 'reader' then 'pgmem_reader, pgmem_writer' when 'writer' then 'pgmem_writer'
             when 'reviewer' then 'pgmem_reviewer' when 'worker' then 'pgmem_trusted, pgmem_reviewer' end as roles
    from pgmem.verb v join pg_proc p on p.pronamespace = 'pgmem'::regnamespace and p.proname = v.name
    where v.rights <> 'owner'
    union all
    -- Views, policies and the domains of arguments call these with the rights of the caller.
    select p.oid::regprocedure,
           case when starts_with(p.proname, 'rows_of_') then 'pgmem_reader' else 'pgmem_reader, pgmem_writer' end
    from pg_proc p
    where p.pronamespace = 'pgmem'::regnamespace and p.provolatile <> 'v' and p.prokind = 'f'
      and not exists (select from pgmem.verb v where v.name = p.proname)
    union all
    select ('pgmem.' || s)::regproc::regprocedure, 'pgmem_' || r from unnest('{trusted,reviewer}'::text[]) r, pgmem.steps(r) s
  loop
    execute format('grant execute on function %s to %s', v_verb.signature, v_verb.roles);
  end loop;
  -- Readers have no right to a table that holds rows of tenants: the views read functions that run as the owner.
  for v_view in
    select c.relname from pg_class c where c.relnamespace = 'pgmem'::regnamespace and c.relkind in ('r', 'p', 'v')
  loop
    execute format('revoke all on pgmem.%I from pgmem_reader, pgmem_writer, pgmem_trusted, pgmem_reviewer', v_view);
    execute (select coalesce(string_agg(format('revoke select (%I) on pgmem.%I from pgmem_reader', a.attname, v_view),
                                        '; '), 'select')
             from pg_attribute a where a.attrelid = format('pgmem.%I', v_view)::regclass and a.attacl is not null);
  end loop;
  perform pgmem.grant_reports('pgmem_reader');
  execute 'grant select on pgmem.schema_version, pgmem.verb, pgmem.argument to pgmem_writer, pgmem_reader';
  execute 'grant select on pgmem.label, pgmem.relation, pgmem.setting to pgmem_reader';
  for v_view in
    select c.relname from pg_class c
    where c.relnamespace = 'pgmem'::regnamespace and c.relkind = 'v' and c.reloptions @> '{security_invoker=true}'
  loop
    execute format('grant select on pgmem.%I to pgmem_reader', v_view);
  end loop;
end;
$$;
comment on function pgmem.grant_rights is
  'Revoke everything from public, and grant each role its verbs and readers the views.';
