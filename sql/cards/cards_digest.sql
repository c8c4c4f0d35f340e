create or replace function pgmem.cards_digest(p_tenants text[], p_project_seq bigint) returns text
language sql stable
set search_path = pgmem, pg_temp
as $$
  select md5(coalesce(string_agg(md5(s.tenant) || ':' || s.revision, ',' order by s.tenant), '')) from pgmem.card_state s where s.tenant = any (p_tenants) and s.project_seq = p_project_seq;
$$;
comment on function pgmem.cards_digest(text[], bigint) is 'The state of a project''s cards as the caller sees them: another one after every change.';
