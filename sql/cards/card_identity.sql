-- Not pgmem.content_hash: in code, case and punctuation tell two paths or two statements apart.
create or replace function pgmem.card_identity(p_record_type text, p_path text, p_content text) returns text
language sql immutable strict parallel safe
set search_path = pgmem, pg_temp
as $$
  select encode(sha256(convert_to(p_record_type || e'\n' || p_path || e'\n' || regexp_replace(btrim(p_content), '\s+', ' ', 'g'), 'UTF8')), 'hex');
$$;
comment on function pgmem.card_identity(text, text, text) is
  'What makes two cards the same: type, path and statement; of a card from a report, its facet instead of the statement.';
