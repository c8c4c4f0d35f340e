-- The project of a repository
--
-- A repository has one project, wherever it is checked out and whatever its folder is called. The node of the project
-- keeps by what the repository was known (props.repository): remotes (host/path, without login and scheme), the roots
-- of its history, and places (a digest of machine and common directory, no path). A repository is that of a project
-- that shares
--
--   a remote or a place with it, unless the roots of both are known and differ: another repository lies there now
--   a root, if one of the two has no remote: a clone of a local repository, or one that got its remote later
--
-- so worktrees and clones share, and forks (other remote) and namesakes (other root) do not. A project that was made by
-- its name alone is taken by the first repository of that name.
--
-- Locks: the scope of projects.


select pgmem.declare_answer('opened_project', $$
The project of a repository: created now, or matched by what the repository is known by.

project_id text, created boolean, matched boolean
$$);

create or replace function pgmem.open_project(
  p_names text[],
  p_remotes text[] default '{}',
  p_roots text[] default '{}',
  p_places text[] default '{}',
  p_create boolean default true
) returns pgmem.opened_project
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.opened_project;
  v_caller pgmem.caller := pgmem.require_writer();
  v_known  jsonb := jsonb_build_object('remotes', p_remotes, 'roots', p_roots, 'places', p_places);
  v_node   pgmem.node;
  v_scope  pgmem.scope_state;
begin
  if coalesce(cardinality(p_names), 0) = 0 or pgmem.clean_key(p_names[1], 'names') is null then
    raise exception using errcode = 'PM001', message = 'names must not be empty; send the name of the project.';
  end if;
  if num_nulls(nullif(p_remotes, '{}'), nullif(p_roots, '{}'), nullif(p_places, '{}')) = 3 then
    v_scope := pgmem.resolve_scope(v_caller, p_names[1], null);
    v_answer.created := v_scope.scope_state = 'uncertain' and p_create;
    if v_answer.created then
      v_scope := pgmem.ensure_project(v_scope, v_caller, null);
    end if;
    v_answer.project_id := v_scope.project_id;
    v_answer.matched := v_scope.project_exists;
    return v_answer;
  end if;
  v_answer.created := false;
  v_node := pgmem.project_of_repository(v_caller, v_known);
  -- Most calls find what is known already, and take no lock.
  if v_node.seq is null or pgmem.repository_with(v_node.props -> 'repository', v_known) <> v_node.props -> 'repository'
  then
    perform pgmem.lock_scope(pgmem.scope_key(v_caller.tenant, null, 'Project'));
    v_node := pgmem.project_of_repository(v_caller, v_known);
    if v_node.seq is null then
      v_node := pgmem.project_for_repository(v_caller, p_names);
      v_answer.created := v_node.seq is null and p_create;
      if not p_create then
        v_answer.project_id := v_node.key;
        v_answer.matched := false;
        return v_answer;
      end if;
    end if;
    v_answer.matched := v_node.props ? 'repository';
    v_node.props := v_node.props || jsonb_build_object('repository',
      pgmem.repository_with(v_node.props -> 'repository', v_known));
    if v_answer.created then
      v_node := pgmem.insert_node(v_node);
    elsif v_node.tenant in (v_caller.tenant, pgmem.tenant_of(v_caller.org_id)) then
      v_node := pgmem.update_node(v_node);
    end if;
  end if;
  v_answer.project_id := v_node.key;
  v_answer.matched := coalesce(v_answer.matched, true);
  return v_answer;
end;
$$;
comment on function pgmem.open_project is $$
Find the project of a repository by what it is known by, else of a name alone, or make it.

names: Names that a new project may have, best first.
remotes: The addresses of the repository as host/path, without scheme and login.
roots: The first commits of its history; empty where they are not known.
places: Digests of the machine and the directory that its worktrees share.
create: False: only find it; a new repository is answered with the name that it would have.

InvalidArgument: names is empty, or a name holds a control character or is too long.
$$;
select pgmem.declare_verb('open_project', p_rights => 'writer', p_effect => 'repeat', p_answer => 'OpenedProject');


create or replace function pgmem.project_of_repository(p_caller pgmem.caller, p_known jsonb) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node;
begin
  select n.* into v_node
  from pgmem.visible_node n
  cross join lateral (select n.props -> 'repository' as kept) r
  cross join lateral (
    select pgmem.shares(r.kept, p_known, 'remotes') as remote, pgmem.shares(r.kept, p_known, 'roots') as root,
           pgmem.shares(r.kept, p_known, 'places') as place) shared
  where n.label = 'Project' and n.status = 'active' and r.kept is not null
    and case when shared.remote or shared.place
          then shared.root or '[]' in (r.kept -> 'roots', p_known -> 'roots')
          else shared.root and '[]' in (r.kept -> 'remotes', p_known -> 'remotes') end
  order by shared.remote desc, shared.place desc, array_position(p_caller.tenants, n.tenant), n.seq limit 1;
  return v_node;
end;
$$;
comment on function pgmem.project_of_repository is
  'The project that a repository has by its remotes, roots and places; null: none yet.';


create or replace function pgmem.shares(p_kept jsonb, p_known jsonb, p_part text) returns boolean
language sql immutable parallel safe
begin atomic
  select exists (select from jsonb_array_elements_text(p_kept -> p_part) k
                 join jsonb_array_elements_text(p_known -> p_part) w using (value));
end;
comment on function pgmem.shares is 'Whether two repositories share a remote, a root or a place.';


create or replace function pgmem.repository_with(p_kept jsonb, p_known jsonb) returns jsonb
language sql immutable set search_path = pgmem, pg_temp as $$
  -- The newest twenty of each: places come and go with containers.
  select case when p_kept @> p_known then p_kept else jsonb_object_agg(part, (
    select coalesce(jsonb_agg(v.value order by v.place), '[]') from (
      select u.value, min(u.place) as place from (
        select value, place from jsonb_array_elements_text(p_known -> part) with ordinality as k(value, place)
        union all
        select value, 1000 + place from jsonb_array_elements_text(p_kept -> part) with ordinality as k(value, place)) u
      group by u.value order by 2 limit 20) v)) end
  from unnest('{remotes,roots,places}'::text[]) as part;
$$;
comment on function pgmem.repository_with is
  'What a repository is known by, with what it is known by now.';


-- Reads node itself, by the caller's tenants.
create or replace function pgmem.project_for_repository(p_caller pgmem.caller, p_names text[]) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node := pgmem.new_node('Project', p_caller);
  v_held pgmem.node;
  v_name text;
begin
  -- A project that was made by its name alone, under whichever of the names.
  select n.* into v_held
  from unnest(p_names) with ordinality as o(name, place) cross join unnest(p_caller.tenants) as t(tenant)
  join pgmem.node n on n.scope_key = pgmem.scope_key(t.tenant, null, 'Project')
    and n.tenant || '' = t.tenant and pgmem.folded(n.key) = pgmem.folded(normalize(btrim(o.name), NFC))
  where not n.props ? 'repository' and n.status = 'active'
    and n.tenant in (p_caller.tenant, pgmem.tenant_of(p_caller.org_id))
  order by o.place, array_position(p_caller.tenants, n.tenant) limit 1;
  if found then
    return v_held;
  end if;
  foreach v_name in array p_names || array(select p_names[1] || '-' || i from generate_series(2, 1000) i) loop
    v_name := pgmem.clean_key(v_name, 'names');
    continue when v_name is null;
    perform from pgmem.node n
    where n.scope_key = any (array(select pgmem.scope_key(t, null, 'Project') from unnest(p_caller.tenants) t))
      and n.tenant || '' = any (p_caller.tenants) and pgmem.folded(n.key) = pgmem.folded(v_name);
    if not found then
      v_node.key := v_name;
      v_node.title := v_name;
      v_node.props := jsonb_build_object('name', v_name);
      v_node.scope_key := pgmem.scope_key(v_node.tenant, null, 'Project');
      return v_node;
    end if;
  end loop;
  raise exception using errcode = 'PM001', message = format('No name is free for this repository beside %s.',
    quote_literal(left(p_names[1], 80)));
end;
$$;
comment on function pgmem.project_for_repository is
  'The project that a repository takes: one of its name that no repository has, or a new one, not stored yet.';
