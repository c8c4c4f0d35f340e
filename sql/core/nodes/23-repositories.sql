-- The project of a repository
--
-- A repository has one project, wherever it is checked out and whatever its folder is called. The node of the project
-- keeps the identity of the repository (props.repository): remotes (host/path, without login and scheme), the roots
-- of its history, and places (a digest of machine and common directory, no path). A repository is that of a project
-- that shares
--
--   a place with it, unless the roots of both are known and differ: another repository lies there now
--   a root and a remote, or a root where neither has a remote: a second clone, a clone of a local repository
--
-- so worktrees and clones share, and forks (other remote) and namesakes (other root) do not. A name and an address are
-- said by whoever packed a folder, and the first commit of a published repository is known to all. So a repository that
-- has no more of a project with memories gets its own project, and a person is asked: it asks for a project that was made
-- by its name alone and has one of its names, for one with its remote where the roots of either are not known, or for one
-- with its root where one of the two has no remote. The answer is a place (yes), or nothing more (no).
-- props.repository keeps the question (asks) and the places that a person answered for (said).
--
-- Locks: the scope of projects.


select pgmem.declare_answer('opened_project', $$
The project of a repository: created now, or matched by what the repository is known by.

project_id text, created boolean, matched boolean
asks text?: The project that the repository would have if a person said so.
$$);

create or replace function pgmem.open_project(
  p_names text[],
  p_remotes text[] default '{}',
  p_roots text[] default '{}',
  p_places text[] default '{}',
  p_create boolean default true,
  p_answer boolean default null
) returns pgmem.opened_project
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.opened_project;
  v_caller pgmem.caller := pgmem.require_writer();
  v_known  jsonb := jsonb_build_object('remotes', p_remotes, 'roots', p_roots, 'places', p_places);
  v_node   pgmem.node;
  v_asked  pgmem.node;
  v_scope  pgmem.scope_state;
  v_create boolean := p_create or p_answer is not null;
begin
  if coalesce(cardinality(p_names), 0) = 0 or pgmem.clean_key(p_names[1], 'names') is null then
    raise exception using errcode = 'PM001', message = 'names must not be empty; send the name of the project.';
  end if;
  perform pgmem.require_known(v_known);
  if p_answer is not null and v_caller.trust_level <= pgmem.setting_float('trust_mcp') and not pgmem.decides(v_caller) then
    raise exception using errcode = 'PM004',
      message = 'Only a person says that a folder is of a project: run pgmem trust in that folder.';
  end if;
  if num_nulls(nullif(p_remotes, '{}'), nullif(p_roots, '{}'), nullif(p_places, '{}')) = 3 then
    v_scope := pgmem.resolve_scope(v_caller, p_names[1], null);
    v_answer.created := v_scope.scope_state = 'uncertain' and p_create;
    if v_answer.created then
      v_scope := pgmem.name_project(v_scope, v_caller);
    end if;
    v_answer.project_id := v_scope.project_id;
    v_answer.matched := v_scope.project_exists;
    return v_answer;
  end if;
  v_answer.created := false;
  v_node := pgmem.project_of_repository(v_caller, v_known);
  -- Most calls find a known identity, and take no lock.
  if p_answer is not null or v_node.seq is null
    or pgmem.repository_with(v_node.props -> 'repository', v_known) <> v_node.props -> 'repository'
  then
    perform pgmem.lock_scope(pgmem.scope_key(v_caller.tenant, null, 'Project'));
    v_node := pgmem.project_of_repository(v_caller, v_known);
    v_asked := case when v_node.seq is null then pgmem.project_by_claim(v_caller, v_known, p_names)
                    else pgmem.asked_project(v_caller, v_node) end;
    if p_answer is false and v_node.props -> 'repository' -> 'said' ?| p_places then
      perform pgmem.forget_repository(v_node, v_known);
      return pgmem.open_project(p_names, p_remotes, p_roots, p_places);
    end if;
    if v_asked.seq is not null and (p_answer or v_node.seq is null and not pgmem.project_is_used(v_caller, v_asked)) then
      if v_node.seq is not null then
        perform pgmem.forget_repository(v_node, v_known);
      end if;
      v_node := v_asked;
      v_asked := null;
    elsif v_node.seq is null then
      v_node := pgmem.new_project_of_repository(v_caller, p_names);
      v_answer.created := v_create;
    end if;
    v_answer.project_id := v_node.key;
    v_answer.matched := v_node.props ? 'repository';
    v_answer.asks := case when p_answer is null then v_asked.key end;
    if not v_create then
      return v_answer;
    end if;
    v_node.props := jsonb_set(v_node.props, '{repository}', jsonb_strip_nulls(
      pgmem.repository_with(v_node.props -> 'repository', v_known) || jsonb_build_object('asks', v_answer.asks,
        'said', case when p_answer then pgmem.listed_first(p_places, v_node.props -> 'repository' -> 'said')
                     else v_node.props -> 'repository' -> 'said' end)));
    if v_answer.created then
      perform pgmem.require_no_steering(jsonb_build_object('project_id', v_node.key), v_caller);
      v_node := pgmem.insert_node(v_node);
    elsif v_node.tenant in (v_caller.tenant, pgmem.tenant_of(v_caller.org_id)) then
      v_node := pgmem.update_node(v_node);
    end if;
  else
    v_asked := pgmem.asked_project(v_caller, v_node);
    v_answer.project_id := v_node.key;
    v_answer.matched := true;
    v_answer.asks := v_asked.key;
  end if;
  return v_answer;
end;
$$;
comment on function pgmem.open_project is $$
Find the project of a repository by its identity, else of a name alone, or make it.

A name and an address prove nothing: a repository that has only these of a project with memories gets a separate
project, and the answer says which one it asks for.

names: Names that a new project may have, best first.
remotes: The addresses of the repository as host/path, without scheme and login.
roots: The first commits of its history; empty where they are not known.
places: Digests of the machine and the directory that its worktrees share.
create: False: only find it; a new repository is answered with the name that it would have. An answer makes it.
answer: A person's answer to asks: true for yes; false for no, or to take a yes back.

InvalidArgument: names is empty, or a text holds a control character or is too long.
NotPermitted: An agent answers, or sends a name that steers agents.
$$;
select pgmem.declare_verb('open_project', p_rights => 'writer', p_effect => 'repeat', p_answer => 'OpenedProject');


create or replace function pgmem.require_known(p_known jsonb) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  perform pgmem.require_length(p_known);
  perform pgmem.require_count(jsonb_array_length(k.value), k.key, 'max_list_limit') from jsonb_each(p_known) k;
  perform case when t.value ~ '[\x01-\x1f\x7f-\x9f]' then pgmem.clean_key(t.value, k.key) else pgmem.clean_title(t.value, k.key) end
  from jsonb_each(p_known) k cross join jsonb_array_elements_text(k.value) t(value)
  where t.value is not null and t.value <> '';
end;
$$;
comment on function pgmem.require_known is
  'An error where the identity of a repository has a control character or is longer than a title.';


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
    and (shared.root and (shared.remote or '[]' = all (array[r.kept -> 'remotes', p_known -> 'remotes']))
         or shared.place and (shared.root or '[]' in (r.kept -> 'roots', p_known -> 'roots')))
  -- One that was made until a person answers comes after one that is proved meanwhile.
  order by r.kept ? 'asks', shared.remote desc, shared.place desc, array_position(p_caller.tenants, n.tenant), n.seq
  limit 1;
  return v_node;
end;
$$;
comment on function pgmem.project_of_repository is
  'The project that a repository has by its remotes, roots and places; null: none yet.';


-- Reads node itself, by the caller's tenants.
create or replace function pgmem.project_by_claim(p_caller pgmem.caller, p_known jsonb, p_names text[]) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node;
begin
  select n.* into v_node from pgmem.visible_node n
  cross join lateral (select n.props -> 'repository' as kept) r
  where n.label = 'Project' and n.status = 'active' and not r.kept ? 'asks'
    and n.tenant in (p_caller.tenant, pgmem.tenant_of(p_caller.org_id))
    and (pgmem.shares(r.kept, p_known, 'remotes') and '[]' in (r.kept -> 'roots', p_known -> 'roots')
         or pgmem.shares(r.kept, p_known, 'roots') and '[]' in (r.kept -> 'remotes', p_known -> 'remotes'))
  order by array_position(p_caller.tenants, n.tenant), n.seq limit 1;
  if found then
    return v_node;
  end if;
  -- A project that was made by its name alone, under whichever of the names.
  select n.* into v_node
  from unnest(p_names) with ordinality as o(name, place) cross join unnest(p_caller.tenants) as t(tenant)
  join pgmem.node n on n.scope_key = pgmem.scope_key(t.tenant, null, 'Project')
    and n.tenant || '' = t.tenant and pgmem.folded(n.key) = pgmem.folded(normalize(btrim(o.name), NFC))
  where not n.props ? 'repository' and n.status = 'active'
    and n.tenant in (p_caller.tenant, pgmem.tenant_of(p_caller.org_id))
  order by o.place, array_position(p_caller.tenants, n.tenant) limit 1;
  return v_node;
end;
$$;
comment on function pgmem.project_by_claim is
  'The project that a repository has nothing of but its remote, its root or its name, so that a person is asked; null: none.';


-- Reads node itself, by the caller's tenants.
create or replace function pgmem.asked_project(p_caller pgmem.caller, p_node pgmem.node) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node;
begin
  if p_node.props -> 'repository' ? 'asks' then
    select n.* into v_node from unnest(p_caller.tenants) as t(tenant)
    join pgmem.node n on n.scope_key = pgmem.scope_key(t.tenant, null, 'Project')
      and n.tenant || '' = t.tenant and n.key = p_node.props -> 'repository' ->> 'asks'
    where n.status = 'active' and n.tenant in (p_caller.tenant, pgmem.tenant_of(p_caller.org_id))
    order by array_position(p_caller.tenants, n.tenant) limit 1;
  end if;
  return v_node;
end;
$$;
comment on function pgmem.asked_project is 'The project that the repository of a project asks for; null: none.';


-- Reads node itself, by the caller's tenants.
create or replace function pgmem.project_is_used(p_caller pgmem.caller, p_node pgmem.node) returns boolean
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  return exists (select from pgmem.node n
    where n.label = any (array(select l.name from pgmem.label l)) and n.tenant = any (p_caller.tenants)
      and n.project_seq = p_node.seq and n.seq <> p_node.seq);
end;
$$;
comment on function pgmem.project_is_used is 'Whether a project has a memory, a turn or a focus.';


create or replace function pgmem.forget_repository(p_node pgmem.node, p_known jsonb) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_kept jsonb := (p_node.props -> 'repository') - 'asks';
begin
  v_kept := v_kept || (
    select jsonb_object_agg(part, coalesce((
      select jsonb_agg(k.value) from jsonb_array_elements(v_kept -> part) k(value)
      where not p_known -> replace(part, 'said', 'places') @> k.value), '[]'))
    from unnest('{remotes,roots,places,said}'::text[]) as part);
  p_node.props := case when '{"remotes": [], "roots": [], "places": [], "said": []}'::jsonb @> v_kept
    then p_node.props - 'repository' else jsonb_set(p_node.props, '{repository}', v_kept) end;
  perform pgmem.update_node(p_node);
end;
$$;
comment on function pgmem.forget_repository is 'Take the identity of a repository from the project that had it.';


create or replace function pgmem.shares(p_kept jsonb, p_known jsonb, p_part text) returns boolean
language sql immutable parallel safe
begin atomic
  select exists (select from jsonb_array_elements_text(p_kept -> p_part) k
                 join jsonb_array_elements_text(p_known -> p_part) w using (value));
end;
comment on function pgmem.shares is 'Whether two repositories share a remote, a root or a place.';


create or replace function pgmem.listed_first(p_new text[], p_kept jsonb) returns jsonb
language sql immutable set search_path = pgmem, pg_temp as $$
  -- The newest twenty: places come and go with containers.
  select coalesce(jsonb_agg(v.value order by v.place), '[]') from (
    select u.value, min(u.place) as place from (
      select value, place from unnest(p_new) with ordinality as n(value, place)
      union all
      select value, 1000 + place from jsonb_array_elements_text(p_kept) with ordinality as k(value, place)) u
    group by u.value order by 2 limit 20) v;
$$;
comment on function pgmem.listed_first is 'A list with new values before it, each once, at most twenty.';


create or replace function pgmem.repository_with(p_kept jsonb, p_known jsonb) returns jsonb
language sql immutable set search_path = pgmem, pg_temp as $$
  select case when p_kept @> p_known then p_kept else coalesce(p_kept, '{}') || jsonb_object_agg(part,
    pgmem.listed_first(array(select jsonb_array_elements_text(p_known -> part)), p_kept -> part)) end
  from unnest('{remotes,roots,places}'::text[]) as part;
$$;
comment on function pgmem.repository_with is
  'The stored identity of a repository, with the present one added.';


create or replace function pgmem.new_project_of_repository(p_caller pgmem.caller, p_names text[]) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node := pgmem.new_node('Project', p_caller);
  v_name text;
begin
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
comment on function pgmem.new_project_of_repository is
  'A project for a repository, of the first of its names that is free; not stored yet.';
