create or replace function pgmem.insight(p_node pgmem.node, out id uuid, out title text, out summary text, out detector text,
  out confidence float8, out trust_level float8, out status text, out sources uuid[], out created_at timestamptz)
language sql stable
set search_path = pgmem, pg_temp
as $$
  select p_node.id, p_node.title, p_node.props ->> 'summary', p_node.props ->> 'detector', p_node.initial_confidence, p_node.trust_level,
         p_node.status, array(select s.id::uuid from jsonb_array_elements_text(p_node.props -> 'sources') as s(id)), p_node.created_at;
$$;
comment on function pgmem.insight(pgmem.node) is 'An Insight node as the verbs of reflection answer with it.';
