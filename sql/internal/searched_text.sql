-- A set-returning function, because such a one is merged into the statement it is used in; so are text_length,
-- ranked_tokens, token_signature, title_entries and vertex_properties.
create or replace function pgmem.searched_text(p_label text, p_title text, p_props jsonb) returns table (searched_text text)
language sql stable parallel safe
begin atomic
  -- A field may be a text or a list of texts; the title leads unless a field repeats it.
  select concat_ws(' ',
    case when l.title_field = any (l.text_fields) then null else p_title end,
    (select string_agg(case jsonb_typeof(p_props -> field) when 'array' then pgmem.joined_texts(p_props -> field)
                         else p_props ->> field end, ' ')
     from unnest(l.text_fields) as field))
  from pgmem.label l where l.name = p_label;
end;
comment on function pgmem.searched_text(text, text, jsonb) is
  'All the text a node is found by: its title and the text fields its label names; one row.';
