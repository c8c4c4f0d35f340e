-- A person's verb, never a tool: who can issue a token can be any tenant.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.issue_token(p_org_id text, p_user_id text default '', p_name text default null,
  p_expires_at timestamptz default null, out id uuid, out token text, out name text, out org_id text, out user_id text,
  out expires_at timestamptz)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  perform pgmem.require_reviewer('issue_token');
  org_id := coalesce(pgmem.clean_key(p_org_id, 'org_id'), '');
  user_id := coalesce(pgmem.clean_key(p_user_id, 'user_id'), '');
  if org_id = '' and user_id = '' then
    raise exception using errcode = 'PM001', message = 'A token is bound to a tenant: send org_id, user_id or both.';
  end if;
  if p_expires_at <= pgmem.now() then
    raise exception using errcode = 'PM001', message = 'expires_at lies in the past; send a later time, or none.';
  end if;
  name := coalesce(pgmem.clean_key(p_name, 'name'), concat_ws('/', nullif(org_id, ''), nullif(user_id, '')));
  -- Two random UUIDs: 244 random bits from the server's strong source. Only the hash is kept.
  token := 'pgmem_' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
  expires_at := p_expires_at;
  insert into pgmem.api_token (secret_hash, name, org_id, user_id, created_at, expires_at)
  values (sha256(convert_to(token, 'UTF8')), name, org_id, user_id, pgmem.now(), p_expires_at) returning pgmem.api_token.id into id;
end;
$$;
comment on function pgmem.issue_token is 'A bearer token of the HTTP transport, bound to a tenant; shown once, kept as a hash.';
