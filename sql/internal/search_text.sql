create or replace function pgmem.search_text(p_label text, p_title text, p_props jsonb) returns text
language sql stable parallel safe
begin atomic
  -- A field may be a text or a list of texts; the title leads unless a field repeats it.
  select concat_ws(' ',
    case when l.title_field = any (l.text_fields) then null else p_title end,
    (select string_agg(case jsonb_typeof(p_props -> field)
                         when 'array' then (select string_agg(item, ' ') from jsonb_array_elements_text(p_props -> field) item)
                         else p_props ->> field end, ' ' order by place)
     from unnest(l.text_fields) with ordinality as f(field, place)))
  from pgmem.label l where l.name = p_label;
end;
comment on function pgmem.search_text(text, text, jsonb) is
  'All the text a node is found by: its title and the text fields its label names.';
