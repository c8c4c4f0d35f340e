-- Saving a decision
--
-- A decision is stored once. A new one is compared with the live decisions of its scope, first by content, then by
-- title (20-duplicates):
--
--   the same title and rationale           duplicate_skip: the answer is the decision that exists
--   a title at least dedup_supersede near  supersede: the new decision takes the place of the earlier one
--   at least dedup_manual_review near      manual_review: nothing is stored until a reviewer decides (59-save-status)
--   the title of one that was replaced     duplicate_skip: the answer is its successor; it does not come back
--   anything else                          new
--
-- supersedes says that a decision replaces another, whatever the titles are like. One that begins to hold later
-- (valid_from) replaces it then: until that moment the earlier one holds. One that has ended replaces nothing. Decisions
-- that contradict each other both stay, and a person sees the conflict.
--
-- The answer names the nearest titles (near), whatever became of them, because words alone do not show whether two decisions
-- are about one thing. beside says that both hold: one that was replaced by the likeness of the titles alone comes back
-- (hold_both), and the two are not compared again.
--
-- Most repeats are found before the scope lock, so that they wait for no other writer; under the lock the content
-- is looked up again, because another writer may have stored it in between.
--
-- Locks: those of 24-saving; then the scope of the decision, before the second look and the comparison of titles.


select pgmem.declare_kind('Decision', 'save_decision',
  p_comment => $$
Save a decision: skip a repeat, supersede a near title, or hand a doubtful one to a reviewer.

A title that was replaced is not saved again: the answer is the decision that replaced it. supersedes says which decision
this one replaces, beside that another one holds too; `near` names the live decisions of which that may be true. The answer's dedup_outcome is `new`, `duplicate_skip`, `supersede` or `manual_review`; candidate_id is the earlier
decision. A refused save is not an error; its status is `failed` or `blocked_scope`, and next_step says what to do.
$$,
  p_description => 'Call this when something is decided. If near titles return, send it again with supersedes or beside.',
  p_fields => array[
    pgmem.field('title', 'title', 'The decision; one line.', p_required => true, p_kept => 'title'),
    pgmem.field('rationale', 'text', 'Why it was decided.', p_required => true),
    pgmem.field('owner', 'text', 'Who decided it; a name.', p_approved => false),
    pgmem.field('date', 'date', 'The day, YYYY-MM-DD; unset: today.', p_starts => 'today'),
    pgmem.field('confidence', 'confidence', 'How certain it is, 0 to 1.', p_kept => 'confidence', p_starts => '1.0',
      p_query => 'n.initial_confidence::float8'),
    pgmem.field('supersedes', 'text', 'One that it replaces; the id or title of a decision.', p_kept => 'nothing',
      p_approved => false),
    pgmem.field('beside', 'text', 'One holding too; the id or title of a near decision.', p_kept => 'nothing',
      p_approved => false),
    pgmem.field('superseded_by', 'uuid', 'The id of the decision that superseded it; null: none has.', p_kept => 'view',
      p_query => $$(select newer.id from pgmem.edge e join pgmem.visible_node newer on newer.seq = e.src
        where e.dst = n.seq and e.rel = 'SUPERSEDES' order by e.seq desc limit 1)$$)],
  p_searched => '{rationale,owner}',
  p_titled_by => '{title}',
  p_repeats => '{title,rationale}',
  p_order => '{title,rationale,project_id,owner,date,scope,focus,confidence,supersedes,beside}',
  p_store => 'store_decision');


create or replace function pgmem.review_head(p_candidate_id uuid) returns pgmem.node
language sql stable set search_path = pgmem, pg_temp as $$
  with recursive line(seq, depth) as (
    select n.seq, 0 from pgmem.visible_node n where n.id = p_candidate_id
    union
    select e.src, line.depth + 1 from line join pgmem.visible_edge e on e.dst = line.seq and e.rel = 'SUPERSEDES'
    where line.depth < 1000)
  select row(n.*)::pgmem.node from line join pgmem.visible_node n on n.seq = line.seq
  order by pgmem.is_live_status(n.status) desc, line.depth desc, n.seq desc limit 1;
$$;
comment on function pgmem.review_head is
  'The current decision in the line of a candidate: shown to a reviewer; null where it no longer exists.';


create or replace function pgmem.replacing_decision(p_node pgmem.node) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_old_seq bigint;
  v_old_id  uuid;
  v_head    pgmem.node;
begin
  -- Offset 0: by the index of names, whatever the planner expects of the others.
  select n.seq, n.id into v_old_seq, v_old_id from (
    select n.seq, n.id, n.label, n.title, n.status, n.valid_to, n.scope_key, n.tenant from pgmem.node n
    where pgmem.name_hash(coalesce(n.key, n.title)) = pgmem.name_hash(p_node.title) offset 0) n
  where n.label = 'Decision' and (n.status = 'superseded' or n.status = 'active' and n.valid_to < pgmem.now())
    and n.scope_key = p_node.scope_key and n.tenant = p_node.tenant
    and pgmem.folded(n.title) = pgmem.folded(p_node.title)
  order by n.seq desc limit 1;
  -- Asked for first, as nearly every save ends here.
  if v_old_seq is null then
    return null;
  end if;
  if not exists (
      select from pgmem.live_node n
      where n.scope_key = p_node.scope_key and n.tenant = p_node.tenant and n.label = 'Decision'
        and pgmem.name_hash(coalesce(n.key, n.title)) = pgmem.name_hash(p_node.title)
        and pgmem.folded(n.title) = pgmem.folded(p_node.title)) then
    v_head := pgmem.review_head(v_old_id);
  end if;
  return case when v_head.status = 'active' and v_head.seq <> v_old_seq then v_head end;
end;
$$;
comment on function pgmem.replacing_decision is
  'The live decision that has replaced one with the title of a new one; null: none, or one with this title is live.';


create or replace function pgmem.decision_to_replace(
  p_name text,
  p_node pgmem.node,
  p_caller pgmem.caller
) returns pgmem.node
language plpgsql as $$
declare
  v_found pgmem.node := pgmem.find_node('Decision', p_name, case when not pgmem.is_uuid(p_name) then p_node.project_seq end);
  v_head  pgmem.node;
begin
  perform pgmem.require_own(v_found, p_caller);
  if v_found.tenant <> p_node.tenant and p_node.user_id <> '' then
    raise exception using errcode = 'PM011', message =
      'A shared Decision is not replaced by a private one, because the others would lose it; save this one with share = org.';
  end if;
  if v_found.scope_key <> p_node.scope_key then
    raise exception using errcode = 'PM001', message = format(
      'supersedes names %s, which holds in another place (%s); save the new one with its project_id, scope and focus.',
      pgmem.short_name(v_found.title), concat_ws(', ', v_found.scope, v_found.project, v_found.focus));
  end if;
  select n.* into v_found from pgmem.visible_node n where n.seq = v_found.seq;  -- under the lock of the scope
  if v_found.status <> 'active' then
    v_head := pgmem.review_head(v_found.id);
    raise exception using errcode = 'PM001', message = format('supersedes names %s, which is %s%s.',
      pgmem.short_name(v_found.title), v_found.status, case when v_head.status = 'active' and v_head.id <> v_found.id
        then format(': it was replaced by %s; send its id %s', pgmem.short_name(v_head.title), v_head.id) else '' end);
  end if;
  if pgmem.outranked(v_found.trust_level, p_caller) then
    perform pgmem.refuse('failed', pgmem.review_message(v_found, p_caller), pgmem.review_step(), 'manual_review',
      v_found.id);
  end if;
  return v_found;
end;
$$;
comment on function pgmem.decision_to_replace is
  'The live decision that a new one of the same place names in supersedes.';


create or replace function pgmem.supersede_decision(
  p_new pgmem.node,
  p_old_seq bigint,
  p_props jsonb default '{}'
) returns void
language plpgsql as $$
declare
  v_old pgmem.node := (select row(n.*)::pgmem.node from pgmem.node n where n.seq = p_old_seq);
begin
  if p_new.valid_from > pgmem.now() and p_new.valid_from > coalesce(v_old.valid_from, '-infinity') then
    v_old.valid_to := least(v_old.valid_to, p_new.valid_from - interval '1 microsecond');
    v_old := pgmem.update_node(v_old);
  else
    perform pgmem.set_status(p_old_seq, 'superseded', pgmem.now());
  end if;
  perform pgmem.insert_edge(p_new.seq, 'SUPERSEDES', p_old_seq, p_props);
  -- A decision that held beside the old one holds beside the new one.
  perform pgmem.insert_edge(least(b.seq, p_new.seq), 'SIMILAR_TO', greatest(b.seq, p_new.seq), '{"by": "the decision before"}')
  from unnest(pgmem.held_beside(p_old_seq)) as b(seq) where b.seq <> p_new.seq;
end;
$$;
comment on function pgmem.supersede_decision is
  'Let a decision take the place of another: now, or where it begins to hold later, which ends the other one then.';


-- By this a search brings the old one under a word that it has alone, and a person sees that nobody said so.
create or replace function pgmem.likeness(p_old pgmem.node, p_new pgmem.node, p_score float8) returns jsonb
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_old text[] := pgmem.content_words(p_old.title_tokens);
  v_new text[] := pgmem.content_words(p_new.title_tokens);
begin
  if v_old <@ v_new or v_new <@ v_old then
    return '{}';
  end if;
  return jsonb_build_object('likeness', round(p_score::numeric, 2), 'words', (
    select coalesce(jsonb_agg(l.lexeme), '[]')
    from unnest(tsvector_to_array(to_tsvector(p_old.text_config::regconfig, p_old.title))) as l(lexeme)
    where l.lexeme <> all (tsvector_to_array(to_tsvector(p_old.text_config::regconfig, p_new.title)))));
end;
$$;
comment on function pgmem.likeness is
  'The properties of a relation by which a decision replaces another for the likeness of their titles alone, where each has a '
  'word that the other lacks: how near they are, and the lexemes that the old one has alone; empty for other replacements.';


create or replace function pgmem.hold_both(p_one pgmem.node, p_other pgmem.node, p_by jsonb) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_old pgmem.node;
begin
  select n.* into v_old from pgmem.edge e join pgmem.node n on n.seq = e.dst
  where (e.src, e.dst) in ((p_one.seq, p_other.seq), (p_other.seq, p_one.seq)) and e.rel = 'SUPERSEDES';
  if v_old.seq is not null then
    delete from pgmem.edge e
    where e.rel = 'SUPERSEDES' and (e.src, e.dst) in ((p_one.seq, p_other.seq), (p_other.seq, p_one.seq));
    if v_old.status = 'superseded' then
      v_old.status := 'active';
      v_old.valid_to := (select v.valid_to from pgmem.node_version v
                         where v.node_seq = v_old.seq and v.version < v_old.version order by v.version desc limit 1);
      if v_old.content_hash is not null then
        perform pgmem.require_no_twin(v_old);
      end if;
      v_old := pgmem.update_node(v_old);
    end if;
  end if;
  delete from pgmem.edge e where e.rel in ('CONFLICTS_WITH', 'SIMILAR_TO')
    and (e.src, e.dst) in ((p_one.seq, p_other.seq), (p_other.seq, p_one.seq));
  perform pgmem.insert_edge(least(p_one.seq, p_other.seq), 'SIMILAR_TO', greatest(p_one.seq, p_other.seq), p_by);
end;
$$;
comment on function pgmem.hold_both is
  'Let two memories hold beside each other, and compare them no more: the replacement of the other is undone, and so is their '
  ' conflict. The caller holds the locks of their scopes.';


create or replace function pgmem.decision_beside(
  p_name text,
  p_node pgmem.node,
  p_repeat uuid,
  p_caller pgmem.caller
) returns pgmem.node
language plpgsql as $$
declare
  v_found pgmem.node := pgmem.find_node('Decision', p_name, case when not pgmem.is_uuid(p_name) then p_node.project_seq end);
  v_newer pgmem.node;
begin
  perform pgmem.require_own(v_found, p_caller);
  if v_found.scope_key <> p_node.scope_key or v_found.id = p_repeat then
    raise exception using errcode = 'PM001', message = format(case when v_found.id = p_repeat
      then 'beside names this decision itself (%s); send the id of the other one.'
      else 'beside names %s, which holds in another place; what holds there is not compared with this one.' end,
      pgmem.short_name(v_found.title));
  end if;
  select n.* into v_found from pgmem.visible_node n where n.seq = v_found.seq;  -- under the lock of the scope
  if v_found.status = 'superseded' then
    select n.* into v_newer from pgmem.edge e join pgmem.node n on n.seq = e.src
    where e.dst = v_found.seq and e.rel = 'SUPERSEDES' order by e.props ? 'likeness' and n.id = p_repeat desc, e.seq desc limit 1;
    if not exists (select from pgmem.edge e where e.src = v_newer.seq and e.dst = v_found.seq and e.rel = 'SUPERSEDES'
                   and e.props ? 'likeness' and v_newer.id = p_repeat) then
      raise exception using errcode = 'PM001', message = format('beside names %s, which was replaced by %s.',
        pgmem.short_name(v_found.title), coalesce(pgmem.short_name(v_newer.title) || ' (' || v_newer.id || ')', 'another one'));
    end if;
  elsif v_found.status <> 'active' then
    raise exception using errcode = 'PM001', message = format('beside names %s, which is %s.',
      pgmem.short_name(v_found.title), v_found.status);
  end if;
  -- Either of the two may be a person's: the one that is named, or the one whose words the caller repeats.
  for v_newer in
    select n.* from pgmem.visible_node n where n.id in (v_found.id, p_repeat) and pgmem.outranked(n.trust_level, p_caller)
  loop
    perform pgmem.refuse('failed', pgmem.review_message(v_newer, p_caller), pgmem.review_step('new | supersede | drop'),
      'manual_review', v_newer.id);
  end loop;
  return v_found;
end;
$$;
comment on function pgmem.decision_beside is
  'The decision of the same place that a new or a repeated one names in beside: a live one, or one that it replaced for its '
  'likeness.';


create or replace function pgmem.near_title(p_near jsonb) returns text
language sql immutable
begin atomic
  select format('“%s” (%s, %s)', left(p_near ->> 'title', 120), p_near ->> 'date',
    'by ' || case when p_near ->> 'by' = 'person' or p_near ->> 'agent_id' is null then p_near ->> 'by'
      else 'the agent ' || (p_near ->> 'agent_id') end);
end;
comment on function pgmem.near_title is 'A near decision in a sentence: its title, day and writer.';


create or replace function pgmem.near_step(p_near jsonb, p_conflicts jsonb) returns text
language sql immutable
begin atomic
  select case
    when p_near = '[]' and p_conflicts = '[]' then null
    when p_near = '[]' then format('“%s” says otherwise, and both hold until somebody decides: save this one again with '
      'supersedes: %s, or if both hold with beside.', left(p_conflicts -> 0 ->> 'theirs', 120), p_conflicts -> 0 ->> 'id')
    else format(case p_near -> 0 ->> 'outcome'
      when 'replaced' then '%s was replaced, as its title is alike; if both hold, save this one again with beside: %s.'
      when 'conflict' then '%s says otherwise, and both hold until somebody decides: save this one again with supersedes: %s, '
        'or if both hold with beside.'
      else '%s has a near title: if this one replaces it, save it again with supersedes: %s, if both hold with beside.' end,
      pgmem.near_title(p_near -> 0), p_near -> 0 ->> 'id') end;
end;
comment on function pgmem.near_step is
  'The next step after a save that is near to a live decision, or contradicts one: how to settle it.';


create or replace function pgmem.unsettled(p_near jsonb, p_named uuid) returns jsonb
language sql immutable
begin atomic
  select coalesce(jsonb_agg(case when n ->> 'outcome' in ('replaced', 'waits') then n || '{"outcome": "beside"}' else n end
    order by place), '[]')
  from jsonb_array_elements(p_near) with ordinality as e(n, place) where n ->> 'id' is distinct from p_named::text;
end;
comment on function pgmem.unsettled is
  'The near decisions but for the one that the caller or a person has named; the others are beside the new one.';


create or replace function pgmem.store_decision(
  p_node pgmem.node,
  p_arguments jsonb,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller,
  p_embedding pgmem.given_embedding,
  p_review text,
  p_superseded_id uuid
) returns pgmem.save_result
language plpgsql as $$
declare
  v_node      pgmem.node := p_node;
  v_repeat    uuid := pgmem.find_repeat(p_node);
  v_near      record;
  v_earlier   pgmem.node;
  v_named     text := case when p_review is null then pgmem.clean_text(p_arguments ->> 'supersedes', 'supersedes') end;
  v_beside    text := case when p_review is null then pgmem.clean_text(p_arguments ->> 'beside', 'beside') end;
  v_other     pgmem.node;
  v_likeness  jsonb := '{}';
  v_conflicts jsonb;
  v_ended     boolean := coalesce(p_node.valid_to < pgmem.now(), false);
  v_locked    boolean;
  v_result    pgmem.save_result;
begin
  if v_beside is not null then
    v_locked := pgmem.lock_scope(p_node.scope_key);
    v_other := pgmem.decision_beside(v_beside, v_node, v_repeat, p_caller);
  elsif p_review = 'new' then
    select n.* into v_other from pgmem.visible_node n
    where n.id = p_superseded_id and n.status = 'active' and n.id is distinct from v_repeat
      and n.scope_key = v_node.scope_key and n.tenant = v_node.tenant;
  end if;
  if v_repeat is not null then
    if v_other.seq is not null then
      perform pgmem.hold_both(row(n.*)::pgmem.node, v_other, jsonb_build_object('by', coalesce(p_caller.agent_id, p_caller.source))) from pgmem.visible_node n where n.id = v_repeat;
    end if;
    if v_named is not null then  -- saved before, and now the id that it replaces is sent
      v_locked := pgmem.lock_scope(p_node.scope_key);
      v_earlier := pgmem.decision_to_replace(v_named, v_node, p_caller);
    end if;
    if v_earlier.seq is null or v_earlier.id = v_repeat then
      return pgmem.repeated(v_repeat, case when v_other.seq is null then 'Duplicate detected: the existing record is returned.'
        else format('Both hold: this one and %s.', pgmem.short_name(v_other.title)) end, p_node);
    end if;
    perform pgmem.supersede_decision(row(n.*)::pgmem.node, v_earlier.seq) from pgmem.visible_node n where n.id = v_repeat;
    return pgmem.saved(v_repeat, 'supersede', v_earlier.id, format('Supersedes %s.', pgmem.short_name(v_earlier.title)));
  end if;
  if p_review is null and v_named is null and not v_ended then
    v_earlier := pgmem.replacing_decision(v_node);
    if v_earlier.seq is not null then
      return pgmem.saved(v_earlier.id, 'duplicate_skip', v_earlier.id,
        format('Not saved: on %s this was replaced by %s. To decide it again, save it with supersedes: %s.',
          to_char(v_earlier.created_at, 'YYYY-MM-DD'), pgmem.short_name(v_earlier.title), v_earlier.id));
    end if;
  end if;

  v_near := pgmem.near_duplicate(v_node.scope_key, v_node.tenant, v_node.title,
    case when v_other.seq is null then '{}' else v_other.seq || pgmem.held_beside(v_other.seq) end);
  v_node.title_tokens := v_near.words;
  if p_review = 'supersede' then
    -- The decision that the reviewer saw, under the lock of its scope; not the one nearest by now.
    select n.* into v_earlier from pgmem.visible_node n where n.id = p_superseded_id and n.status = 'active';
    if v_earlier.seq is null then
      raise exception using errcode = 'PM001',
        message = format('Decision %s is not live any more: look at the review again, then decide.', p_superseded_id);
    end if;
  elsif v_named is not null then
    v_earlier := pgmem.decision_to_replace(v_named, v_node, p_caller);
  elsif p_review is null and not v_ended and v_near.seq is not null then
    if v_near.score >= pgmem.setting_float('dedup_supersede') then
      select n.* into v_earlier from pgmem.node n where n.seq = v_near.seq;
      if pgmem.outranked(v_earlier.trust_level, p_caller) then
        perform pgmem.refuse('failed', pgmem.review_message(v_earlier, p_caller), pgmem.review_step(),
          'manual_review', v_near.id, v_near.near);
      end if;
      v_likeness := pgmem.likeness(v_earlier, v_node, v_near.score);
    elsif v_near.score >= pgmem.setting_float('dedup_manual_review') then
      perform pgmem.refuse('failed',
        format('Not saved: it may be the same decision as %s. Review candidate: %s',
          pgmem.near_title(v_near.near -> 0), v_near.id),
        format('If it replaces that one, save it again with supersedes: %s, if both hold with beside. '
          'Else a person decides: pgmem review (new | supersede | drop).', v_near.id), 'manual_review', v_near.id, v_near.near);
    end if;
  end if;

  v_node := pgmem.insert_node(v_node, v_near.ranked);
  if v_earlier.seq is not null then
    perform pgmem.supersede_decision(v_node, v_earlier.seq, v_likeness);
  end if;
  if v_other.seq is not null then
    perform pgmem.hold_both(v_node, v_other, jsonb_build_object('by', coalesce(p_caller.agent_id, p_caller.source)));
  end if;
  v_conflicts := pgmem.record_contradictions(v_node);
  if not v_ended and v_near.rival_seq <> coalesce(v_earlier.seq, v_near.seq, 0)
      and not v_conflicts @> jsonb_build_array(jsonb_build_object('id', v_near.rival_id)) then
    perform pgmem.insert_edge(v_near.rival_seq, 'CONFLICTS_WITH', v_node.seq);
    v_conflicts := v_conflicts || jsonb_build_object('id', v_near.rival_id, 'axis', v_near.axis,
      'theirs', v_near.theirs, 'ours', v_node.title,
      'by', (select pgmem.said_by(n.source, n.trust_level) from pgmem.node n where n.seq = v_near.rival_seq));
  end if;
  if v_near.near <> '[]' and num_nonnulls(p_review, v_named) > 0 then
    v_near.near := pgmem.unsettled(v_near.near, v_earlier.id);
  end if;
  v_result := pgmem.saved(v_node.id, case when v_earlier.seq is null then 'new' else 'supersede' end, v_earlier.id,
    case when v_earlier.seq is not null then format('Supersedes %s: %s.', pgmem.short_name(v_earlier.title), v_earlier.id) end, pgmem.store_embedding(v_node, p_embedding),
    p_conflicts => v_conflicts, p_near => v_near.near);
  v_result.next_step := pgmem.near_step(v_near.near, case when v_earlier.seq is null then v_conflicts else '[]' end);
  return v_result;
end;
$$;
comment on function pgmem.store_decision is $$
Store a decision, skip a repeat, supersede a near one, or refuse one for review.

p_review is a reviewer's outcome, and p_superseded_id the decision that it supersedes.
$$;
