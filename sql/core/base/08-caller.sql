-- The caller and its rights
--
-- A caller is an organisation and a user (its tenant), an agent, a session, and the way in by which it came (cli, ui,
-- sync, sdk, mcp, sql). Identity comes from the login, through tenant_role. Only for the owner of the schema and
-- members of pgmem_trusted does it come from the settings pgmem.org_id and pgmem.user_id: any client can run
-- set_config, so nothing else rests on a setting.
--
-- A caller sees the rows of its tenant, those its organisation shares, and public ones (tenants, own first). It
-- changes the first two (require_own). Every writing verb begins with require_writer, every verb for people with
-- require_reviewer or require_keeper.
--
-- A text becomes an order only from a person (is_of_a_person), and every answer that brings a memory says who said it
-- (said_by). The word of a person is the text last written at the command line or on the page, out of nothing else.
--
-- Locks: check_token, through require_approval, locks the row of the token.


create or replace function pgmem.is_member(p_role name) returns boolean
language plpgsql stable as $$
begin
  return coalesce((select pg_has_role(session_user, r.oid, 'member') from pg_roles r where r.rolname = p_role), false);
end;
$$;
comment on function pgmem.is_member is
  'Whether the login is a member of a role. Roles are optional; a missing one has no members.';


-- An error of the class of a server that is shutting down, so that a client keeps its saves and sends it again.
create or replace function pgmem.require_here(p_state text, p_writes boolean) returns void
language plpgsql stable as $$
begin
  if p_state in ('gone', 'arriving') then
    raise exception using errcode = '57P03', message = 'This organisation is in another cell: connect to the front.';
  elsif p_state = 'leaving' and p_writes then
    raise exception using errcode = '57P03',
      message = 'This organisation is moving to another cell; send what you save again in a moment.';
  end if;
end;
$$;
comment on function pgmem.require_here is
  'An error where the state of an organisation in pgmem.away forbids a read or a write here.';


create or replace function pgmem.require_org_here(p_org_id text) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  perform pgmem.require_here(a.state, true) from pgmem.away a where a.org_id = p_org_id;
end;
$$;
comment on function pgmem.require_org_here is
  'An error where an organisation that an argument names moves between cells; for verbs of another caller.';


create or replace function pgmem.login() returns text
language plpgsql stable as $$
begin
  -- The front's login is its own; it says who logged in there.
  return coalesce(case when pgmem.is_trusted() then nullif(current_setting('pgmem.login', true), '') end,
                  session_user);
end;
$$;
comment on function pgmem.login is 'The login that is recorded: the session''s, or the one at the front that called.';


create or replace function pgmem.caller() returns pgmem.caller
language plpgsql stable security definer
set search_path = pgmem, pg_temp
-- The table is small, but a look-up by name costs less than a scan, and every verb begins here.
set enable_seqscan = off
as $$
declare
  -- Inside a security definer function current_user is the owner of the schema.
  v_trusted    boolean := pg_has_role(session_user, current_user, 'member') or pgmem.is_member('pgmem_trusted');
  v_source     text := coalesce(nullif(current_setting('pgmem.source', true), ''), 'sql');
  v_org_id     text;
  v_user_id    text;
  v_agent_id   text;
  v_session_id text;
  v_made_at    timestamptz;
  v_tenant     text;
  v_tenants    text[];
  v_bound      boolean;
  v_required   boolean;
  v_shared     boolean;
  v_trust      float8;
  v_away       text;
  v_caller     pgmem.caller;
begin
  -- One statement for all look-ups, as every verb begins here.
  select role.org_id, role.user_id, role.role_name is not null,
    (select value = 'true' from pgmem.setting where name = 'require_identity'),
    exists (select from pgmem.tenant_role)
      or exists (select from pgmem.api_token t where t.revoked_at is null and (t.org_id <> '' or t.user_id <> ''))
      -- The other tenants of a front may be in other cells.
      or exists (select from pgmem.schema_version v where v.cell is not null),
    (select value::float8 from pgmem.setting
     where name = 'trust_' || case when v_trusted and role.role_name is null then v_source else 'sql' end),
    (select a.state from pgmem.away a
     where a.org_id = coalesce(role.org_id, case when v_trusted then current_setting('pgmem.org_id', true) end))
  into v_org_id, v_user_id, v_bound, v_required, v_shared, v_trust, v_away
  from (select) as one left join pgmem.tenant_role role on role.role_name = session_user;
  if v_away in ('gone', 'arriving') then
    perform pgmem.require_here(v_away, false);
  end if;
  if v_trusted and not v_bound then
    v_org_id := current_setting('pgmem.org_id', true);
    v_user_id := current_setting('pgmem.user_id', true);
    -- The separator of a tenant, which is the public tenant: inside one of the two it would name another tenant.
    if strpos(concat(v_org_id, v_user_id), pgmem.tenant_of()) > 0 then
      raise exception using errcode = 'PM001',
        message = 'pgmem.org_id or pgmem.user_id holds a control character; send printable characters only.';
    end if;
    v_agent_id := nullif(current_setting('pgmem.agent_id', true), '');
    v_session_id := nullif(current_setting('pgmem.session_id', true), '');
    v_made_at := nullif(current_setting('pgmem.made_at', true), '')::timestamptz;
  else
    v_source := 'sql';
  end if;
  v_org_id := coalesce(v_org_id, '');
  v_user_id := coalesce(v_user_id, '');
  v_tenant := pgmem.tenant_of(v_org_id, v_user_id);
  -- Own first, then the organisation's, then the public one.
  if v_org_id <> '' and v_user_id <> '' then
    v_tenants := array[v_tenant, pgmem.tenant_of(v_org_id), pgmem.tenant_of()];
  elsif v_org_id <> '' or v_user_id <> '' then
    v_tenants := array[v_tenant, pgmem.tenant_of()];
  elsif v_required then
    v_tenants := '{}';
  else
    v_tenants := array[pgmem.tenant_of()];
  end if;
  -- Not cast: a call that waits here for an upgrade goes on when the type has more attributes.
  v_caller := row(v_org_id, v_user_id, v_tenant, v_tenants, v_agent_id, v_session_id, v_source, coalesce(v_trust, 0.5),
                  v_org_id <> '' or v_user_id <> '', v_made_at, v_shared, false, v_away);
  return v_caller;
end;
$$;
comment on function pgmem.caller is $$
The caller: its tenant, the tenants it sees, agent, session and way in.

A login bound in tenant_role is that tenant, whatever it sets. An error where its organisation is in another cell.
$$;


create or replace function pgmem.visible_tenants() returns text[]
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  return (pgmem.caller()).tenants;
end;
$$;
comment on function pgmem.visible_tenants is
  'The tenants whose rows the caller sees: its own, its organisation''s, the public one.';


create or replace function pgmem.is_trusted() returns boolean
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
begin
  -- A front sets pgmem.bound for a login that it does not trust; any other login only harms itself by it.
  return coalesce(current_setting('pgmem.bound', true), '') = ''
    and not exists (select from pgmem.tenant_role r where r.role_name = session_user)
    and (pg_has_role(session_user, (select nspowner from pg_namespace where nspname = 'pgmem'), 'member')
         or pgmem.is_member('pgmem_trusted'));
end;
$$;
comment on function pgmem.is_trusted is 'Whether the settings pgmem.org_id and pgmem.user_id of this login count.';


create or replace function pgmem.is_reviewer() returns boolean
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  return pg_has_role(session_user, (select nspowner from pg_namespace where nspname = 'pgmem'), 'member')
    or pgmem.is_member('pgmem_reviewer');
end;
$$;
comment on function pgmem.is_reviewer is
  'Whether the login decides over memories: the owner of the schema and members of pgmem_reviewer.';


create or replace function pgmem.decides(p_caller pgmem.caller) returns boolean
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  -- Only a trusted login can name another way in than sql, and its programs name theirs.
  return (p_caller).source in ('cli', 'ui', 'sql') and (p_caller).on_behalf is not true and pgmem.is_reviewer();
end;
$$;
comment on function pgmem.decides is
  'Whether a caller decides as a person does: the owner or a reviewer, at the command line, on the page or in SQL.';


create or replace function pgmem.outranked(p_trust_level float8, p_caller pgmem.caller) returns boolean
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  return (p_caller).trust_level < p_trust_level and not pgmem.decides(p_caller);
end;
$$;
comment on function pgmem.outranked is
  'Whether the trust of a memory exceeds that of a caller, so that a change of it by the caller becomes a review.';


-- Who said it follows from the way in that wrote the present state, which only pgmem stamps:
--   cli, ui  a person: at a terminal, or signed in on the page. A memory that a person takes over or edits is theirs from then on.
--   mcp      an agent.
--   sdk      a program. So is LangGraph, an OpenAI session and the memory tool of Anthropic.
--   sql      a session that names no way in: a program, or an agent with a login, as often as a person at psql. A login
--            bound to a tenant is always sql. A person there names that: set pgmem.source = 'cli'.
--   sync     contents of a folder: a vault, notes that were imported. An agent, a plugin or a repository that was
--            cloned writes there as well as a person, and nobody has seen it since. States that pgmem sync brings keep
--            the way in of the store that wrote them, as far as arrival believes it.
--   (hooks)  capture turns, whose trust is trust_turn at most: the transcript alone says that a person said it.
-- The trust of the state is that of its way in, unless it was merged out of something less trusted, such as an agent's
-- text: that is nobody's word. A review decides that a save is made, in the name of who asked; it makes no order of it.
-- No coalesce, so that the condition reaches the indexes of persons' memories.
create or replace function pgmem.is_of_a_person(p_source text, p_trust_level float8) returns boolean
language sql stable parallel safe
begin atomic
  select p_source in ('cli', 'ui') and p_trust_level >= pgmem.setting_float('trust_' || p_source);
end;
comment on function pgmem.is_of_a_person is
  'Whether the state of a memory was written by a person, at the command line or on the page, and out of nothing else.';


create or replace function pgmem.said_by(p_source text, p_trust_level float8) returns text
language sql stable parallel safe
begin atomic
  select case when pgmem.is_of_a_person(p_source, p_trust_level) then 'person' else 'agent' end;
end;
comment on function pgmem.said_by is
  'The author of the content of a memory: person; or agent, which is a program or a file too.';


-- An older snapshot than a lock would store one fact twice.
create or replace function pgmem.require_read_committed() returns boolean
language plpgsql stable as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using errcode = 'PM005',
      message = format('Writing needs READ COMMITTED; this transaction is %s. Begin it by: %s.',
                       upper(current_setting('transaction_isolation')), 'begin isolation level read committed');
  end if;
  return true;
end;
$$;
comment on function pgmem.require_read_committed is 'An error in a transaction of any isolation but READ COMMITTED.';


create or replace function pgmem.tenant_advice(p_caller pgmem.caller) returns text
language sql immutable parallel safe
begin atomic
  -- In a store that requires an identity, a caller without one sees not even the public tenant.
  select case when not p_caller.identified and (p_caller.is_shared or p_caller.tenants = '{}')
    then 'This store has tenants, and this call names none: set DEFAULT_ORG_ID or DEFAULT_USER_ID '
      '(in SQL pgmem.org_id or pgmem.user_id), or use a login or token bound to a tenant.' end;
end;
comment on function pgmem.tenant_advice is
  'The error of a caller who names no tenant in a store that has tenants; null for any other caller.';


create or replace function pgmem.require_writer() returns pgmem.caller
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.caller();
  v_fits   boolean := pgmem.require_read_committed();
  v_advice text := pgmem.tenant_advice(v_caller);
begin
  if v_advice is not null then
    raise exception using errcode = 'PM006', message = v_advice;
  elsif v_caller.away is not null then
    perform pgmem.require_here(v_caller.away, true);
  end if;
  return v_caller;
end;
$$;
comment on function pgmem.require_writer is $$
The caller, or an error: writing needs READ COMMITTED and, in a store with tenants, an identity.

Every tenant would read the memories of an anonymous caller.
$$;


create or replace function pgmem.require_reviewer(p_what text) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if not pgmem.is_reviewer() then
    raise exception using errcode = 'PM004', message = format('%s is for the owner of the store '
      'and its reviewers: connect as the owner or a member of pgmem_reviewer.', p_what);
  end if;
end;
$$;
comment on function pgmem.require_reviewer is
  'An error unless the login owns the schema or is a member of pgmem_reviewer.';


-- As require_writer, for maintenance, which needs no identity: without one it means all tenants.
create or replace function pgmem.require_keeper(p_what text) returns pgmem.caller
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller;
begin
  perform pgmem.require_reviewer(p_what);
  perform pgmem.require_read_committed();
  v_caller := pgmem.caller();
  -- Without an identity it changes the rows of every tenant, of one that is being moved too.
  perform pgmem.require_here(a.state, true) from pgmem.away a
  where a.state = 'leaving' and (a.org_id = v_caller.org_id or not v_caller.identified);
  return v_caller;
end;
$$;
comment on function pgmem.require_keeper is 'The caller, if the login owns the schema or is a reviewer; else an error.';


create or replace function pgmem.require_own(p_node pgmem.node, p_caller pgmem.caller) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if p_node.tenant not in (p_caller.tenant, pgmem.tenant_of(p_caller.org_id)) then
    raise exception using errcode = 'PM004',
      message = format('%s %s is public: only a caller without a tenant changes it.', p_node.label,
                       quote_literal(left(p_node.title, 80)));
  end if;
end;
$$;
comment on function pgmem.require_own is
  'An error unless a node is the caller''s or its organisation''s: others it sees and does not change.';


-- For the work of a worker, which a trusted login does for every tenant.
create or replace function pgmem.writable_tenants() returns text[]
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller;
begin
  if pgmem.is_trusted() then
    return null;
  end if;
  v_caller := pgmem.require_writer();
  return array[v_caller.tenant, pgmem.tenant_of(v_caller.org_id)];
end;
$$;
comment on function pgmem.writable_tenants is
  'The tenants whose rows the caller may write; null, which means all, for the owner and members of pgmem_trusted.';
