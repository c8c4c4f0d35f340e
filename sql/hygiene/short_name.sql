create or replace function pgmem.short_name(p_title text) returns text
language sql immutable parallel safe
begin atomic
  select '“' || case when length(p_title) > 90 then left(p_title, 89) || '…' else p_title end || '”';
end;
comment on function pgmem.short_name(text) is 'A title as an insight quotes it.';
