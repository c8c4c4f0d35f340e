create or replace function pgmem.require_writer() returns pgmem.caller
language plpgsql stable
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
  -- Who has no identity and sees not even what is public is in a store that requires one.
  if not v_caller.identified and (v_caller.is_shared or v_caller.tenants = '{}') then
    raise exception using errcode = 'PM006',
      message = 'This store has tenants: set pgmem.org_id or pgmem.user_id, or use a login or token bound to a tenant.';
  end if;
  return v_caller;
end;
$$;
comment on function pgmem.require_writer() is
  'The caller, or an error: a snapshot older than a lock would store one fact twice (isolation), and what an anonymous '
  'caller wrote every tenant would read (identity).';
