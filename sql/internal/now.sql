-- The clock of every rule about time. It obeys the setting pgmem.now only in a store whose owner put
-- test_clock = true in pgmem.setting: any client can set a setting, and a moved clock would keep a token alive.
create or replace function pgmem.now() returns timestamptz
language sql stable parallel safe
begin atomic
  select case when coalesce(current_setting('pgmem.now', true), '') = '' then transaction_timestamp()
              else coalesce(pgmem.test_clock(), transaction_timestamp()) end;
end;
comment on function pgmem.now() is 'The time of this transaction; in a store with test_clock = true, the setting pgmem.now.';
