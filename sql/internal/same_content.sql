-- Reads node itself: scope_key holds the tenant.
create or replace function pgmem.same_content(p_scope_key bigint, p_content_hash text, out seq bigint, out id uuid)
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  select n.seq, n.id into seq, id from pgmem.node n
  where n.scope_key = p_scope_key and n.content_hash = p_content_hash
    and n.status not in ('superseded', 'archived', 'expired', 'merged', 'dismissed', 'historical', 'rejected')
    and (n.valid_to is null or n.valid_to >= pgmem.now());
end;
$$;
comment on function pgmem.same_content(bigint, text) is 'The live node of a scope that holds the same content, if any.';
