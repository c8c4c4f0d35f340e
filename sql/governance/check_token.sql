create or replace function pgmem.check_token(p_token text, p_caller pgmem.caller) returns uuid
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_id uuid;
begin
  if coalesce(btrim(p_token), '') = '' then
    perform pgmem.refuse('failed', 'Global writes require a governance token. Call request_global_write_approval first.',
      'Call request_global_write_approval, then send its token as governance_token.');
  end if;
  select t.id into v_id from pgmem.governance_token t
  where t.secret_hash = sha256(convert_to(btrim(p_token), 'UTF8')) and t.tenant = p_caller.tenant
    and t.used_at is null and t.expires_at > pgmem.clock() for update;
  if v_id is null then
    perform pgmem.refuse('failed', 'Governance token is invalid, expired, or already used.',
      'Call request_global_write_approval, then send its token as governance_token.');
  end if;
  return v_id;
end;
$$;
comment on function pgmem.check_token(text, pgmem.caller) is
  'Lock an unused, unexpired token of the caller''s tenant; anything else refuses the save.';
