create or replace function pgmem.token_signature(p_tokens bigint[]) returns table (signature bigint)
language sql immutable parallel safe
begin atomic
  select coalesce(bit_or(1::bigint << (token & 63)::integer), 0) from unnest(p_tokens) as token;
end;
comment on function pgmem.token_signature(bigint[]) is '64-bit Bloom filter of a token set; one row.';
