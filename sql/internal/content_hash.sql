create or replace function pgmem.content_hash(p_parts text[]) returns text
language plpgsql immutable strict parallel safe
set search_path = pgmem, pg_temp
as $$
declare
  v_part text;
  v_text text;
begin
  -- Each part is normalised by itself and ends at a newline, which normalize() never leaves inside a part:
  -- ["do a", "do b"] and ["do a do b"] get different hashes. A part without a word counts as written: two emoji are two.
  foreach v_part in array p_parts loop
    continue when v_part is null;
    v_text := concat(v_text || e'\n',
                     coalesce(nullif(pgmem.normalize(v_part), ''), regexp_replace(v_part, '\s+', ' ', 'g')));
  end loop;
  return encode(sha256(convert_to(v_text, 'UTF8')), 'hex');
end;
$$;
comment on function pgmem.content_hash(text[]) is 'SHA-256 (64 hex digits) of the normalised parts of a memory.';
