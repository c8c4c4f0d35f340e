create or replace function pgmem.excerpt(p_text text) returns text
language sql immutable parallel safe
begin atomic
  select case when length(line) > 160 then left(line, 159) || '…' else line end
  -- Most texts are on one line already; to see that of ASCII costs a twentieth of the pattern.
  from (select case when octet_length(t.start) = length(t.start) and strpos(t.start, '  ') = 0
                     and t.start = translate(t.start, e'\t\n\v\f\r', '')
          then t.start else regexp_replace(t.start, '\s+', ' ', 'g') end as line
        from (select left(p_text, 1000) as start) t) l;
end;
comment on function pgmem.excerpt(text) is 'The first 160 characters of a text on one line: the title of what has none.';
