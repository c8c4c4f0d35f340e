-- security definer: clients hold no rights on tables.
create or replace function pgmem.get_scope_state(p_project_id text default null, p_focus text default null,
  out scope_state text, out state text, out project_id text, out focus text, out project_exists boolean,
  out focus_exists boolean, out write_permitted boolean)
language sql stable security definer
set search_path = pgmem, pg_temp
as $$
  select s.scope_state, s.state, s.project_id, s.focus, s.project_exists, s.focus_exists, s.write_permitted
  from pgmem.resolve_scope(pgmem.caller(), p_project_id, p_focus) s;
$$;
comment on function pgmem.get_scope_state(text, text) is
  'What a project and a focus resolve to and whether a write is permitted. An unknown focus of a known project is made by the first write.';
