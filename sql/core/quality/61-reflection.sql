-- Reflection: insights and their review
--
-- reflect runs the detectors of 60-detectors and stores new findings as pending insights. Its title is the key of an
-- insight, so an insight is proposed once, with any outcome. A person judges: an approved insight
-- becomes a memory, joined to those it was seen in and found by search; a dismissed one does not come back. The trust
-- of an insight is derived from the memories it was seen in.
--
-- Locks: the scope of the caller's insights, so that two reflections take turns; then the node.


select pgmem.declare_table('reflection', 'owner', p_shown_to => 'tenant', p_moves => 'always', p_adopted => 'missing');


select pgmem.declare_answer('proposed_insight', $$
An insight that a reflection proposes.

title text, detector text, confidence float8
$$);

select pgmem.declare_answer('reflection_answer', $$
The insights that a reflection created, and the number that is pending.

class Reflection
created integer, pending bigint, insights proposed_insight[], next_step text
$$);

create or replace function pgmem.insight_key(p_title text) returns text
language sql immutable
begin atomic
  select case when length(p_title) > 200 then left(p_title, 160) || ' ' || md5(p_title) else p_title end;
end;
comment on function pgmem.insight_key is 'The key of an insight: its title, or of a long one the beginning and a digest.';


create or replace function pgmem.reflect() returns pgmem.reflection_answer
language plpgsql security definer set search_path = pgmem, pg_temp set jit = off as $$
declare
  v_answer  pgmem.reflection_answer;
  v_caller  pgmem.caller := pgmem.require_writer();
  v_node    pgmem.node := pgmem.new_node('Insight', v_caller);
  v_found   record;
begin
  v_node.scope_key := pgmem.scope_key(v_node.tenant, null, 'Insight');
  perform pgmem.lock_scope(v_node.scope_key);
  v_answer.insights := '[]';
  for v_found in
    select f.detector, f.title, f.summary, f.confidence, f.sources,
           pgmem.insight_key(f.title) as key
    from (
      select 'cross_project_solution' as detector, d.* from pgmem.detect_cross_project_solution() d
      union all select 'shared_technology', d.* from pgmem.detect_shared_technology() d
      union all select 'training_opportunity', d.* from pgmem.detect_training_opportunity() d
      union all select 'technique_transfer', d.* from pgmem.detect_technique_transfer() d
      union all select 'concept_clustering', d.* from pgmem.detect_concept_clustering() d
      union all select 'named_wrong', d.* from pgmem.detect_named_wrong() d
      union all select 'never_used', d.* from pgmem.detect_never_used() d
      union all select 'doubles', d.* from pgmem.detect_doubles() d
      union all select 'source_gone', d.* from pgmem.detect_source_gone() d
      union all select 'oversize', d.* from pgmem.detect_oversize() d
      union all select 'no_source', d.* from pgmem.detect_no_source() d
      union all select 'hub_stubs', d.* from pgmem.detect_hub_stubs() d
      union all select 'tag_without_edge', d.* from pgmem.detect_tag_without_edge() d) f
    order by f.confidence desc, f.detector, f.title
  loop
    if exists (select from pgmem.visible_node n where n.scope_key = v_node.scope_key and n.tenant || '' = v_node.tenant
               and n.key = v_found.key and pgmem.folded(n.key) = pgmem.folded(v_found.key)) then
      continue;
    end if;
    v_node.id := gen_random_uuid();
    v_node.key := v_found.key;
    v_node.title := v_found.title;
    v_node.status := 'pending';
    v_node.props := jsonb_build_object('title', v_found.title, 'summary', v_found.summary, 'detector', v_found.detector,
      'sources', (select jsonb_agg(n.id order by s.place) from unnest(v_found.sources) with ordinality as s(seq, place)
                  join pgmem.visible_node n on n.seq = s.seq));
    v_node.initial_confidence := v_found.confidence;
    v_node.trust_level := pgmem.derived_trust(1.0, v_found.sources);
    v_node.created_at := pgmem.now();
    perform pgmem.insert_node(v_node);
    v_answer.insights := v_answer.insights || jsonb_build_object('title', v_found.title, 'detector', v_found.detector,
                                               'confidence', v_found.confidence);
  end loop;
  v_answer.created := jsonb_array_length(v_answer.insights);
  insert into pgmem.reflection (tenant, org_id, user_id, node_seq, insights, reflected_at)
  values (v_node.tenant, v_node.org_id, v_node.user_id, coalesce((select max(n.seq) from pgmem.node n), 0),
    v_answer.created,
          pgmem.now())
  on conflict (tenant) do update
    set node_seq = excluded.node_seq, insights = excluded.insights, reflected_at = excluded.reflected_at;
  v_answer.pending := (select count(*) from pgmem.visible_node n
              where n.scope_key = v_node.scope_key and n.tenant || '' = v_node.tenant and n.status = 'pending');
  v_answer.next_step := case
    when v_answer.pending > 0 then 'surface_insights shows the pending ones; review_insight approves or dismisses each.'
    else 'Nothing to review.' end;
  return v_answer;
end;
$$;
comment on function pgmem.reflect is $$
Run the detectors and store new findings as pending insights.

An insight that was proposed once is not proposed again, whatever became of it.
$$;
select pgmem.declare_verb('reflect', p_rights => 'writer', p_effect => 'repeat', p_answer => 'Reflection',
  p_patience => 'report', p_toolset => 'quality',
  p_description => 'Call this after many saves: it looks for what memories say together, and proposes insights.',
  p_reads_all => 'It compares all memories of a project.');


select pgmem.declare_answer('insight_answer', $$
An insight, with the memories that it is drawn from.

class Insight
id uuid, title text, summary text?, detector text?, confidence float8, trust_level float8, status text, sources uuid[]
created_at timestamptz
forgets uuid[] = {}: The memories that an approval archives, in place of saving the insight.
shown text?: The state of the insight and of its memories, which review_insight compares.
$$);

select pgmem.declare_answer('insights', $$
The pending insights, highest confidence first.

insights insight_answer[]
$$);

create or replace function pgmem.surface_insights(
  p_limit pgmem.row_limit default 10,
  p_query text default null
) returns setof pgmem.insight_answer
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_query tsquery := case when pgmem.clean_text(p_query, 'query') is not null
    then coalesce(pgmem.any_word(p_query, pgmem.setting_text('text_config')), ''::tsquery) end;
begin
  return query
  select i.* from pgmem.visible_node n cross join lateral pgmem.insight(row(n.*)::pgmem.node) i
  where n.label = 'Insight' and n.status = 'pending' and (v_query is null or n.tsv @@ v_query)
  order by case when v_query is null then 0 else pgmem.word_rank(n.tsv, v_query) end desc, n.initial_confidence desc,
           n.trust_level desc, n.seq
  limit p_limit;
end;
$$;
comment on function pgmem.surface_insights is $$
The pending insights, highest confidence first.

query: Only insights that hold one of these words; unset: all.
$$;
select pgmem.declare_verb('surface_insights', p_rights => 'reader', p_effect => 'read', p_answer => 'Insights',
  p_toolset => 'quality', p_description => 'Call this to see the pending insights, highest confidence first.',
  p_reads_all => 'It compares all pending insights.');


create or replace function pgmem.proposed_to_forget(p_props jsonb) returns uuid[]
language sql immutable set search_path = pgmem, pg_temp as $$
  select coalesce(array_agg(s.id::uuid order by s.place), '{}')
  from jsonb_array_elements_text(p_props -> 'sources') with ordinality as s(id, place)
  where p_props ->> 'detector' in ('named_wrong', 'never_used', 'source_gone')
    or p_props ->> 'detector' = 'doubles' and s.place < jsonb_array_length(p_props -> 'sources');
$$;
comment on function pgmem.proposed_to_forget is
  'The memories that an insight proposes to forget: its sources, of doubles all but the last; none of any other detector.';


create or replace function pgmem.insight_shown(p_node pgmem.node) returns text
language sql stable set search_path = pgmem, pg_temp as $$
  select left(md5(concat_ws(' ', p_node.version, md5(p_node.title), md5(p_node.props::text), (
    select string_agg(concat_ws(' ', n.id, n.version, n.status), ',' order by n.id)
    from pgmem.visible_node n
    where n.id = any (array(select s.id::uuid from jsonb_array_elements_text(p_node.props -> 'sources') as s(id)))))), 16);
$$;
comment on function pgmem.insight_shown is
  'The state of an insight and of the memories that it is drawn from: another one once any of them has changed.';


create or replace function pgmem.insight(p_node pgmem.node) returns pgmem.insight_answer
language sql stable set search_path = pgmem, pg_temp as $$
  select p_node.id, p_node.title, p_node.props ->> 'summary', p_node.props ->> 'detector', p_node.initial_confidence,
         p_node.trust_level, p_node.status,
         array(select s.id::uuid from jsonb_array_elements_text(p_node.props -> 'sources') as s(id)), p_node.created_at,
         pgmem.proposed_to_forget(p_node.props), pgmem.insight_shown(p_node);
$$;
comment on function pgmem.insight is 'An Insight node as the verbs of reflection return it.';


create or replace function pgmem.forget_proposed(p_insight pgmem.node, p_caller pgmem.caller) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node;
begin
  for v_node in
    select n.* from pgmem.visible_node n where n.id = any (pgmem.proposed_to_forget(p_insight.props)) order by n.seq
  loop
    perform pgmem.require_forgettable(v_node, p_caller);
    v_node := pgmem.locked(v_node);
    if pgmem.needs_review(v_node, p_caller, false) then
      raise exception using errcode = 'PM004', message = format(
        'A person decides over forgetting %s %s: pgmem ui.', v_node.label,
        quote_literal(left(v_node.title, 80)));
    elsif pgmem.is_live_status(v_node.status) then
      perform pgmem.forget_node(v_node, p_caller, false);
    end if;
  end loop;
  perform pgmem.set_status(p_insight.seq, 'archived');
end;
$$;
comment on function pgmem.forget_proposed is
  'Archive the memories that an approved proposal names, of doubles all but the last, and the proposal; revert brings '
  'a memory back.';


create or replace function pgmem.review_insight(
  p_title text,
  p_action pgmem.insight_action,
  p_shown text default null
) returns pgmem.insight_answer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_title  text := pgmem.clean_title(p_title, 'title');
  v_node   pgmem.node;
  v_status text := case p_action when 'approve' then 'approved' when 'dismiss' then 'dismissed' end;
  v_scope  bigint := pgmem.scope_key(v_caller.tenant, null, 'Insight');
  v_key    text := pgmem.insight_key(v_title);
begin
  if pgmem.setting_text('approval') <> 'self' and not pgmem.decides(v_caller) then
    raise exception using errcode = 'PM004',
      message = 'A person judges insights in this store: pgmem ui.';
  end if;
  perform pgmem.lock_scope(v_scope);
  select n.* into v_node from pgmem.visible_node n
  where n.id = case when pgmem.is_uuid(v_title) then v_title::uuid end and n.scope_key = v_scope
    and n.tenant || '' = v_caller.tenant;
  if v_node.seq is null then
    select n.* into v_node from pgmem.visible_node n
    where n.scope_key = v_scope and n.tenant || '' = v_caller.tenant
      and n.key = v_key and pgmem.folded(n.key) = pgmem.folded(v_key);
  end if;
  if v_node.seq is null then
    raise exception using errcode = 'PM002',
      message = format('No insight %s found; surface_insights lists them.', quote_literal(left(p_title, 80)));
  end if;
  -- A proposal that was carried out is archived.
  if v_node.status = 'archived' and v_status = 'approved' then
    return pgmem.insight(v_node);
  end if;
  if v_node.status not in ('pending', v_status) then
    raise exception using errcode = 'PM001',
      message = format('This insight is %s already; a judgement is final.', v_node.status);
  end if;
  -- A person decides on a text that a page or a terminal has shown; whoever calls the verb without a screen has read it by it.
  if v_node.status = 'pending' and v_status = 'approved' and (p_shown is not null or v_caller.source in ('cli', 'ui'))
      and p_shown is distinct from pgmem.insight_shown(v_node) then
    raise exception using errcode = 'PM001', message = case when p_shown is null
      then 'Send shown, as surface_insights has it beside the text that the person has read.'
      else 'The insight, or a memory that it is drawn from, has changed since it was shown: look at it, then decide again.' end;
  end if;
  if v_node.status = 'pending' then
    perform pgmem.set_status(v_node.seq, v_status);
    select n.* into v_node from pgmem.visible_node n where n.seq = v_node.seq;
    if v_status = 'approved' and pgmem.proposed_to_forget(v_node.props) <> '{}' then
      perform pgmem.forget_proposed(v_node, v_caller);
      select n.* into v_node from pgmem.visible_node n where n.seq = v_node.seq;
    elsif v_status = 'approved' then
      perform pgmem.insert_edge(v_node.seq, 'ABOUT', n.seq)
      from jsonb_array_elements_text(v_node.props -> 'sources') as s(id) join pgmem.visible_node n on n.id = s.id::uuid
      order by n.seq;
      perform pgmem.store_embedding(v_node);
    end if;
  end if;
  return pgmem.insight(v_node);
end;
$$;
comment on function pgmem.review_insight is $$
Judge an insight: approved, it is a live memory; dismissed, it does not come back.

A proposal to forget is carried out when it is approved, and archived with the memories that it forgets.

The same judgement again changes nothing.

title: Its title or id.
action: approve or dismiss.
shown: Its shown, as surface_insights has it; the page and the command line need it to approve.

MemoryNotFound: no such insight exists.
NotPermitted: the setting approval is not self, and the caller is an agent; or the memory it forgets has more trust
  than the caller.
InvalidArgument: it was judged otherwise before, it has changed since it was shown, or the action is another word.
$$;
select pgmem.declare_verb('review_insight', p_rights => 'writer', p_effect => 'repeat', p_answer => 'Insight',
  p_toolset => 'quality', p_hidden => '{shown}',
  p_description => 'Call this when the person has decided over an insight. A dismissed one does not come back.');


create or replace function pgmem.insight_arrives(p_state jsonb) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node;
begin
  -- An approval would forget memories that its author names, under a text of the author's.
  if pgmem.proposed_to_forget(p_state -> 'props') <> '{}' then
    raise exception using errcode = 'PM001',
      message = 'A memory to forget is found by the reflection of this store, and no other one proposes it.';
  end if;
  v_node.status := case when p_state ->> 'status' in ('dismissed', 'archived') then p_state ->> 'status' else 'pending' end;
  v_node.key := pgmem.require_key(p_state ->> 'key', 'key');
  v_node.props := pgmem.clean_properties(p_state -> 'props');
  return v_node;
end;
$$;
comment on function pgmem.insight_arrives is 'An insight that another store brings: checked, cleaned, and pending until a person of this one decides.';
select pgmem.declare_label('Insight', p_arrives_by => 'insight_arrives', p_derived => true, p_other_texts => 'none', p_counted_in => 'insights',
  p_statuses => '{active,superseded,archived,expired,merged,stub,pending,approved,dismissed}');
