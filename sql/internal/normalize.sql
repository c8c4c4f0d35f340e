create or replace function pgmem.normalize(p_text text) returns text
language sql immutable strict parallel safe
begin atomic
  -- Most blanks are single spaces already; only the others are replaced.
  select btrim(regexp_replace(regexp_replace(lower(p_text), '[^\w\s]', '', 'g'), '\s{2,}|[^\S ]', ' ', 'g'));
end;
comment on function pgmem.normalize(text) is
  'What two texts must share to be the same: lower case, no punctuation, single spaces.';
