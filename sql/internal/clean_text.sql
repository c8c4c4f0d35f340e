create or replace function pgmem.clean_text(p_text text, p_name text, p_required boolean default false) returns text
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
declare
  v_text text := btrim(regexp_replace(p_text, '[\x01-\x08\x0b-\x1f\x7f]', '', 'g'), e' \t\n');
begin
  if coalesce(v_text, '') = '' then
    if p_required then
      raise exception using errcode = 'PM001', message = format('%s must not be empty; send a text.', p_name);
    end if;
    return null;
  end if;
  -- No limit can be set below 100: most texts need not look it up.
  if length(v_text) > 100 and length(v_text) > pgmem.setting_int('max_text_chars') then
    raise exception using errcode = 'PM001', message = format('%s has %s characters; send at most %s.',
      p_name, length(v_text), pgmem.setting_int('max_text_chars'));
  end if;
  return v_text;
end;
$$;
comment on function pgmem.clean_text(text, text, boolean) is
  'A text without control characters (tab and newline stay) and outer blanks; null when nothing is left; too long is refused.';
