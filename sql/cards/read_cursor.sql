create or replace function pgmem.read_cursor(p_cursor text) returns jsonb
language plpgsql immutable
set search_path = pgmem, pg_temp
as $$
declare
  v_bytes bytea;
begin
  v_bytes := decode(rpad(translate(p_cursor, '-_', '+/'), (length(p_cursor) + 3) / 4 * 4, '='), 'base64');
  if substr(v_bytes, 1, 12) <> substr(sha256(substr(v_bytes, 13)), 1, 12) or length(v_bytes) < 14 then
    raise invalid_parameter_value;
  end if;
  return convert_from(substr(v_bytes, 13), 'UTF8')::jsonb;
exception when data_exception then
  raise exception using errcode = 'PM010', message = 'cursor digest mismatch: this is no continuation of get_relevant_memory, or it was edited. Start again without cursor.';
end;
$$;
comment on function pgmem.read_cursor(text) is 'What a continuation holds; an edited one is a contract error.';
