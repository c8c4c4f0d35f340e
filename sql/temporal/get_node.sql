-- security definer: clients hold no rights on tables.
create or replace function pgmem.get_node(p_label text, p_key text, p_project_id text default null, p_as_of timestamptz default null,
  p_known_at timestamptz default null,
  out id uuid, out label text, out key text, out title text, out status text, out properties jsonb, out project text,
  out scope text, out focus text, out valid_from timestamptz, out valid_to timestamptz, out confidence float8,
  out trust_level float8, out source text, out version integer, out created_at timestamptz, out updated_at timestamptz,
  out ingested_at timestamptz)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_project_seq bigint := pgmem.find_project(p_project_id);
  v_node        pgmem.node;
  v_state       pgmem.recorded_state;
begin
  if p_as_of is null and p_known_at is null then
    v_node := pgmem.find_node(p_label, p_key, v_project_seq);
    select s.* into v_state from pgmem.recorded_state s where s.seq = v_node.seq and s.replaced_at = 'infinity';
  else
    v_state := pgmem.find_state(p_label, p_key, v_project_seq, p_as_of, p_known_at);
  end if;
  select v_state.id, v_state.label, v_state.key, v_state.title, v_state.status, v_state.props, v_state.project, v_state.scope,
         v_state.focus, v_state.valid_from, v_state.valid_to, pgmem.confidence(v_state.initial_confidence, v_state.updated_at),
         v_state.trust_level, v_state.source, v_state.version, v_state.created_at, v_state.updated_at, v_state.ingested_at
  into id, label, key, title, status, properties, project, scope, focus, valid_from, valid_to, confidence, trust_level, source,
       version, created_at, updated_at, ingested_at;
end;
$$;
comment on function pgmem.get_node is
  'A node by id, key or exact title, whole: as it stands, or as it was true (as_of) or known (known_at) at a date.';
