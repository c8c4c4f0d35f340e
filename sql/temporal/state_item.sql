create or replace function pgmem.state_item(p_state pgmem.recorded_state, p_recent timestamptz, p_stale timestamptz) returns jsonb
language sql stable parallel safe
as $$
  select (p_state).props || jsonb_build_object('id', (p_state).id, 'label', (p_state).label, 'key', (p_state).key,
    'title', (p_state).title, 'scope', (p_state).scope, 'focus', (p_state).focus, 'created_at', (p_state).created_at,
    'updated_at', (p_state).updated_at, 'trust_level', (p_state).trust_level, 'freshness',
    case when (p_state).updated_at >= p_recent then 'current' when (p_state).updated_at >= p_stale then 'recent' else 'stale' end,
    'status', (p_state).status, 'version', (p_state).version, 'valid_from', (p_state).valid_from, 'valid_to', (p_state).valid_to);
$$;
comment on function pgmem.state_item(pgmem.recorded_state, timestamptz, timestamptz) is
  'A recorded state as an item of a context, with what makes it a state: status, version and validity.';
