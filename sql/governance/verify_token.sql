-- For the HTTP server alone: it sets the identity of its transactions, so its login must be one whose settings count.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.verify_token(p_token text)
returns table (id uuid, name text, org_id text, user_id text, expires_at timestamptz)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  if not pgmem.is_trusted() then
    raise exception using errcode = 'PM004',
      message = 'Tokens are checked by a login whose identity settings count: the owner, or a member of pgmem_trusted that is not bound to a tenant.';
  end if;
  return query select t.id, t.name, t.org_id, t.user_id, t.expires_at from pgmem.api_token t
  where t.secret_hash = sha256(convert_to(p_token, 'UTF8')) and t.revoked_at is null
    and (t.expires_at is null or t.expires_at > pgmem.clock());
end;
$$;
comment on function pgmem.verify_token(text) is 'The tenant a bearer token is bound to; no row when it is unknown, revoked or expired.';
