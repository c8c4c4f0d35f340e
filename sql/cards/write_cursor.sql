create or replace function pgmem.write_cursor(p_content jsonb) returns text
language sql immutable strict
set search_path = pgmem, pg_temp
as $$
  select translate(encode(substr(sha256(convert_to(p_content::text, 'UTF8')), 1, 12) || convert_to(p_content::text, 'UTF8'), 'base64'), e'+/=\n', '-_');
$$;
comment on function pgmem.write_cursor(jsonb) is 'What a continuation goes on from, as one opaque word with a digest of itself.';
