-- security definer: clients hold no rights on tables.
create or replace function pgmem.revoke_token(p_id uuid, out id uuid, out name text, out revoked_at timestamptz)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  perform pgmem.require_reviewer('revoke_token');
  update pgmem.api_token t set revoked_at = coalesce(t.revoked_at, pgmem.clock()), revoked_by = coalesce(t.revoked_by, session_user)
  where t.id = p_id returning t.id, t.name, t.revoked_at into id, name, revoked_at;
  if id is null then
    raise exception using errcode = 'PM002', message = format('No token %s is here; pgmem token list shows them.', p_id);
  end if;
end;
$$;
comment on function pgmem.revoke_token(uuid) is 'End a bearer token at once; the row stays, to say when and by whom.';
