create or replace function pgmem.change_card(p_node pgmem.node, p_status text, p_props jsonb, p_action text, p_by text, p_reason text default null)
returns pgmem.node
language plpgsql
set search_path = pgmem, pg_temp
as $$
declare
  v_from text := p_node.status;
  v_text text := p_node.props ->> 'statement';
begin
  p_node.status := p_status;
  -- A null takes a property away.
  p_node.props := jsonb_strip_nulls(p_node.props || p_props);
  p_node.title := pgmem.excerpt(p_node.props ->> 'statement');
  p_node.initial_confidence := case p_node.props ->> 'confidence' when 'verified' then 1.0 when 'supported' then 0.8 else 0.5 end;
  p_node := pgmem.update_node(p_node);
  if p_status in ('rejected', 'archived') then
    perform pgmem.delete_embeddings(array[p_node.seq]);
  elsif p_node.props ->> 'statement' is distinct from v_text then
    perform pgmem.store_embedding(p_node, null);
  end if;
  perform pgmem.revise_card(p_node, p_action, v_from, p_by, p_reason);
  return p_node;
end;
$$;
comment on function pgmem.change_card(pgmem.node, text, jsonb, text, text, text) is
  'Change a card''s status and properties, with a revision. Called under the scope lock.';
