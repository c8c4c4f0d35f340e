-- Bearer tokens
--
-- A bearer token binds a client of the HTTP server to a tenant. A person issues it, the server verifies it at every
-- request and sets the identity of its transactions accordingly. The store keeps the hash of a token, not the
-- token, so a token that is lost is revoked and issued anew.
--
-- A person cannot use an agent's token: a credential of an agent does not decide. So a token is for agents, for a person
-- (for_person), who signs in to the page with it, or for another store (for_sync), which exchanges changes with it and can
-- do nothing else. Such a store is believed about the authors and approvers of its records only where its token vouches.
--
-- A login that can issue a token can become any tenant, so these verbs belong to reviewers and none of them is a
-- tool of agents. verify_token is for a login whose identity settings count (is_trusted in 08-caller): any other
-- could not act for the tenant that the token names.
--
-- Locks: none beyond the rows that are written.


create or replace function pgmem.has_tenants() returns boolean
language sql stable set search_path = pgmem, pg_temp as $$
  select exists (select from pgmem.tenant_role)
    or exists (select from pgmem.api_token t where t.revoked_at is null and (t.org_id <> '' or t.user_id <> ''))
    or exists (select from pgmem.schema_version v where v.cell is not null);
$$;
comment on function pgmem.has_tenants is
  'Whether a login or a token that is not revoked is bound to a tenant, or the store is a cell.';


select pgmem.declare_answer('api_token_answer', $$
A bearer token of an agent, a person or another store; only the answer that issues it sets `token`.

class ApiToken
id uuid, name text, org_id text, user_id text, token text?, created_at timestamptz?, created_by text?
expires_at timestamptz?, revoked_at timestamptz?, revoked_by text?, active boolean = true, for_person boolean = false
for_sync boolean = false, vouches boolean = false
$$);

create or replace function pgmem.token_answer(p_token pgmem.api_token) returns pgmem.api_token_answer
language sql stable
begin atomic
  select (p_token.id, p_token.name, p_token.org_id, p_token.user_id, null, p_token.created_at, p_token.created_by,
          p_token.expires_at, p_token.revoked_at, p_token.revoked_by,
          p_token.revoked_at is null and (p_token.expires_at is null or p_token.expires_at > pgmem.now()),
          p_token.for_person, p_token.for_sync, p_token.vouches)::pgmem.api_token_answer;
end;
comment on function pgmem.token_answer is 'A token as its verbs return it, without its secret.';


create or replace function pgmem.issue_token(
  p_org_id text default '',
  p_user_id text default '',
  p_name text default null,
  p_expires_at timestamptz default null,
  p_for_person boolean default false,
  p_for_sync boolean default false,
  p_vouches boolean default false
) returns pgmem.api_token_answer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.api_token_answer;
begin
  perform pgmem.require_reviewer('issue_token');
  v_answer.org_id := coalesce(pgmem.clean_key(p_org_id, 'org_id'), '');
  v_answer.user_id := coalesce(pgmem.clean_key(p_user_id, 'user_id'), '');
  perform pgmem.require_org_here(v_answer.org_id);
  if v_answer.org_id = '' and v_answer.user_id = '' and pgmem.has_tenants() then
    raise exception using errcode = 'PM001', message =
      'This store has tenants, so a token is bound to one: send org_id, user_id or both (--org, --user).';
  end if;
  perform pgmem.require_moment(p_expires_at, 'expires_at');
  if p_expires_at <= pgmem.now() then
    raise exception using errcode = 'PM001', message = 'expires_at lies in the past; send a later time, or none.';
  end if;
  if p_for_person and p_for_sync then
    raise exception using errcode = 'PM001', message =
      'A token is for a person or for another store, never for both: send for_person or for_sync, and issue two.';
  end if;
  if p_vouches and p_for_sync is not true then
    raise exception using errcode = 'PM001', message =
      'Only the token of another store vouches for what it brings: send for_sync too, or leave vouches out.';
  end if;
  v_answer.name := coalesce(pgmem.clean_key(p_name, 'name'),
    nullif(concat_ws('/', nullif(v_answer.org_id, ''), nullif(v_answer.user_id, '')), ''),
    'one user');
  -- Two random UUIDs: 244 random bits from the server's strong source.
  v_answer.token := 'pgmem_' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
  v_answer.expires_at := p_expires_at;
  v_answer.for_person := coalesce(p_for_person, false);
  v_answer.for_sync := coalesce(p_for_sync, false);
  v_answer.vouches := coalesce(p_vouches, false);
  insert into pgmem.api_token (secret_hash, name, org_id, user_id, created_at, created_by, expires_at, for_person,
                               for_sync, vouches)
  values (sha256(convert_to(v_answer.token, 'UTF8')), v_answer.name, v_answer.org_id, v_answer.user_id, pgmem.now(),
          pgmem.login(), p_expires_at, v_answer.for_person, v_answer.for_sync, v_answer.vouches)
  returning pgmem.api_token.id, pgmem.api_token.created_at, pgmem.api_token.created_by, true
  into v_answer.id, v_answer.created_at, v_answer.created_by, v_answer.active;
  return v_answer;
end;
$$;
comment on function pgmem.issue_token is $$
Issue a bearer token bound to a tenant; only this answer holds the token.

In a store with one user, a token without org_id and user_id acts for that user, and the store stays one without
tenants.

org_id: The organisation the token acts for; empty: none.
user_id: The user the token acts for; empty: the organisation as a whole.
name: A name for the token in list_tokens; unset: the names of the tenant.
expires_at: When the token ends; unset: never.
for_person: Whether a person signs in to the page with it and decides there; such a token admits no agent.
for_sync: Whether another store exchanges changes with it (pgmem sync); such a token admits no agent and no person.
vouches: Whether the other store is believed about the authors and approvers of its records; with for_sync alone. Unset:
  its records have the trust of an agent's.

InvalidArgument: no tenant is named in a store that has tenants, a name cannot be taken, expires_at lies in the past, or
  the token would have two purposes.
$$;
select pgmem.declare_verb('issue_token', p_rights => 'reviewer', p_effect => 'write', p_answer => 'ApiToken',
  p_reach => 'argument');


create or replace function pgmem.verify_token(
  p_token text
) returns setof pgmem.api_token_answer
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
begin
  if not pgmem.is_trusted() then
    raise exception using errcode = 'PM004', message =
      'Tokens are verified by a login whose identity settings count: the owner, or a member of pgmem_trusted '
      'that is not bound to a tenant.';
  end if;
  return query
  select a.* from pgmem.api_token t cross join lateral pgmem.token_answer(t) a
  where t.secret_hash = sha256(convert_to(p_token, 'UTF8')) and t.revoked_at is null
    and (t.expires_at is null or t.expires_at > pgmem.clock())
    -- A copy that is leaving, or that has not all arrived, is not asked.
    and not exists (select from pgmem.away a where a.org_id = t.org_id and a.state <> 'leaving');
end;
$$;
comment on function pgmem.verify_token is $$
Find the tenant that a bearer token is bound to; None where it is unknown, revoked or expired.

token: The token as the client sent it.

NotPermitted: the identity settings of this login do not count, so it cannot act for a tenant.
$$;
select pgmem.declare_verb('verify_token', p_rights => 'reader', p_effect => 'look', p_answer => 'ApiToken|None',
  p_reach => 'token');


create or replace function pgmem.revoke_token(
  p_token_id uuid default null,
  p_id pgmem.former_name_uuid default null
) returns pgmem.api_token_answer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.api_token_answer;
begin
  perform pgmem.require_reviewer('revoke_token');
  -- The first revocation counts: a second call changes neither its time nor its login.
  perform pgmem.require_org_here(t.org_id) from pgmem.api_token t where t.id = coalesce(p_token_id, p_id);
  update pgmem.api_token t
  set revoked_at = coalesce(t.revoked_at, pgmem.clock()), revoked_by = coalesce(t.revoked_by, pgmem.login())
  where t.id = coalesce(p_token_id, p_id) returning (pgmem.token_answer(t)).* into v_answer;
  if v_answer.id is null then
    raise exception using errcode = 'PM002',
      message = format('No token %s found; pgmem token list shows them.', coalesce(p_token_id, p_id));
  end if;
  return v_answer;
end;
$$;
comment on function pgmem.revoke_token is $$
Revoke a bearer token at once; the row stays for list_tokens.

token_id: The id of the token, as list_tokens gives it.

MemoryNotFound: no such token exists.
$$;
select pgmem.declare_verb('revoke_token', p_rights => 'reviewer', p_effect => 'remove', p_answer => 'ApiToken',
  p_reach => 'token');


create or replace function pgmem.list_tokens() returns setof pgmem.api_token_answer
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
begin
  perform pgmem.require_reviewer('list_tokens');
  return query
  select a.* from pgmem.api_token t cross join lateral pgmem.token_answer(t) a order by t.created_at, t.id;
end;
$$;
comment on function pgmem.list_tokens is $$
List the bearer tokens that were issued, oldest first, without their secrets.
$$;
select pgmem.declare_verb('list_tokens', p_rights => 'reviewer', p_effect => 'look', p_answer => 'list[ApiToken]',
  p_reach => 'union');
