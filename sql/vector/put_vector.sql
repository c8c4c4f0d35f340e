create or replace function pgmem.put_vector(p_seq bigint, p_model pgmem.embedding_model, p_kind text, p_tenant text, p_project_seq bigint,
  p_text_hash text, p_vector real[]) returns void
language plpgsql
set search_path = pgmem, public, pg_temp
as $$
#variable_conflict use_column
begin
  if cardinality(p_vector) <> p_model.dimensions then
    raise exception using errcode = 'PM001', message = format('Model %s has %s dimensions, this vector has %s; send vectors of that model.',
      p_model.name, p_model.dimensions, cardinality(p_vector));
  end if;
  if not exists (select from unnest(p_vector) as x where x <> 0) then
    raise exception using errcode = 'PM001', message = 'A vector of zeros is near nothing; send none, and the worker embeds.';
  end if;
  insert into pgmem.embedding (node_seq, model_id, kind, tenant, project_seq, text_hash, vector)
  values (p_seq, p_model.id, p_kind, p_tenant, p_project_seq, p_text_hash, p_vector::halfvec)
  on conflict (node_seq, model_id, kind) do update set vector = excluded.vector, text_hash = excluded.text_hash, indexed = false;
  delete from pgmem.embedding_queue q where q.node_seq = p_seq and q.model_id = p_model.id and q.kind = p_kind;
end;
$$;
comment on function pgmem.put_vector(bigint, pgmem.embedding_model, text, text, bigint, text, real[]) is
  'Store one vector; a wrong dimension and a vector of zeros are refused.';
