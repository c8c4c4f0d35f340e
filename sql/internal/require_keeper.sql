-- As require_writer, for maintenance: who keeps the store needs no identity, and without one means all tenants.
create or replace function pgmem.require_keeper(p_what text) returns pgmem.caller
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
begin
  if not pgmem.is_reviewer() then
    raise exception using errcode = 'PM004', message = format('%s is for people who keep the store: connect as its owner or a member of pgmem_reviewer.', p_what);
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using errcode = 'PM005',
      message = format('Writing needs READ COMMITTED; this transaction is %s. Begin it without an isolation level.',
                       upper(current_setting('transaction_isolation')));
  end if;
  return pgmem.caller();
end;
$$;
comment on function pgmem.require_keeper(text) is 'The caller, if the login owns the schema or is a reviewer; else an error.';
