create or replace function pgmem.scope_lexemes(p_tenant text, p_project_seq bigint) returns text[]
language sql immutable parallel safe
begin atomic
  select array['@t' || to_hex(hashtextextended(p_tenant, 0)), '@p' || coalesce(p_project_seq, 0)::text];
end;
comment on function pgmem.scope_lexemes(text, bigint) is 'The lexemes that mark a row''s tenant and project inside its tsvector.';
