create or replace function pgmem.argument_time(p_arguments jsonb, p_name text) returns timestamptz
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
declare
  v_text text := nullif(btrim(p_arguments ->> p_name), '');
begin
  if v_text is null then
    return null;  -- before the block below, which opens a savepoint
  end if;
  begin
    -- Words that PostgreSQL also reads (infinity, now, yesterday) are no point in time for a record.
    if v_text !~ '^\d{4}-\d{2}-\d{2}' then
      raise invalid_datetime_format;
    end if;
    return v_text::timestamptz;
  exception when invalid_datetime_format or datetime_field_overflow or invalid_text_representation or invalid_parameter_value then
    raise exception using errcode = 'PM001',
      message = format('%s is no date: send YYYY-MM-DD or an ISO 8601 time such as 2026-04-08T10:00:00Z.', p_name);
  end;
end;
$$;
comment on function pgmem.argument_time(jsonb, text) is 'A point in time out of a verb''s arguments; null when missing.';
