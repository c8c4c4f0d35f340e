create or replace function pgmem.require_own(p_node pgmem.node, p_caller pgmem.caller) returns void
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
begin
  if p_node.tenant not in (p_caller.tenant, p_caller.org_id || e'\x1f') then
    raise exception using errcode = 'PM004',
      message = format('%s %s belongs to all who use this store: only a caller without tenant changes it.', p_node.label,
                       quote_literal(left(p_node.title, 80)));
  end if;
end;
$$;
comment on function pgmem.require_own(pgmem.node, pgmem.caller) is
  'An error unless a node is the caller''s or his organisation''s: what one only sees, one does not change.';
