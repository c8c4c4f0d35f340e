-- An index predicate cannot hold a clock: a row whose valid_to has passed is not live, yet blocks its hash until it is
-- set to expired. Reads node itself: scope_key holds the tenant.
create or replace function pgmem.same_content(p_scope_key bigint, p_content_hash text, out seq bigint, out id uuid,
  out expired_seq bigint)
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  select n.seq, n.id, case when n.valid_to < pgmem.now() then n.seq end into seq, id, expired_seq from pgmem.node n
  where n.scope_key = p_scope_key and n.content_hash = p_content_hash
    and n.status not in ('superseded', 'archived', 'expired', 'merged', 'dismissed', 'historical', 'rejected');
  if expired_seq is not null then
    seq := null;
    id := null;
  end if;
end;
$$;
comment on function pgmem.same_content(bigint, text) is
  'The live node of a scope that holds the same content, if any; else the one to expire before the same is stored again.';
