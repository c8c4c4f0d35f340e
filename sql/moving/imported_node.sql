-- Reads node itself: only the owner's tenants are asked for, so that an id that somebody else holds is as good as unknown. An owner
-- without tenants stands for all of them: for who keeps the store. Plans: as in import_node.
create or replace function pgmem.imported_node(p_id uuid, p_owner pgmem.caller) returns pgmem.node
language plpgsql stable
set search_path = pgmem, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_node pgmem.node;
begin
  if p_id is null then
    return null;
  end if;
  select n.* into v_node from pgmem.node n
  where n.id = p_id and (p_owner.tenants is null or n.tenant = any (p_owner.tenants));
  if not found and exists (select from pgmem.imported i where i.id = p_id) then
    select n.* into v_node from pgmem.node n
    where n.seq = any (array(select i.node_seq from pgmem.imported i where i.id = p_id))
      and (p_owner.tenants is null or n.tenant = any (p_owner.tenants))
    order by array_position(p_owner.tenants, n.tenant), n.seq limit 1;
  end if;
  return v_node;
end;
$$;
comment on function pgmem.imported_node(uuid, pgmem.caller) is 'The node that an id of a file means here, if its owner has or sees it.';
