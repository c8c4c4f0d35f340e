create or replace function pgmem.tokens(p_text text) returns text[]
language sql immutable strict parallel safe
begin atomic
  select w.words from pgmem.title_words(p_text) w;
end;
comment on function pgmem.tokens(text) is 'The set of words of a text, as Jaccard compares them (a hyphen splits; normalize() joins).';
