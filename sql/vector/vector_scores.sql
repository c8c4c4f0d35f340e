create or replace function pgmem.vector_scores(p_embedding real[], p_model pgmem.embedding_model, p_seqs bigint[])
returns table (seq bigint, own float8, around float8)
language plpgsql stable rows 50
set search_path = pgmem, public, pg_temp
as $$
#variable_conflict use_column
begin
  if p_embedding is null or not pgmem.has_vectors() then
    return;
  end if;
  return query
  select e.node_seq, max(e.score) filter (where e.kind = 'self'), max(e.score) filter (where e.kind = 'window')
  -- The array becomes a vector once, not for every row.
  from (select e.node_seq, e.kind, 1 - (e.vector <=> (select p_embedding::halfvec)) as score
        from pgmem.embedding e where e.node_seq = any (p_seqs) and e.model_id = p_model.id offset 0) e
  group by e.node_seq;
end;
$$;
comment on function pgmem.vector_scores(real[], pgmem.embedding_model, bigint[]) is
  'The cosine of some memories with a query, of their own texts and of their windows.';
