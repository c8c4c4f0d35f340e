-- security definer: clients hold no rights on tables.
create or replace function pgmem.get_relevant_memory(p_project_id text, p_scope text[] default null, p_symbols text[] default null,
  p_intent_id uuid default null, p_max_records integer default 20, p_include_stale boolean default false,
  p_include_drafts boolean default true, p_detail_level text default 'compact', p_cursor text default null,
  out project_id text, out scope_resolved_from text, out records jsonb, out record_count integer, out total_count integer,
  out truncated boolean, out continuation text, out coverage jsonb, out detail_level text, out retrieval_policy jsonb,
  out context_governance jsonb, out memory_sync jsonb)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller  pgmem.caller := pgmem.caller();
  v_scope   pgmem.scope_state;
  v_keys    bigint[];
  v_request jsonb;
  v_offset  integer := 0;
  v_paths   text[] := '{}';
  v_symbols text[] := '{}';
  v_state   text;
  v_budget  integer := pgmem.setting_int('cards_budget');
  v_used    integer;
begin
  if num_nonnulls(p_scope, p_symbols, p_intent_id, p_cursor) = 0 then
    raise exception using errcode = 'PM010', message = 'get_relevant_memory requires scope, intent_id, or symbols. '
      'Use query_engineering_memory(mode=status|search) for project orientation.';
  end if;
  if num_nonnulls(p_scope, p_symbols, p_intent_id, p_cursor) > 1 then
    raise exception using errcode = 'PM010', message = 'Send one of scope, symbols, intent_id and cursor, not several.';
  end if;
  if coalesce(p_max_records, 0) not between 1 and 100 then
    raise exception using errcode = 'PM010', message = 'max_records is a whole number from 1 to 100.';
  end if;
  detail_level := pgmem.require_detail(p_detail_level);
  -- What cannot be read is said before whether there is anything to read.
  if p_scope is not null then
    v_paths := pgmem.clean_paths(case when cardinality(p_scope) = 0 then '{""}' else p_scope end);
  elsif p_symbols is not null then
    v_symbols := array(select distinct btrim(s) from unnest(p_symbols) s where btrim(s) <> '' order by 1);
    if cardinality(v_symbols) not between 1 and pgmem.setting_int('max_intent_paths') then
      raise exception using errcode = 'PM010', message = format('symbols names 1 to %s dotted names.', pgmem.setting_int('max_intent_paths'));
    end if;
  elsif p_cursor is not null then
    v_request := pgmem.read_cursor(p_cursor);
  end if;
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  v_keys := pgmem.card_keys(v_caller, v_scope.project_seq);
  v_state := pgmem.cards_digest(v_caller.tenants, v_scope.project_seq);
  memory_sync := pgmem.cards_sync(v_caller.tenants, v_scope.project_seq);
  if v_request is not null then
    if v_request ->> 'project' <> v_scope.project_seq::text then
      raise exception using errcode = 'PM010', message = 'snapshot_mismatch: project_identity_mismatch. This cursor belongs to another project; start again without cursor.';
    elsif v_request ->> 'state' <> v_state then
      raise exception using errcode = 'PM010', message = 'snapshot_mismatch: memory_projection_changed. Cards of the project changed since the first page; start again without cursor.';
    end if;
  else
    if memory_sync ->> 'state' = 'missing' then
      raise exception using errcode = 'PM010', message = format('Project %s has no engineering memory yet (sync policy %s). Run manage_engineering_memory(action=refresh_from_run) or: pgmem cards init',
        v_scope.project_id, memory_sync ->> 'policy');
    end if;
    if p_intent_id is not null then
      select i.paths into v_paths from pgmem.card_intent i
      where i.id = p_intent_id and i.project_seq = v_scope.project_seq and i.tenant = any (v_caller.tenants);
      if not found then
        raise exception using errcode = 'PM002', message = format('No intent %s is declared in this project; call declare_intent first.', p_intent_id);
      end if;
    end if;
    v_request := jsonb_build_object('project', v_scope.project_seq::text, 'state', v_state, 'offset', 0, 'paths', v_paths, 'symbols', v_symbols,
      'from', case when p_scope is not null then 'explicit' when p_symbols is not null then 'symbols' else 'intent' end,
      'most', p_max_records, 'stale', coalesce(p_include_stale, false), 'drafts', coalesce(p_include_drafts, true), 'detail', detail_level);
  end if;
  v_offset := (v_request ->> 'offset')::integer;
  v_paths := array(select jsonb_array_elements_text(v_request -> 'paths'));
  v_symbols := array(select jsonb_array_elements_text(v_request -> 'symbols'));
  detail_level := v_request ->> 'detail';
  project_id := v_scope.project_id;
  scope_resolved_from := v_request ->> 'from';

  with matched as materialized (
    select m.node_seq, m.score, count(*) over () as total
    from pgmem.card_match(v_caller.tenants, v_scope.project_seq, v_paths, v_symbols, array['active']
      || case when (v_request ->> 'drafts')::boolean then array['draft'] else '{}' end
      || case when (v_request ->> 'stale')::boolean then array['stale'] else '{}' end) m
    order by m.score desc, m.node_seq desc
    limit (v_request ->> 'most')::integer offset v_offset
  ), shown as (
    select m.total, m.score, m.node_seq, pgmem.card_json(row(n.*)::pgmem.node, m.score, detail_level = 'full') as card
    from matched m join pgmem.visible_node n on n.seq = m.node_seq
  ), measured as (
    select s.*, row_number() over w as place, sum((octet_length(s.card::text) + 3) / 4) over w as used
    from shown s window w as (order by s.score desc, s.node_seq desc)
  )
  -- A page holds one card at least, else what fits.
  select coalesce(jsonb_agg(card order by place) filter (where used <= v_budget or place = 1), '[]'),
         count(*) filter (where used <= v_budget or place = 1), coalesce(max(total), 0),
         coalesce(max(used) filter (where used <= v_budget or place = 1), 0)
  into records, record_count, total_count, v_used from measured;

  truncated := v_offset + record_count < total_count;
  continuation := case when truncated then pgmem.write_cursor(v_request || jsonb_build_object('offset', v_offset + record_count)) end;
  coverage := (pgmem.scope_coverage(v_keys, v_paths, v_symbols)).coverage;
  retrieval_policy := jsonb_build_object('memory_does_not_authorize_edits', true, 'risk_notes_are_informational', true,
    'drafts_included', (v_request ->> 'drafts')::boolean, 'stale_included', (v_request ->> 'stale')::boolean);
  context_governance := jsonb_build_object('budget', v_budget, 'used', v_used, 'unit', 'utf8_bytes/4');
end;
$$;
comment on function pgmem.get_relevant_memory is
  'The cards about some paths, some symbols or a declared intent, best first, one page; cursor goes on while no card has changed.';
