-- Reads node itself: scope_key holds the tenant. Called under the scope lock.
create or replace function pgmem.refresh_cards(p_cards pgmem.report_card[], p_place pgmem.node, p_by text) returns jsonb
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_max          integer := pgmem.setting_int('max_records');
  v_room         integer := pgmem.card_room(p_place.scope_key, null, v_max);
  v_skip         boolean := pgmem.setting_text('cards_over_capacity') = 'skip';
  v_met          record;
  v_card         pgmem.report_card;
  v_node         pgmem.node;
  v_inserted     integer := 0;
  v_updated      integer := 0;
  v_unchanged    integer := 0;
  v_reactivated  integer := 0;
  v_contradicted integer := 0;
  v_decided      integer := 0;
  v_over         integer := 0;
begin
  for v_met in
    select c as card, known.seq, known.status, known.props
    from unnest(p_cards) c
    left join lateral (
      select n.seq, n.status, n.props from pgmem.node n
      where n.label = 'Card' and n.scope_key = p_place.scope_key and n.content_hash = c.identity order by n.seq desc limit 1) known on true
    order by c.place
  loop
    v_card := v_met.card;
    if v_met.seq is null then
      if v_room <= 0 then
        if not v_skip then
          raise exception using errcode = 'PM009', message = format('max_records_reached: %s/%s', v_max, v_max),
            hint = 'Raise max_records, run pgmem cards vacuum, or set cards_over_capacity to skip.';
        end if;
        v_over := v_over + 1;
        continue;
      end if;
      v_room := v_room - 1;
      v_node := p_place;
      v_node.id := gen_random_uuid();
      v_node.props := jsonb_build_object('record_type', v_card.record_type, 'statement', v_card.statement, 'confidence', 'supported', 'origin', 'system',
        'ingest_source', v_card.ingest_source, 'path', v_card.path, 'facet', v_card.facet, 'details', v_card.details, 'fingerprint', v_card.fingerprint);
      perform pgmem.insert_card(v_node, v_card.identity, v_card.subjects, v_card.evidence, 'refresh', p_by);
      v_inserted := v_inserted + 1;
    elsif v_met.status in ('rejected', 'archived', 'superseded', 'merged', 'expired') then
      v_decided := v_decided + 1;  -- a person took it out of use: it does not come back by itself
    elsif v_met.status = 'active' and v_met.props ->> 'fingerprint' = v_card.fingerprint and v_met.props -> 'details' = v_card.details then
      v_unchanged := v_unchanged + 1;
    else
      select n.* into v_node from pgmem.node n where n.seq = v_met.seq;
      if v_met.props ->> 'fingerprint' = v_card.fingerprint then
        -- The statement holds, whatever made the card stale: a restored file brings it back.
        perform pgmem.change_card(v_node, 'active', jsonb_build_object('stale_reason', null, 'contradiction', null, 'details', v_card.details),
          case when v_met.status = 'active' then 'refresh' else 'reactivate' end, p_by);
        if v_met.status = 'active' then
          v_updated := v_updated + 1;
        else
          v_reactivated := v_reactivated + 1;
        end if;
      elsif v_met.props ? 'approved_by' then
        v_contradicted := v_contradicted + 1;
        if (v_met.status, v_met.props ->> 'contradiction') is distinct from ('stale', v_card.statement) then
          perform pgmem.change_card(v_node, 'stale', jsonb_build_object('stale_reason', 'refresh_content_contradiction', 'contradiction', v_card.statement),
            'contradict', p_by, 'the repository now says: ' || v_card.statement);
        end if;
      else
        delete from pgmem.card_subject s where s.node_seq = v_node.seq;
        perform pgmem.add_subjects(v_node, v_card.subjects);
        perform pgmem.change_card(v_node, 'active', jsonb_build_object('statement', v_card.statement, 'details', v_card.details, 'fingerprint', v_card.fingerprint,
          'stale_reason', null) || pgmem.subject_words(v_card.subjects), 'refresh', p_by);
        perform pgmem.weigh_card(v_node.seq);
        v_updated := v_updated + 1;
      end if;
    end if;
  end loop;
  return jsonb_build_object('inserted', v_inserted, 'updated', v_updated, 'unchanged', v_unchanged, 'reactivated', v_reactivated,
    'contradicted', v_contradicted, 'decided', v_decided, 'over_capacity', v_over);
end;
$$;
comment on function pgmem.refresh_cards(pgmem.report_card[], pgmem.node, text) is
  'Meet the cards of a report with those stored: new, changed, contradicted, back again, or decided by a person and left alone.';
