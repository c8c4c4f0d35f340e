-- security definer: clients hold no rights on tables.
create or replace function pgmem.memory_history(p_label text, p_key text, p_project_id text default null)
returns table (version integer, title text, status text, properties jsonb, valid_from timestamptz, valid_to timestamptz,
  ingested_at timestamptz, replaced_at timestamptz, source text, trust_level float8)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_node pgmem.node := pgmem.find_recorded(p_label, p_key, pgmem.find_project(p_project_id));
begin
  return query
  select s.version, s.title, s.status, s.props, s.valid_from, s.valid_to, s.ingested_at,
         nullif(s.replaced_at, 'infinity'), s.source, s.trust_level
  from pgmem.recorded_state s where s.seq = v_node.seq order by s.version;
end;
$$;
comment on function pgmem.memory_history(text, text, text) is
  'Every state a node was recorded in, oldest first; the last is the present one and has no replaced_at.';
