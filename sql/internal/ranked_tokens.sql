create or replace function pgmem.ranked_tokens(p_tokens text[]) returns table (ranked bigint[])
language sql stable parallel safe
begin atomic
  select coalesce(array_agg(h.token order by coalesce(h.frequency, 0), h.token), '{}')
  from (select w.token, (select f.frequency from pgmem.token_frequency f where f.token = w.token) as frequency
        from (select hashtextextended(word, 0) as token from unnest(p_tokens) as word offset 0) w offset 0) h;
end;
comment on function pgmem.ranked_tokens(text[]) is
  'A title''s tokens (hashed) in the one frozen order, rarest first; unknown ones count as rarest. One row.';
