create or replace function pgmem.give_to_owner(p_owner name) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
declare
  v_statement text;
begin
  begin
    execute format('grant create on database %I to %I', current_database(), p_owner);
    if to_regnamespace('ag_catalog') is not null then
      execute format('grant usage on schema ag_catalog to %I', p_owner);
      execute format('grant select on all tables in schema ag_catalog to %I', p_owner);
    end if;
  exception when insufficient_privilege then
    null;
  end;
  for v_statement in
    select format('alter schema %I owner to %I', n.nspname, p_owner) from pg_namespace n
    where n.nspname in ('pgmem', 'pgmem_graph') and n.nspowner <> p_owner::regrole
    union all
    select format('alter %s %I.%I owner to %I', case c.relkind when 'v' then 'view' when 'S' then 'sequence' when 'c' then 'type' else 'table' end,
                  n.nspname, c.relname, p_owner)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('pgmem', 'pgmem_graph') and c.relkind in ('r', 'p', 'v', 'S', 'c') and c.relowner <> p_owner::regrole
      -- The sequence of an identity column goes with its table.
      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and c.relkind = 'S' and d.deptype in ('a', 'i'))
    union all
    select format('alter function %s owner to %I', p.oid::regprocedure, p_owner) from pg_proc p
    where p.pronamespace = 'pgmem'::regnamespace and p.proowner <> p_owner::regrole
  loop
    execute v_statement;
  end loop;
end;
$$;
comment on function pgmem.give_to_owner(name) is 'Hand the schema, the graph and all that is in them to a role.';
