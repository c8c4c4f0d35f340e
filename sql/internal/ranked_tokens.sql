create or replace function pgmem.ranked_tokens(p_tokens text[]) returns bigint[]
language sql stable parallel safe
begin atomic
  select coalesce(array_agg(h.token order by coalesce(f.frequency, 0), h.token), '{}')
  from (select hashtextextended(word, 0) as token from unnest(p_tokens) as word) h
  left join pgmem.token_frequency f on f.token = h.token;
end;
comment on function pgmem.ranked_tokens(text[]) is
  'A title''s tokens (hashed) in the one frozen order, rarest first; unknown ones count as rarest.';
