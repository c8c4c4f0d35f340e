create or replace function pgmem.embedding_text(p_label text, p_title text, p_props jsonb) returns text
language sql stable parallel safe
begin atomic
  select p_label || ': ' || pgmem.search_text(p_label, p_title, p_props);
end;
comment on function pgmem.embedding_text(text, text, jsonb) is 'The text a node is embedded as: its label and all the text it is found by.';
