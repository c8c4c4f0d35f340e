-- Saving a decision
--
-- A decision is stored once. A new one is compared with the live decisions of its scope, first by content, then by
-- title (14-duplicates):
--
--   the same title and rationale           duplicate_skip: the answer is the decision that exists
--   a title at least dedup_supersede near  supersede: the new decision takes the place of the earlier one
--   at least dedup_manual_review near      manual_review: nothing is stored until a reviewer decides (27-save-status)
--   anything else                          new
--
-- Most repeats are found before the scope lock, so that they wait for no other writer; under the lock the content
-- is looked up again, because another writer may have stored it in between.
--
-- Locks: those of 20-saving; then the scope of the decision, before the second look and the comparison of titles.


select pgmem.declare_kind('Decision', 'save_decision',
  p_comment => $$
Save a decision: skip a repeat, supersede a near title, or hand a doubtful one to a reviewer.

The answer's dedup_outcome is `new`, `duplicate_skip`, `supersede` or `manual_review`; candidate_id is the earlier
decision. A refused save is not an error; its status is `failed` or `blocked_scope`, and next_step says what to do.
$$,
  p_description => 'Keep a decision and why. Repeat: skipped. Near title: supersedes. manual_review: a person decides.',
  p_fields => array[
    pgmem.field('title', 'title', 'What was decided; one line.', p_required => true, p_kept => 'title'),
    pgmem.field('rationale', 'text', 'Why it was decided.', p_required => true),
    pgmem.field('owner', 'text', 'Who decided it; a name.', p_approved => false),
    pgmem.field('date', 'date', 'The day, YYYY-MM-DD; unset: today.', p_starts => 'today'),
    pgmem.field('confidence', 'confidence', 'How certain it is, 0 to 1.', p_kept => 'confidence', p_starts => '1.0',
      p_query => 'pgmem.confidence(n.initial_confidence, n.updated_at)'),
    pgmem.field('superseded_by', 'uuid', 'The id of the decision that superseded it; null: none has.', p_kept => 'view',
      p_query => $$(select newer.id from pgmem.edge e join pgmem.visible_node newer on newer.seq = e.src
        where e.dst = n.seq and e.rel = 'SUPERSEDES' order by e.seq desc limit 1)$$)],
  p_searched => '{rationale,owner}',
  p_titled_by => '{title}',
  p_repeats => '{title,rationale}',
  p_order => '{title,rationale,project_id,owner,date,scope,focus,confidence}',
  p_store => 'store_decision');


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
  v_node       pgmem.node := p_node;
  v_repeat     uuid := pgmem.find_repeat(p_node);
  v_near       record;
  v_earlier    pgmem.node;
  v_supersedes boolean := false;
begin
  if v_repeat is not null then
    return pgmem.saved(v_repeat, 'duplicate_skip', v_repeat, 'Duplicate detected: the existing record is returned.');
  end if;

  v_near := pgmem.near_duplicate(v_node.scope_key, v_node.tenant, v_node.title);
  v_node.title_tokens := v_near.words;
  if p_review = 'supersede' then
    -- What the reviewer saw, under the lock of its scope; not what is nearest by now.
    select n.seq, n.id into v_near.seq, v_near.id from pgmem.visible_node n
    where n.id = p_superseded_id and n.status = 'active';
    if v_near.seq is null then
      raise exception using errcode = 'PM001',
        message = format('Decision %s is not live any more: look at the review again, then decide.', p_superseded_id);
    end if;
    v_supersedes := true;
  elsif v_near.seq is not null then
    v_supersedes := p_review is null and v_near.score >= pgmem.setting_float('dedup_supersede');
    if p_review is null and v_supersedes then
      select n.* into v_earlier from pgmem.node n where n.seq = v_near.seq;
      if pgmem.outranked(v_earlier.trust_level, p_caller) then
        perform pgmem.refuse('failed', pgmem.review_message(v_earlier, p_caller), pgmem.review_step(),
          'manual_review', v_near.id);
      end if;
    end if;
    if p_review is null and not v_supersedes and v_near.score >= pgmem.setting_float('dedup_manual_review') then
      perform pgmem.refuse('failed',
        format('Cannot distinguish duplicate vs supersede. Review candidate: %s', v_near.id),
        'A person decides: pgmem review, or resolve_review(save_id, new | supersede | drop) in SQL.',
        'manual_review', v_near.id);
    end if;
  end if;

  v_node := pgmem.insert_node(v_node, v_near.ranked);
  if not v_supersedes then
    return pgmem.saved(v_node.id, 'new', p_embedded => pgmem.store_embedding(v_node, p_embedding));
  end if;
  perform pgmem.set_status(v_near.seq, 'superseded', pgmem.now());
  perform pgmem.insert_edge(v_node.seq, 'SUPERSEDES', v_near.seq);
  return pgmem.saved(v_node.id, 'supersede', v_near.id, format('Supersedes %s.', v_near.id),
                     pgmem.store_embedding(v_node, p_embedding));
end;
$$;
comment on function pgmem.store_decision is $$
Store a decision, skip a repeat, supersede a near one, or refuse one for review.

p_review is a reviewer's outcome, and p_superseded_id the decision that it supersedes.
$$;
