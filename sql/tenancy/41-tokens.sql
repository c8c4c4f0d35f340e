-- Bearer tokens
--
-- A bearer token binds a client of the HTTP server to a tenant. A person issues it, the server verifies it at every
-- request and sets the identity of its transactions accordingly. The store keeps the hash of a token, not the
-- token, so a token that is lost is revoked and issued anew.
--
-- An agent's token is no person's: what agents hold does not decide. So a token is either for agents or for a person
-- (for_person), who signs in to the page with it.
--
-- A login that can issue a token can become any tenant, so these verbs belong to reviewers and none of them is a
-- tool of agents. verify_token is for a login whose identity settings count (is_trusted in 06-caller): any other
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


create or replace function pgmem.issue_token(
  p_org_id text default '',
  p_user_id text default '',
  p_name text default null,
  p_expires_at timestamptz default null,
  p_for_person boolean default false,
  out id uuid,
  out token text,
  out name text,
  out org_id text,
  out user_id text,
  out expires_at timestamptz,
  out for_person boolean
)
language plpgsql security definer set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
begin
  perform pgmem.require_reviewer('issue_token');
  org_id := coalesce(pgmem.clean_key(p_org_id, 'org_id'), '');
  user_id := coalesce(pgmem.clean_key(p_user_id, 'user_id'), '');
  perform pgmem.require_org_here(org_id);
  if org_id = '' and user_id = '' and pgmem.has_tenants() then
    raise exception using errcode = 'PM001', message =
      'This store has tenants, so a token is bound to one: send org_id, user_id or both (--org, --user).';
  end if;
  if p_expires_at <= pgmem.now() then
    raise exception using errcode = 'PM001', message = 'expires_at lies in the past; send a later time, or none.';
  end if;
  name := coalesce(pgmem.clean_key(p_name, 'name'), nullif(concat_ws('/', nullif(org_id, ''), nullif(user_id, '')), ''),
    'one user');
  -- Two random UUIDs: 244 random bits from the server's strong source.
  token := 'pgmem_' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
  expires_at := p_expires_at;
  for_person := coalesce(p_for_person, false);
  insert into pgmem.api_token (secret_hash, name, org_id, user_id, created_at, created_by, expires_at, for_person)
  values (sha256(convert_to(token, 'UTF8')), name, org_id, user_id, pgmem.now(), pgmem.login(), p_expires_at,
          for_person)
  returning pgmem.api_token.id into id;
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
for_person: Whether a person signs in to the page with it and decides there; such a token lets no agent in.

InvalidArgument: no tenant is named in a store that has tenants, a name cannot be taken, or expires_at lies in the past.
$$;
select pgmem.declare_verb('issue_token', p_rights => 'reviewer', p_effect => 'write', p_answer => 'ApiToken',
  p_reach => 'argument');


create or replace function pgmem.verify_token(
  p_token text
) returns table (
  id uuid,
  name text,
  org_id text,
  user_id text,
  expires_at timestamptz,
  for_person boolean
)
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
begin
  if not pgmem.is_trusted() then
    raise exception using errcode = 'PM004', message =
      'Tokens are verified by a login whose identity settings count: the owner, or a member of pgmem_trusted '
      'that is not bound to a tenant.';
  end if;
  return query
  select t.id, t.name, t.org_id, t.user_id, t.expires_at, t.for_person from pgmem.api_token t
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
  p_id pgmem.former_name_uuid default null,
  out id uuid,
  out name text,
  out revoked_at timestamptz
)
language plpgsql security definer set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
begin
  perform pgmem.require_reviewer('revoke_token');
  -- The first revocation counts: a second call changes neither its time nor its login.
  perform pgmem.require_org_here(t.org_id) from pgmem.api_token t where t.id = coalesce(p_token_id, p_id);
  update pgmem.api_token t
  set revoked_at = coalesce(t.revoked_at, pgmem.clock()), revoked_by = coalesce(t.revoked_by, pgmem.login())
  where t.id = coalesce(p_token_id, p_id) returning t.id, t.name, t.revoked_at into id, name, revoked_at;
  if id is null then
    raise exception using errcode = 'PM002',
      message = format('No token %s is here; pgmem token list shows them.', coalesce(p_token_id, p_id));
  end if;
end;
$$;
comment on function pgmem.revoke_token is $$
Revoke a bearer token at once; the row stays for list_tokens.

token_id: The id of the token, as list_tokens gives it.

MemoryNotFound: there is no such token.
$$;
select pgmem.declare_verb('revoke_token', p_rights => 'reviewer', p_effect => 'remove', p_answer => 'ApiToken',
  p_reach => 'token');


create or replace function pgmem.list_tokens() returns table (
  id uuid,
  name text,
  org_id text,
  user_id text,
  created_at timestamptz,
  created_by text,
  expires_at timestamptz,
  revoked_at timestamptz,
  revoked_by text,
  active boolean,
  for_person boolean
)
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
begin
  perform pgmem.require_reviewer('list_tokens');
  return query
  select t.id, t.name, t.org_id, t.user_id, t.created_at, t.created_by::text, t.expires_at, t.revoked_at,
         t.revoked_by::text, t.revoked_at is null and (t.expires_at is null or t.expires_at > pgmem.now()),
         t.for_person
  from pgmem.api_token t order by t.created_at, t.id;
end;
$$;
comment on function pgmem.list_tokens is $$
List the bearer tokens that were issued, oldest first, without their secrets.
$$;
select pgmem.declare_verb('list_tokens', p_rights => 'reviewer', p_effect => 'look', p_answer => 'list[ApiToken]',
  p_reach => 'union');
