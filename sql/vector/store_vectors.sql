-- What changed while the provider was asked is not stored: it goes back to the queue, or the newer vector stays.
-- security definer: clients hold no rights on tables. Who may act for every tenant stores for all; others for those they see.
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
  v_all   boolean := pgmem.is_trusted();
  v_kind  text;
  v_text  text;
begin
  select m.* into v_model from pgmem.embedding_model m where m.name = p_model;
  if v_model.id is null then
    raise exception using errcode = 'PM001', message = format('Unknown model %s; register it first.', quote_literal(p_model));
  end if;
  for v_item in select value from jsonb_array_elements(p_items) order by (value ->> 'node_seq')::bigint, value ->> 'kind' loop
    select n.* into v_node from pgmem.node n where n.seq = (v_item ->> 'node_seq')::bigint for share;
    continue when v_node.seq is null or v_node.status in ('archived', 'merged', 'rejected', 'dismissed')
      or not (v_all or v_node.tenant = any (pgmem.visible_tenants()));
    v_kind := coalesce(v_item ->> 'kind', 'self');
    v_text := case v_kind when 'self' then pgmem.embedding_text(v_node.label, v_node.title, v_node.props) else pgmem.window_text(v_node) end;
    if encode(sha256(convert_to(v_text, 'UTF8')), 'hex') is distinct from v_item ->> 'text_hash' then
      update pgmem.embedding_queue q set claimed_until = null
      where q.node_seq = v_node.seq and q.model_id = v_model.id and q.kind = v_kind;
      continue;
    end if;
    perform pgmem.put_vector(v_node.seq, v_model, v_kind, v_node.tenant, coalesce(v_node.project_seq, 0),
      v_item ->> 'text_hash', array(select jsonb_array_elements_text(v_item -> 'vector'))::real[]);
    v_count := v_count + 1;
  end loop;
  return v_count;
end;
$$;
comment on function pgmem.store_vectors(text, jsonb) is
  'Store vectors: [{node_seq, kind, text_hash, vector}]; what was archived meanwhile is left out. How many were stored.';
