-- Scope and its lock
--
-- A project name and a focus resolve to nodes: the caller's own first, then its organisation's, then public ones. The
-- state is unresolved (no name), uncertain (no such project), resolved_project or resolved_focus; only a resolved
-- scope can be written to, but for save_session, which creates the project.
--
-- Every writer of a scope takes its lock (lock_scope) in a separate statement before every read that the lock
-- guards. In one statement with the read the snapshot is older than the lock, and each of two waiting writers stores
-- the same fact.
--
-- Locks: lock_scope: the row of the scope in held_lock, until the transaction ends. A verb that takes several scope locks takes them sorted.


select pgmem.declare_answer('scope_state_answer', $$
The scope that a project and a focus area resolve to.

class ScopeState
scope_state resolved|uncertain|unresolved, state unresolved|uncertain|resolved_project|resolved_focus
project_id text?, focus text?, project_exists boolean, focus_exists boolean, write_permitted boolean
next_step text?
$$);

create or replace function pgmem.get_scope_state(
  p_project_id text default null,
  p_focus text default null
) returns pgmem.scope_state_answer
language sql stable security definer set search_path = pgmem, pg_temp as $$
  select s.scope_state, s.state, s.project_id, s.focus, s.project_exists, s.focus_exists, s.write_permitted,
         case s.scope_state when 'uncertain' then pgmem.near_project(s.project_id)
           when 'unresolved' then 'Send project_id; list_projects names those that exist.' end
  from pgmem.resolve_scope(pgmem.caller(), p_project_id, p_focus) s;
$$;
comment on function pgmem.get_scope_state is $$
Resolve a project and a focus for the caller; call it before reading or writing.

InvalidArgument: A name holds a control character or is too long.
$$;
select pgmem.declare_verb('get_scope_state', p_rights => 'reader', p_effect => 'read', p_answer => 'ScopeState',
  p_toolset => 'core',
  p_description => 'Call this when a session begins. If the project is uncertain, save_session creates it.');


-- Reads node itself, by the caller's tenants.
create or replace function pgmem.resolve_scope(
  p_caller pgmem.caller,
  p_project_id text,
  p_focus text
) returns pgmem.scope_state
-- Else each look-up is planned anew in every call, since a plan for its values looks cheaper than it is to make.
language plpgsql stable set search_path = pgmem, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
  v_project      text := pgmem.clean_key(p_project_id, 'project_id');
  v_focus        text := case when p_focus is not null then pgmem.clean_key(p_focus, 'focus') end;
  v_name         text;
  v_area         text;
  v_project_seq  bigint;
  v_focus_seq    bigint;
  v_text_config  text;
  v_last_hygiene timestamptz;
  v_tenant       text;
begin
  if v_project is not null then
    foreach v_tenant in array p_caller.tenants loop
      select n.seq, n.key, n.text_config, (n.props ->> 'last_hygiene_at')::timestamptz
      into v_project_seq, v_name, v_text_config, v_last_hygiene
      from pgmem.node n
      where n.scope_key = pgmem.scope_key(v_tenant, null, 'Project') and n.tenant || '' = v_tenant
        and pgmem.folded(n.key) = pgmem.folded(v_project) and n.status = 'active'
      order by n.key = v_project desc, n.seq limit 1;
      exit when found;
    end loop;
  end if;
  if v_project_seq is not null and v_focus is not null then
    foreach v_tenant in array p_caller.tenants loop
      select n.seq, n.key into v_focus_seq, v_area from pgmem.node n
      where n.scope_key = pgmem.scope_key(v_tenant, v_project_seq::text, 'FocusArea') and n.tenant || '' = v_tenant
        and pgmem.folded(n.key) = pgmem.folded(v_focus) and n.status = 'active'
      order by n.key = v_focus desc, n.seq limit 1;
      exit when found;
    end loop;
  end if;
  return row(
    case when v_project is null then 'unresolved' when v_project_seq is null then 'uncertain' else 'resolved' end,
    case when v_project is null then 'unresolved' when v_project_seq is null then 'uncertain'
         when v_focus_seq is null then 'resolved_project' else 'resolved_focus' end,
    coalesce(v_name, v_project), coalesce(v_area, v_focus),
    v_project_seq is not null, v_focus_seq is not null, v_project_seq is not null,
    v_project_seq, v_focus_seq, v_text_config, v_last_hygiene)::pgmem.scope_state;
end;
$$;
comment on function pgmem.resolve_scope is
  'The scope that a project name and a focus stand for, to a caller, with the names as they are stored.';


-- Locks are rows and tables to which clients have no rights: an advisory lock can be taken by any login, and pg_locks
-- shows its key. An insert waits for another that has not ended; a row that is there is locked, and stays as it is.
create or replace function pgmem.hold_lock(p_key bigint) returns boolean
language plpgsql volatile as $$
begin
  insert into pgmem.held_lock (key) values (p_key) on conflict (key) do update set key = excluded.key where false;
  return true;
end;
$$;
comment on function pgmem.hold_lock is
  'Take turns with every other caller that holds the same key until the transaction, or the savepoint, ends.';


-- No label is empty, so that the key of a save is that of no scope.
create or replace function pgmem.save_key(p_tenant text, p_save_id uuid) returns bigint
language sql stable
begin atomic
  select pgmem.scope_key(p_tenant, p_save_id::text, '');
end;
comment on function pgmem.save_key is 'The number by which a save_id of a tenant is locked while the save is made.';


-- The row goes with the save, so that none is left for each save_id; the delete keeps the lock until the end.
create or replace function pgmem.release_save(p_tenant text, p_save_id uuid) returns boolean
language plpgsql volatile as $$
begin
  delete from pgmem.held_lock h where h.key = pgmem.save_key(p_tenant, p_save_id);
  return found;
end;
$$;
comment on function pgmem.release_save is
  'Remove the lock row of a save_id, if it is there; the id stays locked until the transaction ends.';


create or replace function pgmem.hold_save(p_tenant text, p_save_id uuid) returns boolean
language sql volatile
begin atomic
  select pgmem.hold_lock(pgmem.save_key(p_tenant, p_save_id));
end;
comment on function pgmem.hold_save is
  'Lock a save_id of a tenant until the transaction ends; release_save removes the row when the save is on record.';


create or replace function pgmem.lock_scope(p_scope_key bigint) returns boolean
language sql volatile
begin atomic
  select pgmem.hold_lock(p_scope_key);
end;
comment on function pgmem.lock_scope is $$
Take turns with every other writer of a scope until the transaction ends. True: assigning it costs less than perform.
$$;


create or replace function pgmem.lock_scopes(p_scope_keys bigint[]) returns void
language plpgsql as $$
declare
  v_key bigint;
begin
  for v_key in select distinct key from unnest(p_scope_keys) key order by key loop
    perform pgmem.lock_scope(v_key);
  end loop;
end;
$$;
comment on function pgmem.lock_scopes is
  'Lock several scopes in the order of their keys; the order is the same for all writers, so none deadlocks.';


create or replace function pgmem.scope_trouble(p_scope pgmem.scope_state) returns text
language sql immutable set search_path = pgmem, pg_temp as $$
  select case (p_scope).scope_state when 'uncertain' then
    format('No project %s found.', quote_literal(left((p_scope).project_id, 80))) else 'No project is named.' end;
$$;
comment on function pgmem.scope_trouble is 'Why nothing can be saved in a scope, as a sentence.';


create or replace function pgmem.near_project(p_project_id text) returns text
language sql stable set search_path = pgmem, pg_temp as $$
  select pgmem.did_you_mean(p_project_id, array(
    select n.key from pgmem.visible_node n where n.label = 'Project' and n.status = 'active'), null);
$$;
comment on function pgmem.near_project is
  'The sentence of an error about an unknown project: the nearest ones that the caller sees; null where none is near.';


create or replace function pgmem.find_project(p_project_id text) returns bigint
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_scope pgmem.scope_state := pgmem.resolve_scope(pgmem.caller(), p_project_id, null);
begin
  if v_scope.scope_state = 'uncertain' then
    raise exception using errcode = 'PM002',
      message = concat_ws(' ', format('No project %s found; leave project_id out or send one that exists.',
                                      quote_literal(left(p_project_id, 80))),
                          pgmem.near_project(v_scope.project_id));
  end if;
  return v_scope.project_seq;
end;
$$;
comment on function pgmem.find_project is
  'The number of the project a name stands for; null without a name, an error for an unknown one.';
