-- Names that a person types
--
-- A client in which a person fills in an argument asks for the names that begin with the typed text. A command takes a
-- title where an agent sends an id.
--
-- Locks: none.


select pgmem.declare_answer('completed_name', $$
A name that begins with what was typed.

value text
$$);

create or replace function pgmem.complete_name(
  p_argument text,
  p_start text default '',
  p_project_id text default null,
  p_limit pgmem.row_limit default 100
) returns setof pgmem.completed_name
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_start text := pgmem.folded(coalesce(p_start, ''));
begin
  perform pgmem.one_of('argument', p_argument, '{project_id,focus,label,session_id}');
  if p_argument = 'label' then
    return query select l.name::text from pgmem.label l
      where pgmem.is_memory(l.name) and starts_with(pgmem.folded(l.name), v_start) order by 1 limit p_limit;
  elsif p_argument = 'session_id' then
    return query select n.id::text from pgmem.live_node n
      where n.label = 'Session' and starts_with(n.id::text, v_start) order by n.seq desc limit p_limit;
  else
    return query select n.key::text from pgmem.live_node n
      where n.label = case p_argument when 'focus' then 'FocusArea' else 'Project' end
        and (p_argument <> 'focus' or p_project_id is null or n.project = p_project_id)
        and starts_with(pgmem.folded(n.key), v_start)
      group by n.key order by max(n.updated_at) desc, n.key limit p_limit;
  end if;
end;
$$;
comment on function pgmem.complete_name is $$
List the names that begin with a text, for an argument that a person fills in.

Projects and focus areas come last changed first, sessions (by id) newest first.

argument: project_id, focus, label or session_id.
start: The text typed so far; case does not count.
project_id: For focus: the project whose areas are listed; unset: of all.

InvalidArgument: an unknown argument, or a limit outside 1 to 1000.
$$;
select pgmem.declare_verb('complete_name', p_rights => 'reader', p_effect => 'read', p_answer => 'list[CompletedName]');


select pgmem.declare_answer('placed_memory', $$
A memory by its id, kind and title, with its project and status.

like labelled_memory
project text?, status text
by person|agent?: Who said it; agent: also a program or a file.
$$);

create or replace function pgmem.find_titled(p_title text, p_project_id text default null)
returns setof pgmem.placed_memory
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_title   text := btrim(p_title);
  v_project bigint := pgmem.find_project(p_project_id);
begin
  return query
  with found as (
    select n.* from pgmem.visible_node n
    where pgmem.name_hash(coalesce(n.key, n.title)) = pgmem.name_hash(v_title) and pgmem.is_memory(n.label)
      and pgmem.folded(coalesce(n.key, n.title)) = pgmem.folded(v_title)
      and (v_project is null or n.project_seq = v_project or n.scope = 'global')
  )
  select f.id, f.label::text, f.title::text, f.project::text, f.status::text,
         pgmem.said_by(f.source, f.trust_level) from found f
  where pgmem.is_live_status(f.status) or not exists (select from found o where pgmem.is_live_status(o.status))
  order by f.seq desc limit 20;
end;
$$;
comment on function pgmem.find_titled is $$
Find the memories of any kind that have a name or an exact title; case does not count.

Those that are live, the newest first; where none is, the others.

title: The name or the title.
project_id: Only of this project and of all projects; unset: everywhere.
$$;
select pgmem.declare_verb('find_titled', p_rights => 'reader', p_effect => 'read', p_answer => 'list[PlacedMemory]');
