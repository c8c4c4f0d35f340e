-- Locks: the governance token, the scope of the node, the node.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.revert(p_label text, p_key text, p_version integer, p_project_id text default null,
  p_governance_token text default null,
  out id uuid, out label text, out key text, out title text, out status text, out version integer, out reverted_to integer)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller      pgmem.caller := pgmem.require_writer();
  v_project_seq bigint := pgmem.find_project(p_project_id);
  v_node        pgmem.node := pgmem.find_recorded(p_label, p_key, v_project_seq);
  v_earlier     pgmem.node_version;
  v_token_id    uuid;
  v_twin        record;
begin
  perform pgmem.require_forgettable(v_node, v_caller);
  if v_node.scope = 'global' then
    v_token_id := pgmem.require_approval(p_governance_token, v_caller);
  end if;
  perform pgmem.lock_scope(v_node.scope_key);
  select n.* into v_node from pgmem.visible_node n where n.seq = v_node.seq;
  select v.* into v_earlier from pgmem.visible_version v where v.node_seq = v_node.seq and v.version = p_version;
  if v_node.seq is null or v_earlier.node_seq is null then
    raise exception using errcode = 'PM002', message = format('%s %s has no earlier version %s; memory_history lists them.', p_label,
      quote_literal(left(p_key, 80)), coalesce(p_version::text, 'null'));
  end if;
  if v_node.content_hash is not null and v_earlier.status in ('active', 'approved') then
    v_twin := pgmem.same_content(v_node.scope_key, v_node.content_hash);
    if v_twin.expired_seq is not null then
      perform pgmem.set_status(v_twin.expired_seq, 'expired');
    end if;
    if v_twin.seq <> v_node.seq then
      raise exception using errcode = 'PM001', message = format('The same content is live as %s; forget that one first.', v_twin.id);
    end if;
  end if;
  v_node.title := v_earlier.title;
  v_node.props := v_earlier.props;
  v_node.status := v_earlier.status;
  v_node.valid_from := v_earlier.valid_from;
  v_node.valid_to := v_earlier.valid_to;
  v_node.initial_confidence := v_earlier.initial_confidence;
  -- The content is as trustworthy as who wrote it, not as who brings it back.
  v_node.trust_level := v_earlier.trust_level;
  v_node.source := v_earlier.source;
  v_node.agent_id := v_caller.agent_id;
  v_node.session_id := v_caller.session_id;
  v_node := pgmem.update_node(v_node);
  if v_node.status in ('archived', 'merged', 'rejected') then
    perform pgmem.delete_embeddings(array[v_node.seq]);
  else
    perform pgmem.store_embedding(v_node, null);
  end if;
  if v_token_id is not null then
    perform pgmem.spend_token(v_token_id, v_node.id);
  end if;
  id := v_node.id;
  label := v_node.label;
  key := v_node.key;
  title := v_node.title;
  status := v_node.status;
  version := v_node.version;
  reverted_to := p_version;
end;
$$;
comment on function pgmem.revert is
  'Bring an earlier version of a memory back as a new one; nothing of the history is lost.';
