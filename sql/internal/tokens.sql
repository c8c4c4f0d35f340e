create or replace function pgmem.tokens(p_text text) returns text[]
language sql immutable strict parallel safe
begin atomic
  select coalesce(array_agg(distinct token), '{}') from regexp_split_to_table(lower(p_text), '\W+') as token
  where token <> '';
end;
comment on function pgmem.tokens(text) is 'The set of words of a text, as Jaccard compares them (a hyphen splits; normalize() joins).';
