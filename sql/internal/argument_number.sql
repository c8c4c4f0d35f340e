create or replace function pgmem.argument_number(p_arguments jsonb, p_name text, p_default float8) returns float8
language plpgsql immutable
set search_path = pgmem, pg_temp
as $$
declare
  v_value jsonb := p_arguments -> p_name;
begin
  if v_value is null or jsonb_typeof(v_value) = 'null' then
    return p_default;
  end if;
  if jsonb_typeof(v_value) <> 'number' or not (v_value #>> '{}')::numeric between 0 and 1 then
    raise exception using errcode = 'PM001', message = format('%s must be a number from 0 to 1.', p_name);
  end if;
  -- Rounded, because a number nearer to 0 than float8 holds is an error to it.
  return round((v_value #>> '{}')::numeric, 300)::float8;
end;
$$;
comment on function pgmem.argument_number(jsonb, text, float8) is 'A number from 0 to 1 out of a verb''s arguments.';
