-- Replaced by enable_vector() where the server offers pgvector.
create or replace function pgmem.store_embedding(p_node pgmem.node, p_embedding pgmem.given_embedding) returns boolean
language sql
set search_path = pgmem, pg_temp
as $$
  select false;
$$;
comment on function pgmem.store_embedding(pgmem.node, pgmem.given_embedding) is
  'Keep the vector a caller brought, if it was made from the text as finally written; true when kept.';
