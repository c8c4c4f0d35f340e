create or replace function pgmem.make_projection(p_table text, p_event text, p_column text, p_some text, p_rows text, p_branches text, p_after text)
returns void
language plpgsql
set search_path = pgmem, pg_temp
as $make$
declare
  v_function text := format('project_%s_%s', p_table, p_event);
  v_body     text := format($f$
-- Written by build_projection() from the registry.
declare
  v_names text[];
  v_name  text;
  v_some  boolean;
begin
  select coalesce(array_agg(distinct n.%1$s), '{}'), bool_or(%5$s) into v_names, v_some from %2$s n;
  foreach v_name in array v_names loop
    case v_name%3$s
    else null;
    end case;
  end loop;%4$s
  return null;
end;
$f$, p_column, p_rows, p_branches, p_after, p_some);
begin
  -- Replaced only where its text changed: a trigger takes a lock that waits for every writer.
  if exists (select from pg_proc where pronamespace = 'pgmem'::regnamespace and proname = v_function and prosrc = v_body)
     and exists (select from pg_trigger where tgrelid = format('pgmem.%I', p_table)::regclass and tgname = v_function) then
    return;
  end if;
  execute format('create or replace function pgmem.%I() returns trigger language plpgsql security definer '
    'set search_path = pgmem, pg_temp%s as %L', v_function,
    -- Vertices and edges are found by id, however many rows a statement had when this was planned.
    case when p_event = 'insert' then '' else ' set enable_hashjoin = off set enable_mergejoin = off' end, v_body);
  execute format('comment on function pgmem.%I() is %L', v_function, format('Trigger: every %s of %s goes to the graph.', p_event, p_table));
  execute format('create or replace trigger %1$I after %2$s on pgmem.%3$I referencing %4$s for each statement execute function pgmem.%1$I()',
    v_function, p_event, p_table,
    case p_event when 'insert' then 'new table as new_rows' when 'delete' then 'old table as old_rows'
      else 'new table as new_rows old table as old_rows' end);
end;
$make$;
comment on function pgmem.make_projection(text, text, text, text, text, text, text) is
  'One trigger function of the projection and its trigger. v_some: whether any row fulfils p_some.';
