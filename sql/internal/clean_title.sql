create or replace function pgmem.clean_title(p_text text, p_name text) returns text
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
declare
  v_title text := regexp_replace(pgmem.clean_text(p_text, p_name, true), '\s+', ' ', 'g');
begin
  if length(v_title) > 100 and length(v_title) > pgmem.setting_int('max_title_chars') then
    raise exception using errcode = 'PM001', message = format('%s has %s characters; send at most %s and put the rest into the text.',
      p_name, length(v_title), pgmem.setting_int('max_title_chars'));
  end if;
  return v_title;
end;
$$;
comment on function pgmem.clean_title(text, text) is 'A title: one line, not empty, at most max_title_chars characters.';
