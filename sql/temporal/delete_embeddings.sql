-- The table of vectors is there only where the server has pgvector, hence the dynamic statement.
create or replace function pgmem.delete_embeddings(p_seqs bigint[]) returns integer
language plpgsql
set search_path = pgmem, pg_temp
as $$
declare
  v_deleted integer := 0;
begin
  if to_regclass('pgmem.embedding') is not null then
    execute 'delete from pgmem.embedding where node_seq = any ($1)' using p_seqs;
    get diagnostics v_deleted = row_count;
  end if;
  if to_regclass('pgmem.embedding_queue') is not null then
    execute 'delete from pgmem.embedding_queue where node_seq = any ($1)' using p_seqs;
  end if;
  return v_deleted;
end;
$$;
comment on function pgmem.delete_embeddings(bigint[]) is 'Delete the vectors of nodes, and what waits to be embedded; vectors deleted.';
