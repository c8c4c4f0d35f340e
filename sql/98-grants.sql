-- Grants
--
-- The rights of 97-roles, granted again at the end of every install, because the chapters before have made functions
-- that public may run until then; and what no session may set inside a function. Locks: none. Callers: every install.


select pgmem.grant_rights();


-- What a session sets about reading and reporting statements holds inside the functions that it calls. With
-- standard_conforming_strings off a pattern is read without its backslashes, and stays so in the session; with
-- client_min_messages at log and debug_print_plan on, the session gets the plan of every statement that runs as the
-- owner, whose estimates come from the rows of all tenants.
do $$
declare
  v_function record;
begin
  for v_function in
    select p.oid::regprocedure as name, p.prosecdef,
           -- The triggers of the graph are made with both (91-projection), also those that an earlier release made.
           p.prosqlbody is null and (strpos(p.prosrc, '\') > 0 or p.prosecdef and p.prorettype = 'trigger'::regtype)
             as is_read,
           coalesce('enable_seqscan=off' = any (p.proconfig), false) as is_dear
    from pg_proc p where p.pronamespace = 'pgmem'::regnamespace and p.prokind = 'f'
  loop
    if v_function.is_read then
      execute format('alter function %s set standard_conforming_strings = on', v_function.name);
    end if;
    -- Before PostgreSQL 18 a scan that is forbidden and needed all the same counts as 10 000 000 000, so that a server
    -- with jit compiles its statement: 300 ms for one of 2.
    if v_function.is_dear then
      execute format('alter function %s set jit = off', v_function.name);
    end if;
    if v_function.prosecdef then
      execute format('alter function %s set client_min_messages = notice', v_function.name);
    end if;
  end loop;
end;
$$;
