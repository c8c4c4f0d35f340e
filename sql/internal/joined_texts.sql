create or replace function pgmem.joined_texts(p_list jsonb) returns text
language sql immutable strict parallel safe
begin atomic
  select string_agg(item, ' ') from jsonb_array_elements_text(p_list) as item;
end;
comment on function pgmem.joined_texts(jsonb) is 'The texts of a list as one.';
