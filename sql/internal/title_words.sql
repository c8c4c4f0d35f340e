create or replace function pgmem.title_words(p_text text) returns table (words text[])
language sql immutable parallel safe
begin atomic
  select coalesce(array_agg(distinct word), '{}') from regexp_split_to_table(lower(p_text), '\W+') as word where word <> '';
end;
comment on function pgmem.title_words(text) is
  'The set of words of a text, as Jaccard compares them (a hyphen splits; normalize() joins); one row.';
