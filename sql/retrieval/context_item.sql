create or replace function pgmem.context_item(p_node pgmem.node, p_recent timestamptz, p_stale timestamptz) returns jsonb
language sql stable parallel safe
begin atomic
  select (p_node).props || jsonb_build_object('id', (p_node).id, 'label', (p_node).label, 'key', (p_node).key,
    'title', (p_node).title, 'scope', (p_node).scope, 'focus', (p_node).focus, 'created_at', (p_node).created_at,
    'updated_at', (p_node).updated_at, 'trust_level', (p_node).trust_level, 'freshness',
    case when (p_node).updated_at >= p_recent then 'current' when (p_node).updated_at >= p_stale then 'recent' else 'stale' end);
end;
comment on function pgmem.context_item(pgmem.node, timestamptz, timestamptz) is 'A memory as an item of a context: its own properties and where it stands.';
