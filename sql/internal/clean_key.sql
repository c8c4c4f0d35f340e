create or replace function pgmem.clean_key(p_text text, p_name text) returns text
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
declare
  v_key text := btrim(p_text);
begin
  if v_key is null then
    return null;
  end if;
  if v_key ~ '[\x01-\x1f\x7f]' then
    raise exception using errcode = 'PM001', message = format('%s holds a control character; send printable characters only.', p_name);
  end if;
  if length(v_key) > 100 and length(v_key) > pgmem.setting_int('max_key_chars') then
    raise exception using errcode = 'PM001', message = format('%s has %s characters; send at most %s.',
      p_name, length(v_key), pgmem.setting_int('max_key_chars'));
  end if;
  return nullif(v_key, '');
end;
$$;
comment on function pgmem.clean_key(text, text) is 'A key or name without outer blanks; null when empty; control characters are refused.';
