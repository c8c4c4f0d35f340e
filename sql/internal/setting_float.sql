create or replace function pgmem.setting_float(p_name text) returns float8
language sql stable parallel safe
begin atomic
  select value::float8 from pgmem.setting where name = p_name;
end;
comment on function pgmem.setting_float(text) is 'A row of pgmem.setting as a number.';
