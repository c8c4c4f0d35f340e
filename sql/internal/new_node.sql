create or replace function pgmem.new_node(p_label text, p_caller pgmem.caller, p_share text default null) returns pgmem.node
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
declare
  v_node pgmem.node;
begin
  if p_share not in ('private', 'org') then
    raise exception using errcode = 'PM001', message = format('share is private or org, not %s.', p_share);
  end if;
  v_node.label := p_label;
  v_node.id := gen_random_uuid();
  v_node.props := '{}';
  v_node.status := 'active';
  v_node.org_id := p_caller.org_id;
  v_node.user_id := case when p_share = 'org' then '' else p_caller.user_id end;
  v_node.tenant := v_node.org_id || e'\x1f' || v_node.user_id;
  v_node.agent_id := p_caller.agent_id;
  v_node.session_id := p_caller.session_id;
  v_node.source := p_caller.source;
  v_node.trust_level := p_caller.trust_level;
  v_node.initial_confidence := 1.0;
  v_node.created_at := coalesce(p_caller.made_at, pgmem.now());
  return v_node;
end;
$$;
comment on function pgmem.new_node(text, pgmem.caller, text) is
  'An empty node of a label, stamped with its tenant and where it comes from; nothing is stored yet.';
