-- Apart from now(), so that now() has no subquery and is inlined where it is used.
create or replace function pgmem.test_clock() returns timestamptz
language sql stable parallel safe
begin atomic
  select current_setting('pgmem.now')::timestamptz from pgmem.setting where name = 'test_clock' and value = 'true';
end;
comment on function pgmem.test_clock() is 'The time a test has set; null in every store whose owner has not put test_clock = true.';
