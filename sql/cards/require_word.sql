create or replace function pgmem.require_word(p_word text, p_known text[], p_message text) returns text
language plpgsql immutable
set search_path = pgmem, pg_temp
as $$
begin
  if p_word is null or not p_word = any (p_known) then
    raise exception using errcode = 'PM010', message = format(p_message, coalesce(left(p_word, 80), ''), array_to_string(p_known, ', '));
  end if;
  return p_word;
end;
$$;
comment on function pgmem.require_word(text, text[], text) is 'A word of a fixed list; another one is a contract error that lists them.';
