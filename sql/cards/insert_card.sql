-- Called under the scope lock, capacity checked.
create or replace function pgmem.insert_card(p_node pgmem.node, p_identity text, p_subjects jsonb, p_evidence jsonb, p_action text, p_by text)
returns pgmem.node
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  p_node.title := pgmem.excerpt(p_node.props ->> 'statement');
  p_node.content_hash := p_identity;
  p_node.initial_confidence := case p_node.props ->> 'confidence' when 'verified' then 1.0 when 'supported' then 0.8 else 0.5 end;
  p_node.props := p_node.props || pgmem.subject_words(p_subjects);
  p_node := pgmem.insert_node(p_node);
  perform pgmem.add_subjects(p_node, p_subjects);
  perform pgmem.add_evidence(p_node.seq, p_evidence, p_by);
  perform pgmem.weigh_card(p_node.seq);
  perform pgmem.revise_card(p_node, p_action, null, p_by);
  perform pgmem.store_embedding(p_node, null);
  return p_node;
end;
$$;
comment on function pgmem.insert_card(pgmem.node, text, jsonb, jsonb, text, text) is
  'Store a card with its subjects, evidence and first revision; search text, history and graph come from insert_node.';
