-- All drafts of a receipt or none. What is there already is named, not made twice. Called by verbs that check the caller.
create or replace function pgmem.draft_receipt(p_receipt jsonb, p_scope pgmem.scope_state, p_caller pgmem.caller, p_share text)
returns jsonb
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_node    pgmem.node := pgmem.place_card(p_scope, p_caller, p_share);
  v_intent  pgmem.card_intent;
  v_paths   text[];
  v_draft   record;
  v_made    record;
  v_checked record;
  v_drafted jsonb := '[]';
  v_there   jsonb := '[]';
  v_wanted  jsonb := '[]';
  v_warn    jsonb := '[]';
begin
  if jsonb_typeof(p_receipt) <> 'object' or exists (
      select from unnest(array['scope', 'changed_paths', 'claims', 'contract_notes']) as name
      where jsonb_typeof(coalesce(p_receipt -> name, '[]')) not in ('array', 'null')) then
    raise exception using errcode = 'PM010', message = 'A receipt is an object: {"intent_id": "…"} or {"scope": ["path"]}, and changed_paths, '
      'claims, contract_notes (lists of texts), review, description (texts).';
  end if;
  perform pgmem.lock_scope(v_node.scope_key);
  if p_receipt ? 'intent_id' then
    select i.* into v_intent from pgmem.card_intent i
    where i.id = (p_receipt ->> 'intent_id')::uuid and i.tenant = p_caller.tenant and i.project_seq = p_scope.project_seq;
    if v_intent.finished_at is null then
      raise exception using errcode = 'PM010', message = format('Intent %s is not finished in this project; call finish_intent first.', p_receipt ->> 'intent_id');
    end if;
  end if;
  v_paths := array(select pgmem.clean_path(p) from jsonb_array_elements_text(
    case when jsonb_typeof(p_receipt -> 'scope') = 'array' then p_receipt -> 'scope'
         when cardinality(v_intent.changed_paths) > 0 then to_jsonb(v_intent.changed_paths) when v_intent.id is not null then to_jsonb(v_intent.paths)
         when jsonb_typeof(p_receipt -> 'changed_paths') = 'array' then p_receipt -> 'changed_paths' else '[]' end) with ordinality as e(p, place)
    -- What was said before it was changed comes first.
    order by not coalesce((select bool_or(p = said or starts_with(p, said || '/')) from unnest(v_intent.paths) said), true), place);
  if cardinality(v_paths) = 0 then
    raise exception using errcode = 'PM010', message = 'A receipt needs paths: a finished intent_id, scope or changed_paths.';
  end if;
  for v_draft in
    -- A module that has a role on a live card needs no other.
    select 'module_role' as record_type, p as path, coalesce(f.module, replace(substr(pgmem.module_match(p), 2), '/', '.')) || ' was part of a finished change'
        || coalesce(': ' || left(regexp_replace(coalesce(p_receipt ->> 'description', v_intent.description), '\s+', ' ', 'g'), 200), '') || '.' as statement, 0 as place
    from unnest(v_paths[1:10]) with ordinality as listed(p, n)
    left join pgmem.card_file f on f.tenant = v_node.tenant and f.project_seq = v_node.project_seq and f.path = p
    where p like '%.py' and not exists (
      select from pgmem.card_subject s join pgmem.node n on n.seq = s.node_seq
      where s.scope_key = v_node.scope_key and s.match = p collate "C" and s.relation = 'about' and s.status in ('active', 'draft', 'stale')
        and n.props ->> 'record_type' = 'module_role')
    union all
    select 'change_rationale', v_paths[1], claim, 1 from jsonb_array_elements_text(coalesce(nullif(p_receipt -> 'claims', 'null'), '[]')) claim
    union all
    select 'architecture_decision', v_paths[1], p_receipt ->> 'review', 2 where btrim(coalesce(p_receipt ->> 'review', '')) <> ''
    order by place, path, statement
  loop
    select * into v_checked from pgmem.check_statement(v_draft.statement);
    perform pgmem.require_draft_room(v_node.scope_key, 1);
    v_node.id := gen_random_uuid();
    select * into v_made from pgmem.store_candidate(v_node, v_checked.statement, v_draft.path, v_draft.record_type, '{}',
      case when v_intent.id is not null then jsonb_build_array(jsonb_build_object('kind', 'receipt', 'ref', 'intent:' || v_intent.id)) else '[]' end,
      'receipt', pgmem.card_writer(p_caller));
    v_warn := v_warn || to_jsonb(v_checked.warnings);
    if v_made.existing is not null then
      v_there := v_there || jsonb_build_object('id', v_made.existing, 'type', v_draft.record_type, 'path', v_draft.path);
    else
      v_drafted := v_drafted || jsonb_strip_nulls(jsonb_build_object('id', (v_made.node).id, 'type', v_draft.record_type, 'path', v_draft.path,
        'previously_rejected', v_made.rejected));
    end if;
  end loop;
  select coalesce(jsonb_agg(jsonb_build_object('type', 'contract_note', 'path', v_paths[1], 'statement', (pgmem.check_statement(note)).statement, 'proposal_only', true)), '[]')
  into v_wanted from jsonb_array_elements_text(coalesce(nullif(p_receipt -> 'contract_notes', 'null'), '[]')) note;
  return jsonb_build_object('drafted', v_drafted, 'existing', v_there, 'proposal_only', v_wanted, 'warnings', v_warn,
    'next_step', 'A person approves or rejects the drafts: pgmem cards review. Contract notes are not stored: record them by record_candidate.');
end;
$$;
comment on function pgmem.draft_receipt(jsonb, pgmem.scope_state, pgmem.caller, text) is
  'The drafts of a finished change: module_role of its first 10 modules, change_rationale of its claims, architecture_decision of its review.';
