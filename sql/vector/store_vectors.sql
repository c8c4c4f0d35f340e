-- security definer: the worker stores the vectors of every tenant.
create or replace function pgmem.store_vectors(p_model text, p_items jsonb) returns integer
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_model pgmem.embedding_model;
  v_item  jsonb;
  v_node  pgmem.node;
  v_count integer := 0;
begin
  select m.* into v_model from pgmem.embedding_model m where m.name = p_model;
  if v_model.id is null then
    raise exception using errcode = 'PM001', message = format('Unknown model %s; register it first.', quote_literal(p_model));
  end if;
  for v_item in select value from jsonb_array_elements(p_items) order by value ->> 'node_seq', value ->> 'kind' loop
    select n.* into v_node from pgmem.node n where n.seq = (v_item ->> 'node_seq')::bigint for share;
    continue when v_node.seq is null or v_node.status in ('archived', 'merged');
    perform pgmem.put_vector(v_node.seq, v_model, coalesce(v_item ->> 'kind', 'self'), v_node.tenant, coalesce(v_node.project_seq, 0),
      v_item ->> 'text_hash', array(select jsonb_array_elements_text(v_item -> 'vector'))::real[]);
    v_count := v_count + 1;
  end loop;
  return v_count;
end;
$$;
comment on function pgmem.store_vectors(text, jsonb) is
  'Store vectors: [{node_seq, kind, text_hash, vector}]; what was archived meanwhile is left out. How many were stored.';
