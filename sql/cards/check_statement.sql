create or replace function pgmem.check_statement(p_statement text, out statement text, out warnings text[])
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
declare
  v_length integer;
begin
  statement := regexp_replace(btrim(regexp_replace(p_statement, '[\x01-\x08\x0b-\x1f\x7f]', '', 'g'), e' \t\r\n'), '\s+', ' ', 'g');
  v_length := length(statement);
  if coalesce(v_length, 0) = 0 then
    raise exception using errcode = 'PM010', message = 'Candidate statement must not be empty.';
  end if;
  if v_length > pgmem.setting_int('max_statement_chars') then
    raise exception using errcode = 'PM010', message = 'Memory candidate is too long for a durable card. Compress it into one '
      'evidence-linked conclusion; store details in receipt/spec/docs.';
  end if;
  warnings := array_remove(array[
    case when v_length > 500 then format('Statement length %s exceeds soft limit (500 chars); compress to one durable fact before record_candidate.', v_length)
         when v_length > 300 then format('Statement length %s exceeds target (300 chars); prefer <= 300 chars for durable cards.', v_length) end], null);
end;
$$;
comment on function pgmem.check_statement(text) is
  'A statement on one line and what is to be said of its length: target 300, warned above 500, refused above max_statement_chars.';
