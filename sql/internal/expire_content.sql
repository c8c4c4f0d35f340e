create or replace function pgmem.expire_content(p_scope_key bigint, p_content_hash text) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_seq bigint;
begin
  -- An index predicate cannot hold a clock: a row whose valid_to has passed still blocks its hash until it is expired.
  select n.seq into v_seq from pgmem.node n
  where n.scope_key = p_scope_key and n.content_hash = p_content_hash
    and n.status not in ('superseded', 'archived', 'expired', 'merged', 'dismissed', 'historical', 'rejected')
    and n.valid_to < pgmem.now();
  if found then
    perform pgmem.set_status(v_seq, 'expired');
  end if;
end;
$$;
comment on function pgmem.expire_content(bigint, text) is 'Set the row of this content to expired if its valid_to has passed. Under the scope lock.';
