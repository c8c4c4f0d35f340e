-- What a save brings is kept if it was made from the text as finally written; else the worker embeds. A store without an
-- active model pays one lookup.
create or replace function pgmem.store_embedding(p_node pgmem.node, p_embedding pgmem.given_embedding) returns boolean
language plpgsql
set search_path = pgmem, public, pg_temp
as $$
#variable_conflict use_column
declare
  v_model pgmem.embedding_model;
begin
  if (p_embedding).vector is not null then
    select m.* into v_model from pgmem.embedding_model m where m.name = (p_embedding).model;
  else
    select m.* into v_model from pgmem.embedding_model m where m.active;
  end if;
  if v_model.id is null or not pgmem.is_memory(p_node.label) or not pgmem.has_vectors() then
    return false;
  end if;
  if (p_embedding).vector is not null and (p_embedding).text_hash
      = encode(sha256(convert_to(pgmem.embedding_text(p_node.label, p_node.title, p_node.props), 'UTF8')), 'hex') then
    perform pgmem.put_vector(p_node.seq, v_model, 'self', p_node.tenant, coalesce(p_node.project_seq, 0), (p_embedding).text_hash,
                             (p_embedding).vector);
    perform pgmem.queue_windows(p_node, v_model.id);
    return true;
  end if;
  insert into pgmem.embedding_queue (node_seq, kind, model_id) values (p_node.seq, 'self', v_model.id) on conflict do nothing;
  perform pgmem.queue_windows(p_node, v_model.id);
  return false;
end;
$$;
comment on function pgmem.store_embedding(pgmem.node, pgmem.given_embedding) is
  'Keep the vector a save brought, or queue its text for the worker; true when kept.';
