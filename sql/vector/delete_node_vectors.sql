-- security definer: clients hold no rights on tables.
create or replace function pgmem.delete_node_vectors(p_ids uuid[]) returns integer
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_node   pgmem.node;
  v_seqs   bigint[] := '{}';
begin
  for v_node in select n.* from pgmem.visible_node n where n.id = any (p_ids) order by n.seq loop
    perform pgmem.require_own(v_node, v_caller);
    v_seqs := v_seqs || v_node.seq;
  end loop;
  return pgmem.delete_embeddings(v_seqs);
end;
$$;
comment on function pgmem.delete_node_vectors(uuid[]) is
  'Delete the vectors of the caller''s own nodes, of every model, and what waits to be embedded; vectors deleted.';
