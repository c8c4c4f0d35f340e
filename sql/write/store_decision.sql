-- Dedup: same content first (a repeat waits for nobody), then, under the scope lock, again and the nearest title.
create or replace function pgmem.store_decision(p_arguments jsonb, p_scope pgmem.scope_state, p_caller pgmem.caller,
  p_embedding pgmem.given_embedding default null, p_review text default null) returns pgmem.save_result
language plpgsql
set search_path = pgmem, pg_temp
as $$
declare
  v_node      pgmem.node;
  v_title     text := pgmem.clean_title(p_arguments ->> 'title', 'title');
  v_rationale text := pgmem.clean_text(p_arguments ->> 'rationale', 'rationale', true);
  v_props     jsonb := jsonb_strip_nulls(jsonb_build_object('rationale', v_rationale,
                'owner', case when p_arguments ? 'owner' then pgmem.clean_text(p_arguments ->> 'owner', 'owner') end,
                'date', coalesce(case when p_arguments ? 'date' then pgmem.argument_time(p_arguments, 'date') end, p_caller.made_at, pgmem.now())::date));
  v_found     record;
  v_locked    boolean;
  v_outcome   text := 'new';
begin
  v_node := pgmem.place_node('Decision', p_arguments, p_scope, p_caller);
  v_node.title := v_title;
  v_node.props := v_props;
  v_node.initial_confidence := pgmem.argument_number(p_arguments, 'confidence', 1.0);
  v_node.content_hash := pgmem.content_hash(array[v_title || ' ' || v_rationale]);

  v_found := pgmem.same_content(v_node.scope_key, v_node.content_hash);
  if v_found.seq is null then
    v_locked := pgmem.lock_scope(v_node.scope_key);
    v_found := pgmem.same_content(v_node.scope_key, v_node.content_hash);
    if v_found.expired_seq is not null then
      perform pgmem.set_status(v_found.expired_seq, 'expired');
    end if;
  end if;
  if v_found.seq is not null then
    return pgmem.saved(v_found.id, 'duplicate_skip', v_found.id, 'Duplicate detected: the existing record is returned.');
  end if;

  v_found := pgmem.near_duplicate(v_node.scope_key, v_title);
  v_node.title_tokens := v_found.words;
  if v_found.seq is null then
    v_outcome := 'new';
  elsif coalesce(p_review = 'supersede', v_found.score >= pgmem.setting_float('dedup_supersede')) then
    v_outcome := 'supersede';
  elsif p_review is null and v_found.score >= pgmem.setting_float('dedup_manual_review') then
    perform pgmem.refuse('failed', format('Cannot distinguish duplicate vs supersede. Review candidate: %s', v_found.id),
      'A person decides: pgmem review, or resolve_review(save_id, new | supersede | drop) in SQL.',
      'manual_review', v_found.id);
  end if;

  v_node := pgmem.insert_node(v_node, v_found.ranked);
  if v_outcome = 'supersede' then
    perform pgmem.set_status(v_found.seq, 'superseded', pgmem.now());
    perform pgmem.insert_edge(v_node.seq, 'SUPERSEDES', v_found.seq);
    return pgmem.saved(v_node.id, 'supersede', v_found.id, format('Supersedes %s.', v_found.id),
                       pgmem.store_embedding(v_node, p_embedding));
  end if;
  return pgmem.saved(v_node.id, 'new', p_embedded => pgmem.store_embedding(v_node, p_embedding));
end;
$$;
comment on function pgmem.store_decision(jsonb, pgmem.scope_state, pgmem.caller, pgmem.given_embedding, text) is
  'Store a decision, skip a repeat, supersede a near one, or refuse what a person must decide (manual_review).';
