-- security definer: looks whether the store has tenants at all.
create or replace function pgmem.require_writer() returns pgmem.caller
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
declare
  v_caller pgmem.caller := pgmem.caller();
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using errcode = 'PM005',
      message = format('Writing needs READ COMMITTED; this transaction is %s. Begin it without an isolation level.',
                       upper(current_setting('transaction_isolation')));
  end if;
  if not v_caller.identified and (pgmem.setting_text('require_identity') = 'true'
      or exists (select from pgmem.tenant_role) or exists (select from pgmem.api_token)) then
    raise exception using errcode = 'PM006',
      message = 'This store has tenants: set pgmem.org_id or pgmem.user_id, or use a login or token bound to a tenant.';
  end if;
  v_caller.trust_level := coalesce(pgmem.setting_float('trust_' || v_caller.source), 0.5);
  return v_caller;
end;
$$;
comment on function pgmem.require_writer() is
  'The caller, or an error: a snapshot older than a lock would store one fact twice (isolation), and what an anonymous '
  'caller wrote every tenant would read (identity).';
