-- A person's verb. Locks: those of repair_pair.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.merge_entities(p_entity text, p_into text, p_project_id text default null, p_fact text default null,
  p_by text default null, out id uuid, out title text, out status text, out version integer, out rel_type text, out into_id uuid,
  out into_title text, out into_version integer)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_fact   text := pgmem.clean_text(p_fact, 'fact');
  v_pair   record;
  v_from   pgmem.node;
  v_into   pgmem.node;
begin
  v_pair := pgmem.repair_pair('merge_entities', 'EntityFact', p_entity, p_into, p_project_id);
  v_from := v_pair.gone;
  v_into := v_pair.stays;
  if v_into.scope <> 'global' and v_into.project_seq is distinct from v_from.project_seq then
    raise exception using errcode = 'PM011', message = 'The two belong to different projects: what one project knows would be gone from it.';
  end if;
  perform pgmem.set_status(v_from.seq, 'merged');
  perform pgmem.insert_edge(v_from.seq, 'MERGES_INTO', v_into.seq, jsonb_strip_nulls(jsonb_build_object('by', pgmem.clean_key(p_by, 'by'))));
  if v_fact is not null and v_fact is distinct from v_into.props ->> 'fact' then
    v_into.props := v_into.props || jsonb_build_object('fact', v_fact);
    -- Made of both, and trusted as the less trusted of them.
    v_into.trust_level := pgmem.derived_trust(v_caller.trust_level, array[v_from.seq, v_into.seq]);
    v_into.source := v_caller.source;
    v_into := pgmem.update_node(v_into);
    perform pgmem.store_embedding(v_into, null);
  end if;
  select n.id, n.title, n.status, n.version into id, title, status, version from pgmem.visible_node n where n.seq = v_from.seq;
  rel_type := 'MERGES_INTO';
  into_id := v_into.id;
  into_title := v_into.title;
  into_version := v_into.version;
end;
$$;
comment on function pgmem.merge_entities is
  'Let one entity stand for two: the first becomes merged (its facts stay in its history, revert brings it back), the second keeps its '
  'fact or gets the one given.';
