create or replace function pgmem.content_hash(p_parts text[]) returns text
language sql immutable strict parallel safe
begin atomic
  -- Each part is normalised by itself and ends at a newline, which normalize() never leaves inside a part:
  -- ["do a", "do b"] and ["do a do b"] get different hashes. A part without a word counts as written: two emoji are two.
  select encode(sha256(convert_to(string_agg(coalesce(nullif(pgmem.normalize(part), ''), regexp_replace(part, '\s+', ' ', 'g')), e'\n' order by place), 'UTF8')), 'hex')
  from unnest(p_parts) with ordinality as p(part, place);
end;
comment on function pgmem.content_hash(text[]) is 'SHA-256 (64 hex digits) of the normalised parts of a memory.';
