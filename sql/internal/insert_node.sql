-- The one way in which a node is made. What the caller left empty gets its value here; the tenant was stamped by new_node.
-- An import has told times and a version number; anybody else's node may be a copy of a stored one, whose times are not its own.
create or replace function pgmem.insert_node(p_node pgmem.node, p_ranked bigint[] default null, p_as_told boolean default false)
returns pgmem.node
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_now timestamptz := pgmem.clock();
begin
  p_node.place := case p_node.scope when 'global' then 'global'
                    when 'focus' then p_node.project_seq::text || '/' || p_node.focus else p_node.project_seq::text end;
  p_node.scope_key := pgmem.scope_key(p_node.tenant, p_node.place, p_node.label);
  p_node.text_config := coalesce(p_node.text_config, pgmem.setting_text('text_config'));
  p_node.created_at := coalesce(p_node.created_at, v_now);
  if not p_as_told then
    p_node.updated_at := p_node.created_at;
    p_node.recorded_at := v_now;
    p_node.version := 1;
  end if;
  -- Returns no more than it must: each column costs in every node of the plan.
  with stored as (
    insert into pgmem.node (id, label, key, title, props, status, scope, project, project_seq, focus, focus_seq,
      org_id, user_id, agent_id, session_id, source, trust_level, initial_confidence, valid_from, valid_to,
      content_hash, scope_key, title_tokens, text_config, tsv, text_length, version, created_at, updated_at, recorded_at)
    select p_node.id, p_node.label, p_node.key, p_node.title, p_node.props, p_node.status, p_node.scope, p_node.project,
      p_node.project_seq, p_node.focus, p_node.focus_seq, p_node.org_id, p_node.user_id, p_node.agent_id, p_node.session_id,
      p_node.source, p_node.trust_level, p_node.initial_confidence, p_node.valid_from, p_node.valid_to, p_node.content_hash,
      p_node.scope_key, p_node.title_tokens, p_node.text_config,
      words.tsv || array_to_tsvector(pgmem.scope_lexemes(p_node.tenant, p_node.project_seq)),
      length.text_length, p_node.version, p_node.created_at, p_node.updated_at, p_node.recorded_at
    from pgmem.searched_text(p_node.label, p_node.title, p_node.props) as found_by
    cross join lateral to_tsvector(p_node.text_config::regconfig, pgmem.segment(found_by.searched_text)) as words(tsv)
    cross join lateral pgmem.text_length(words.tsv) as length
    returning seq
  ), entered as (
    insert into pgmem.dedup_token (node_seq, scope_key, token, signature, size, weight)
    select s.seq, p_node.scope_key, e.token, e.signature, e.size, e.weight
    from stored s cross join pgmem.title_entries(p_ranked) e)
  select s.seq into strict p_node.seq from stored s;
  return p_node;
end;
$$;
comment on function pgmem.insert_node(pgmem.node, bigint[], boolean) is
  'Store a new node with its search text and scope key; with ranked title tokens, its near-duplicate entries; as told, with its own times.';
