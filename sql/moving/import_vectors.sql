create or replace function pgmem.import_vectors(p_node pgmem.node, p_vectors jsonb) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_told   record;
  v_model  pgmem.embedding_model;
  v_active text := (select m.name from pgmem.embedding_model m where m.active);
  v_kept   text[] := '{}';
begin
  if not pgmem.has_vectors() or not pgmem.is_memory(p_node.label) or p_node.status in ('archived', 'merged', 'rejected', 'dismissed') then
    return;
  end if;
  for v_told in select v.* from jsonb_to_recordset(coalesce(p_vectors, '[]')) as v(model text, kind text, text_hash text, vector jsonb) loop
    select m.* into v_model from pgmem.embedding_model m where m.name = v_told.model;
    if found then
      perform pgmem.put_vector(p_node.seq, v_model, v_told.kind, p_node.tenant, coalesce(p_node.project_seq, 0), v_told.text_hash,
        array(select jsonb_array_elements_text(v_told.vector))::real[]);
      v_kept := v_kept || case when v_model.active then v_told.kind end;
    end if;
  end loop;
  -- What the active model has no vector for waits for the worker. A window also changes with the neighbour that comes next.
  if v_active is not null and 'self' <> all (v_kept) then
    perform pgmem.store_embedding(p_node, null);
  end if;
end;
$$;
comment on function pgmem.import_vectors(pgmem.node, jsonb) is
  'Store the vectors a file brings for a node of models that are here, and queue what the active model has none for.';
