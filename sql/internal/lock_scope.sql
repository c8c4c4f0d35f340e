-- A statement of its own before every read it guards: in one statement with the read the snapshot would be older than
-- the lock, and each of two waiting writers would store the same fact.
create or replace function pgmem.lock_scope(p_scope_key bigint) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  perform pg_advisory_xact_lock(p_scope_key);
end;
$$;
comment on function pgmem.lock_scope(bigint) is 'Take turns with every other writer of this scope, until the transaction ends.';
