create or replace function pgmem.clean_title(p_text text, p_name text) returns text
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
declare
  v_title text := regexp_replace(btrim(p_text, e' \t\n'),
    -- Every blank of Unicode: what \s alone means depends on the database's locale.
    '[\s\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+', ' ', 'g');
begin
  -- Its own limit first: the one of texts would be no help.
  if length(v_title) > 100 and length(v_title) > pgmem.setting_int('max_title_chars') then
    raise exception using errcode = 'PM001', message = format('%s has %s characters; send at most %s and put the rest into the text.',
      p_name, length(v_title), pgmem.setting_int('max_title_chars'));
  end if;
  return regexp_replace(pgmem.clean_text(v_title, p_name, true), '\s+', ' ', 'g');
end;
$$;
comment on function pgmem.clean_title(text, text) is 'A title: one line, not empty, at most max_title_chars characters.';
