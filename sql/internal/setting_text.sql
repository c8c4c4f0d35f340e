create or replace function pgmem.setting_text(p_name text) returns text
language sql stable parallel safe
begin atomic
  select value from pgmem.setting where name = p_name;
end;
comment on function pgmem.setting_text(text) is 'The value of a row of pgmem.setting; null when there is none.';
