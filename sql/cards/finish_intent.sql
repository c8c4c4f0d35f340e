-- security definer: clients hold no rights on tables.
create or replace function pgmem.finish_intent(p_intent_id uuid, p_changed_paths text[], p_project_id text, p_propose boolean default false,
  p_receipt jsonb default '{}', p_share text default null,
  out intent_id uuid, out changed_paths text[], out outside_scope text[], out stale_cards uuid[], out proposed jsonb, out coverage jsonb,
  out policy jsonb)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_scope  pgmem.scope_state;
  v_intent pgmem.card_intent;
  v_keys   bigint[];
  v_node   pgmem.node;
begin
  changed_paths := array(select distinct pgmem.clean_path(coalesce(p, '')) from unnest(p_changed_paths) p order by 1);
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  perform pgmem.lock_scope((pgmem.place_card(v_scope, v_caller, p_share)).scope_key);
  select i.* into v_intent from pgmem.card_intent i
  where i.id = p_intent_id and i.tenant = v_caller.tenant and i.project_seq = v_scope.project_seq for update;
  if v_intent.id is null then
    raise exception using errcode = 'PM002', message = format('No intent %s is declared in this project; call declare_intent first.', p_intent_id);
  end if;
  if v_intent.finished_at is not null then
    raise exception using errcode = 'PM010', message = format('Intent %s is finished already.', p_intent_id);
  end if;
  update pgmem.card_intent i set finished_at = pgmem.clock(), changed_paths = finish_intent.changed_paths where i.id = v_intent.id;
  intent_id := v_intent.id;
  outside_scope := array(select c from unnest(changed_paths) c
    where not exists (select from unnest(v_intent.paths) p where c = p or starts_with(c, p || '/')) order by 1);

  -- Cards about a changed file, or about what lies below a changed folder. Not those of the folders above: they would be
  -- stale after every change.
  v_keys := pgmem.card_keys(v_caller, v_scope.project_seq);
  stale_cards := '{}';
  for v_node in
    select n.* from pgmem.visible_node n
    where n.status = 'active' and n.label = 'Card' and n.seq in (
      select s.node_seq from unnest(changed_paths) as c(path) cross join unnest(v_keys) as k(key)
      join pgmem.card_subject s on s.scope_key = k.key and s.match = c.path collate "C"
      where s.status = 'active' and s.relation = 'about'
      union
      select s.node_seq from unnest(changed_paths) as c(path) cross join unnest(v_keys) as k(key)
      join pgmem.card_subject s on s.scope_key = k.key and s.match > (c.path || '/') collate "C" and s.match < (c.path || '0') collate "C"
      where s.status = 'active' and s.relation = 'about')
    order by n.seq
  loop
    v_node := pgmem.change_card(v_node, 'stale', '{"stale_reason": "scope_files_changed"}', 'finish', pgmem.card_writer(v_caller),
      format('intent %s', v_intent.id));
    stale_cards := stale_cards || v_node.id;
  end loop;
  if p_propose then
    proposed := to_jsonb(pgmem.draft_receipt(coalesce(p_receipt, '{}') || jsonb_build_object('intent_id', v_intent.id, 'changed_paths', changed_paths),
      v_scope, v_caller, p_share));
  end if;
  coverage := (pgmem.scope_coverage(v_keys, changed_paths)).coverage;
  policy := '{"memory_does_not_authorize_edits": true, "risk_notes_are_informational": true}';
end;
$$;
comment on function pgmem.finish_intent is
  'End an intent with the files really changed: their active cards become stale (scope_files_changed); with propose, drafts come from the receipt.';
