-- security definer: clients hold no rights on tables.
create or replace function pgmem.list_tokens() returns table (id uuid, name text, org_id text, user_id text, created_at timestamptz,
  created_by text, expires_at timestamptz, revoked_at timestamptz, revoked_by text, active boolean)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  perform pgmem.require_reviewer('list_tokens');
  return query select t.id, t.name, t.org_id, t.user_id, t.created_at, t.created_by::text, t.expires_at, t.revoked_at, t.revoked_by::text,
    t.revoked_at is null and (t.expires_at is null or t.expires_at > pgmem.now())
  from pgmem.api_token t order by t.created_at, t.id;
end;
$$;
comment on function pgmem.list_tokens() is 'The bearer tokens that were issued, without their secrets.';
