-- Locks: the scope of the caller's insights, so that two reflections take turns and propose nothing twice.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.reflect(out created integer, out pending bigint, out insights jsonb, out next_step text)
language plpgsql security definer
set search_path = pgmem, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  v_caller  pgmem.caller := pgmem.require_writer();
  v_node    pgmem.node := pgmem.new_node('Insight', v_caller);
  v_found   record;
begin
  v_node.scope_key := pgmem.scope_key(v_node.tenant, null, 'Insight');
  perform pgmem.lock_scope(v_node.scope_key);
  insights := '[]';
  for v_found in
    select f.detector, f.title, f.summary, f.confidence, f.sources,
           case when length(f.title) > 200 then left(f.title, 160) || ' ' || md5(f.title) else f.title end as key
    from (
      select 'cross_project_solution' as detector, d.* from pgmem.detect_cross_project_solution() d
      union all select 'shared_technology', d.* from pgmem.detect_shared_technology() d
      union all select 'training_opportunity', d.* from pgmem.detect_training_opportunity() d
      union all select 'technique_transfer', d.* from pgmem.detect_technique_transfer() d
      union all select 'concept_clustering', d.* from pgmem.detect_concept_clustering() d
      union all select 'stale_knowledge', d.* from pgmem.detect_stale_knowledge() d
      union all select 'hub_stubs', d.* from pgmem.detect_hub_stubs() d
      union all select 'tag_without_edge', d.* from pgmem.detect_tag_without_edge() d
      union all select 'under_connected', d.* from pgmem.detect_under_connected() d) f
    order by f.confidence desc, f.detector, f.title
  loop
    -- Proposed once, whatever became of it: what was judged does not come back.
    if exists (select from pgmem.visible_node n where n.scope_key = v_node.scope_key and n.key = v_found.key) then
      continue;
    end if;
    v_node.id := gen_random_uuid();
    v_node.key := v_found.key;
    v_node.title := v_found.title;
    v_node.status := 'pending';
    v_node.props := jsonb_build_object('title', v_found.title, 'summary', v_found.summary, 'detector', v_found.detector, 'sources',
      (select jsonb_agg(n.id order by s.place) from unnest(v_found.sources) with ordinality as s(seq, place)
       join pgmem.visible_node n on n.seq = s.seq));
    v_node.initial_confidence := v_found.confidence;
    v_node.trust_level := pgmem.derived_trust(1.0, v_found.sources);
    v_node.created_at := pgmem.now();
    perform pgmem.insert_node(v_node);
    insights := insights || jsonb_build_object('title', v_found.title, 'detector', v_found.detector, 'confidence', v_found.confidence);
  end loop;
  created := jsonb_array_length(insights);
  insert into pgmem.reflection (tenant, org_id, user_id, node_seq, insights, reflected_at)
  values (v_node.tenant, v_node.org_id, v_node.user_id, coalesce((select max(n.seq) from pgmem.node n), 0), created, pgmem.now())
  on conflict (tenant) do update set node_seq = excluded.node_seq, insights = excluded.insights, reflected_at = excluded.reflected_at;
  pending := (select count(*) from pgmem.visible_node n where n.scope_key = v_node.scope_key and n.status = 'pending');
  next_step := case when pending > 0 then 'surface_insights shows the pending ones; review_insight approves or dismisses each.'
    else 'Nothing to review.' end;
end;
$$;
comment on function pgmem.reflect() is
  'Look for what the memories say together: nine detectors over nodes and edges. What they find is an Insight, pending until reviewed, '
  'trusted as its least trusted source; what was proposed once is not proposed again.';
