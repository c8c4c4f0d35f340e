-- Recorded times. Transaction time runs backwards behind a lock, so a state is stamped with the real time it is
-- written at, under the row's lock.
create or replace function pgmem.clock() returns timestamptz
language sql volatile
begin atomic
  select case when coalesce(current_setting('pgmem.now', true), '') = '' then clock_timestamp()
              else coalesce(pgmem.test_clock(), clock_timestamp()) end;
end;
comment on function pgmem.clock() is 'The time of this moment, behind the same seam as pgmem.now().';
