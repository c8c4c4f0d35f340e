create or replace function pgmem.try_date(p_text text) returns timestamptz
language plpgsql stable parallel safe
set search_path = pgmem, pg_temp
as $$
begin
  return p_text::timestamptz;
exception when invalid_datetime_format or datetime_field_overflow then
  return null;
end;
$$;
comment on function pgmem.try_date(text) is 'A date, or null where the text is none (31 February).';
