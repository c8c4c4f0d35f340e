-- Vectors that a caller made himself, by node. They count as made from the text as it stands; a later change of it queues the
-- node for the worker like any other.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.store_node_vectors(p_model text, p_items jsonb) returns integer
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_model  pgmem.embedding_model;
  v_item   record;
  v_node   pgmem.node;
  v_count  integer := 0;
begin
  select m.* into v_model from pgmem.embedding_model m where m.name = p_model;
  if v_model.id is null then
    raise exception using errcode = 'PM001', message = format('Unknown model %s; register it first.', quote_literal(p_model));
  end if;
  for v_item in
    select n.seq, i.value -> 'vector' as vector
    from jsonb_array_elements(p_items) i join pgmem.visible_node n on n.id = (i.value ->> 'id')::uuid
    order by n.seq
  loop
    select n.* into v_node from pgmem.node n where n.seq = v_item.seq for share;
    continue when v_node.seq is null or v_node.status in ('archived', 'merged', 'rejected', 'dismissed');
    perform pgmem.require_own(v_node, v_caller);
    perform pgmem.put_vector(v_node.seq, v_model, 'self', v_node.tenant, coalesce(v_node.project_seq, 0),
      encode(sha256(convert_to(pgmem.embedding_text(v_node.label, v_node.title, v_node.props), 'UTF8')), 'hex'),
      array(select jsonb_array_elements_text(v_item.vector))::real[]);
    v_count := v_count + 1;
  end loop;
  return v_count;
end;
$$;
comment on function pgmem.store_node_vectors(text, jsonb) is
  'Store vectors of the caller''s own nodes: [{id, vector}]; what is not here or archived is left out. How many were stored.';
