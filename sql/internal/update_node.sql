-- The one way in which a node changes. The caller holds the scope lock where the change takes the row into or out of
-- live. The earlier state goes to node_version by trigger; recorded times never run backwards.
create or replace function pgmem.update_node(p_node pgmem.node) returns pgmem.node
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_old pgmem.node;
begin
  select n.* into strict v_old from pgmem.node n where n.seq = p_node.seq for update;
  update pgmem.node n set
    title = p_node.title, props = p_node.props, status = p_node.status, valid_from = p_node.valid_from,
    valid_to = p_node.valid_to, initial_confidence = p_node.initial_confidence, content_hash = p_node.content_hash,
    title_tokens = p_node.title_tokens, trust_level = p_node.trust_level, source = p_node.source,
    agent_id = p_node.agent_id, session_id = p_node.session_id, text_config = p_node.text_config,
    tsv = words.tsv || array_to_tsvector(pgmem.scope_lexemes(p_node.tenant, p_node.project_seq)),
    text_length = length.text_length, updated_at = greatest(pgmem.now(), n.created_at)
  from pgmem.searched_text(p_node.label, p_node.title, p_node.props) as found_by
  cross join lateral to_tsvector(p_node.text_config::regconfig, pgmem.segment(found_by.searched_text)) as words(tsv)
  cross join lateral pgmem.text_length(words.tsv) as length
  where n.seq = p_node.seq returning n.* into p_node;
  if p_node.status = 'active' and p_node.title_tokens is not null
     and (v_old.status, v_old.title_tokens) is distinct from (p_node.status, p_node.title_tokens) then
    insert into pgmem.dedup_token (node_seq, scope_key, token, signature, size, weight)
    select p_node.seq, p_node.scope_key, e.token, e.signature, e.size, e.weight
    from pgmem.ranked_tokens(p_node.title_tokens) r cross join lateral pgmem.title_entries(r.ranked) e;
  end if;
  return p_node;
end;
$$;
comment on function pgmem.update_node(pgmem.node) is 'Write a changed node: search text, version and near-duplicate entries follow.';
