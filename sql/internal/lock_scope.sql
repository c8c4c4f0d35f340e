-- refresh_dedup holds the first lock alone: the order of tokens does not change under a writer.
-- Called in a statement of its own before every read it guards: in one statement with the read the snapshot would be
-- older than the lock, and each of two waiting writers would store the same fact.
create or replace function pgmem.lock_scope(p_scope_key bigint) returns boolean
language sql volatile
begin atomic
  select pg_advisory_xact_lock_shared(hashtextextended('pgmem.token_order', 0)) is not null
    and pg_advisory_xact_lock(p_scope_key) is not null;
end;
comment on function pgmem.lock_scope(bigint) is
  'Take turns with every other writer of this scope, until the transaction ends. True: assigning it costs less than perform.';
