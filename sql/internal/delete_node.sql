-- The one way in which a node goes. Edges, versions, vectors and near-duplicate entries hang on it and go with it; triggers
-- take it out of the graph. The caller holds its scope lock.
create or replace function pgmem.delete_node(p_seq bigint, out edges integer, out versions integer, out vectors integer)
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  select count(*) into edges from pgmem.edge e where e.src = p_seq or e.dst = p_seq;
  select count(*) into versions from pgmem.node_version v where v.node_seq = p_seq;
  vectors := pgmem.delete_embeddings(array[p_seq]);
  delete from pgmem.node n where n.seq = p_seq;
end;
$$;
comment on function pgmem.delete_node(bigint) is 'Delete a node with all that hangs on it; how much that was.';
