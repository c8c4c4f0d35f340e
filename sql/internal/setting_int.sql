create or replace function pgmem.setting_int(p_name text) returns integer
language sql stable parallel safe
begin atomic
  select value::integer from pgmem.setting where name = p_name;
end;
comment on function pgmem.setting_int(text) is 'A row of pgmem.setting as a whole number.';
