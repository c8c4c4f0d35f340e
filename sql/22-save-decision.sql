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
-- Callers: store (20-saving) calls store_decision; 23-save-pattern calls find_repeat.


create or replace function pgmem.save_decision(
  p_title text,
  p_rationale text,
  p_project_id text,
  p_owner text default null,
  p_date date default null,
  p_scope pgmem.scope_name default 'project',
  p_focus text default null,
  p_confidence pgmem.confidence default 1.0,
  p_governance_token text default null,
  p_save_id uuid default null,
  p_share pgmem.sharing default null,
  p_embedding real[] default null,
  p_embedding_model text default null,
  p_embedding_text_hash text default null
) returns pgmem.save_result
language plpgsql security definer set search_path = pgmem, pg_temp as $$
begin
  return pgmem.run_save('save_decision',
    jsonb_strip_nulls(jsonb_build_object(
      'project_id', p_project_id, 'scope', p_scope, 'focus', p_focus, 'share', p_share,
      'title', p_title, 'rationale', p_rationale, 'owner', p_owner, 'date', p_date, 'confidence', p_confidence)),
    p_save_id, p_governance_token,
    (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
end;
$$;
comment on function pgmem.save_decision is $$
Save a decision: skip a repeat, supersede a near title, or hand a doubtful one to a reviewer.

The answer's dedup_outcome is `new`, `duplicate_skip`, `supersede` or `manual_review`; candidate_id is the earlier
decision. A refused save is not an error; its status is `failed` or `blocked_scope`, and next_step says what to do.

title: What was decided; one line.
rationale: Why it was decided.
owner: Who decided it; a name.
date: The day, YYYY-MM-DD; unset: today.
confidence: How certain it is, 0 to 1.

InvalidArgument: the title or rationale is empty, a text is too long, or a value cannot be read.
SaveIdReused: the save_id belongs to a save with other arguments.
$$;
select pgmem.declare_verb('save_decision', p_rights => 'writer', p_effect => 'repeat', p_answer => 'SaveResult',
  p_toolset => 'core',
  p_description =>
    'Keep a decision and why. Repeat: skipped. Near title: supersedes. manual_review: a person decides.');


create or replace function pgmem.store_decision(
  p_arguments jsonb,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller,
  p_embedding pgmem.given_embedding default null,
  p_review text default null,
  p_superseded_id uuid default null
) returns pgmem.save_result
language plpgsql as $$
declare
  v_title      text := pgmem.clean_title(p_arguments ->> 'title', 'title');
  v_rationale  text := pgmem.clean_text(p_arguments ->> 'rationale', 'rationale', true);
  v_props      jsonb := jsonb_strip_nulls(jsonb_build_object(
                 'rationale', v_rationale,
                 'owner', pgmem.clean_text(p_arguments ->> 'owner', 'owner'),
                 'date', coalesce(pgmem.argument_time(p_arguments, 'date'), p_caller.made_at, pgmem.now())::date));
  v_node       pgmem.node;
  v_repeat     uuid;
  v_near       record;
  v_earlier    pgmem.node;
  v_supersedes boolean := false;
begin
  v_node := pgmem.place_node('Decision', p_arguments, p_scope, p_caller);
  v_node.title := v_title;
  v_node.props := v_props || pgmem.source_of(p_arguments);
  v_node.initial_confidence := pgmem.argument_number(p_arguments, 'confidence', 1.0);
  v_node.content_hash := pgmem.memory_hash('Decision', v_node.title, v_node.props);

  v_repeat := pgmem.find_repeat(v_node);
  if v_repeat is not null then
    return pgmem.saved(v_repeat, 'duplicate_skip', v_repeat, 'Duplicate detected: the existing record is returned.');
  end if;

  v_near := pgmem.near_duplicate(v_node.scope_key, v_node.tenant, v_title);
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


create or replace function pgmem.find_repeat(p_node pgmem.node) returns uuid
language plpgsql as $$
declare
  v_found  record;
  v_locked boolean;
begin
  v_found := pgmem.same_content(p_node.scope_key, p_node.tenant, p_node.content_hash);
  if v_found.seq is null then
    v_locked := pgmem.lock_scope(p_node.scope_key);
    v_found := pgmem.same_content(p_node.scope_key, p_node.tenant, p_node.content_hash);
    if v_found.expired_seq is not null then
      perform pgmem.set_status(v_found.expired_seq, 'expired');
    end if;
  end if;
  return v_found.id;
end;
$$;
comment on function pgmem.find_repeat is
  'The live node of a scope with the same content; when it is null, the scope is locked and the content may be stored.';
