-- Settings of functions
--
-- Settings that no session may change inside a function. Rights are granted after the chapters, by grant_rights (97-roles).
-- Locks: none.


-- Settings of a session about reading and reporting statements hold inside the functions that it calls. With
-- standard_conforming_strings off a pattern is read without its backslashes, and stays so in the session; with
-- client_min_messages at log and debug_print_plan on, the session gets the plan of every statement that runs as the
-- owner, whose estimates come from the rows of all tenants.
--
-- A verb answers alike whatever a database or a role has as its defaults: a time as text, the zone of a time without one, a
-- comparison with null and the text of a number are those of PostgreSQL's own defaults in UTC.
do $$
declare
  v_statement text;
begin
  for v_statement in
    select concat('alter function ', p.oid::regprocedure,
      -- The triggers of the graph are made with both (91-projection), also those that an earlier release made.
      case when p.prosqlbody is null
             and (strpos(p.prosrc, '\') > 0 or p.prosecdef and p.prorettype = 'trigger'::regtype)
             or v.name is not null
        then ' set standard_conforming_strings = on' end,
      case when v.name is not null then ' set timezone = ''UTC'' set datestyle = ''ISO, YMD'' set intervalstyle = postgres'
        ' set extra_float_digits = 1 set bytea_output = hex set array_nulls = on set transform_null_equals = off'
        ' set quote_all_identifiers = off set row_security = on' end,
      -- Before PostgreSQL 18 a scan that is forbidden and needed all the same counts as 10 000 000 000, so that a
      -- server with jit compiles its statement: 300 ms for one of 2.
      case when 'enable_seqscan=off' = any (p.proconfig) then ' set jit = off' end,
      case when p.prosecdef then ' set client_min_messages = notice' end)
    from pg_proc p left join pgmem.verb v on v.name = p.proname where p.pronamespace = 'pgmem'::regnamespace and p.prokind = 'f'
      and (p.prosecdef or v.name is not null or 'enable_seqscan=off' = any (p.proconfig)
           or p.prosqlbody is null and strpos(p.prosrc, '\') > 0)
  loop
    execute v_statement;
  end loop;
end;
$$;
