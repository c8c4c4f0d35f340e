create or replace function pgmem.drop_vectors(p_seq bigint) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  delete from pgmem.embedding_queue q where q.node_seq = p_seq;
  if pgmem.has_vectors() then
    delete from pgmem.embedding e where e.node_seq = p_seq;
  end if;
end;
$$;
comment on function pgmem.drop_vectors(bigint) is 'Forget the vectors of a node; of superseded and expired ones they are kept.';
