create or replace function pgmem.search_text(p_label text, p_title text, p_props jsonb) returns text
language sql stable parallel safe
begin atomic
  select s.searched_text from pgmem.searched_text(p_label, p_title, p_props) s;
end;
comment on function pgmem.search_text(text, text, jsonb) is
  'All the text a node is found by: its title and the text fields its label names.';
