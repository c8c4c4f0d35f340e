-- One transaction: a run is taken whole or not at all. security definer: clients hold no rights on tables.
create or replace function pgmem.refresh_from_run(p_report jsonb, p_project_id text, p_dry_run boolean default false, p_share text default null,
  out run_id uuid, out counts jsonb, out capacity text, out skipped jsonb, out cards jsonb)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller    pgmem.caller := pgmem.require_writer();
  v_scope     pgmem.scope_state;
  v_place     pgmem.node;
  v_cards     pgmem.report_card[];
  v_known     jsonb;
  v_over      integer := 0;
  v_done      jsonb := '{"inserted": 0, "updated": 0, "unchanged": 0, "reactivated": 0, "contradicted": 0, "decided": 0, "over_capacity": 0}';
begin
  perform pgmem.check_report(p_report);
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  v_place := pgmem.place_card(v_scope, v_caller, p_share);
  perform pgmem.lock_scope(v_place.scope_key);
  select coalesce(array_agg(c order by c.place), '{}') into v_cards from pgmem.report_cards(p_report, pgmem.setting_int('cards_hotspot_changes')) c;
  skipped := case when jsonb_typeof(p_report -> 'skipped') = 'array' then p_report -> 'skipped' else '[]' end;
  begin
    v_done := pgmem.refresh_cards(v_cards, v_place, pgmem.card_writer(v_caller));
    v_done := v_done || pgmem.refresh_anchors(v_cards, v_place, p_report, pgmem.card_writer(v_caller));
    v_done := v_done || pgmem.refresh_links(v_cards, v_place.scope_key);
    perform pgmem.touch_cards(v_place.org_id, v_place.user_id, v_place.project_seq);
    insert into pgmem.card_run as r (org_id, user_id, project_seq, fingerprint, commit_id, complete, counts, created_at)
    values (v_place.org_id, v_place.user_id, v_scope.project_seq, nullif(p_report ->> 'fingerprint', ''), nullif(p_report ->> 'commit', ''),
      coalesce((p_report ->> 'complete')::boolean, false), v_done, pgmem.clock())
    returning r.id into run_id;
    if p_dry_run then
      raise exception using errcode = 'PM098';
    end if;
  exception when sqlstate 'PM098' then
    run_id := null;  -- all of it is undone; what was counted stays known
  end;
  counts := v_done;
  v_over := (v_done ->> 'over_capacity')::integer;
  if v_over > 0 then
    capacity := format('max_records reached: %s cards of this run were left out.', v_over);
    skipped := skipped || to_jsonb(capacity);
  end if;
  if p_dry_run then
    cards := (select coalesce(jsonb_agg(jsonb_build_object('type', c.record_type, 'path', c.path, 'statement', c.statement, 'subjects', c.subjects,
      'evidence', c.evidence, 'links', c.links, 'details', c.details) order by c.place), '[]') from unnest(v_cards) c);
  end if;
end;
$$;
comment on function pgmem.refresh_from_run(jsonb, text, boolean, text) is
  'Bring the cards of a project to a report of its repository (schema pgmem.repository/1). dry_run writes nothing and shows the cards.';
