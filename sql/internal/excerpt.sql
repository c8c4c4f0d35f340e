create or replace function pgmem.excerpt(p_text text) returns text
language sql immutable parallel safe
begin atomic
  select case when length(line) > 160 then left(line, 159) || '…' else line end
  from (select regexp_replace(left(p_text, 1000), '\s+', ' ', 'g') as line) l;
end;
comment on function pgmem.excerpt(text) is 'The first 160 characters of a text on one line: the title of what has none.';
