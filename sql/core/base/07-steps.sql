-- Steps
--
-- A call of the core has points at which features add a step, so that it names none of them: the chapter of a feature says
-- declare_step, and a point without a step does nothing. The points, with the function that a step is:
--
--   sweep          (limit integer) returns integer: deletes rows that are old; limit means that there may be more (85-upkeep)
--   vocabulary     () returns anything: follows labels and relations that are new (13-schema)
--   renew NAME     () returns bigint: writes rows of an earlier release again; the rows written (87-renewal)
--   export header  () returns jsonb: fields of the first line of an export (80-export)
--   installed      (given jsonb) returns anything: at the end of an install; given has cell, a number, and new_feed (pgmem/install)
--   trusted, reviewer   a function besides the verbs, which such logins may execute (97-roles)
--
-- Locks: the rows of pgmem.step, inside the upgrade's transaction.


delete from pgmem.step;


create or replace function pgmem.declare_step(p_point text, p_function name) returns void
language sql set search_path = pgmem, pg_temp as $$
  insert into pgmem.step (place, point, function, chapter)
  select coalesce(max(s.place), 0) + 1, p_point, p_function, current_setting('pgmem.chapter') from pgmem.step s;
$$;
comment on function pgmem.declare_step is 'Let a call of the core run a function of a feature at one of its points.';


create or replace function pgmem.steps(p_point text) returns setof name
language sql stable set search_path = pgmem, pg_temp as $$
  select s.function from pgmem.step s where s.point = p_point order by s.place;
$$;
comment on function pgmem.steps is 'The functions of features at a point of a call, in their order.';


create or replace function pgmem.run_steps(p_point text, p_given jsonb) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_step name;
begin
  for v_step in select * from pgmem.steps(p_point) loop
    execute format('select pgmem.%I($1)', v_step) using p_given;
  end loop;
end;
$$;
comment on function pgmem.run_steps is 'Run the functions of features at a point of a call, for their effect.';
