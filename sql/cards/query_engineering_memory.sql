-- security definer: clients hold no rights on tables.
create or replace function pgmem.query_engineering_memory(p_project_id text, p_mode text, p_record_id uuid default null,
  p_path text default null, p_symbol text default null, p_query text default null, p_scope text[] default null,
  p_filters jsonb default '{}', p_max_results integer default 20, p_include_stale boolean default false,
  p_include_drafts boolean default null, p_detail_level text default 'compact',
  out mode text, out status text, out detail_level text, out payload jsonb)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller   pgmem.caller := pgmem.caller();
  v_scope    pgmem.scope_state;
  v_keys     bigint[];
  v_full     boolean;
  v_statuses text[];
  v_types    text[];
  v_confid   text[];
  v_node     pgmem.node;
  v_covered  record;
begin
  mode := pgmem.require_word(p_mode, array['search', 'get', 'for_path', 'for_symbol', 'stale', 'drafts', 'coverage', 'status'],
    'Unknown query mode ''%s''. Allowed: %s.');
  detail_level := case when p_mode = 'get' then 'full' else pgmem.require_detail(p_detail_level) end;
  v_full := detail_level = 'full';
  perform pgmem.check_filters(p_filters);
  if coalesce(p_max_results, 0) not between 1 and 100 then
    raise exception using errcode = 'PM010', message = 'max_results is a whole number from 1 to 100.';
  end if;
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  v_keys := pgmem.card_keys(v_caller, v_scope.project_seq);
  v_types := array(select jsonb_array_elements_text(p_filters -> 'types'));
  v_confid := array(select jsonb_array_elements_text(p_filters -> 'confidences'));
  v_statuses := case when p_filters ? 'statuses' then array(select jsonb_array_elements_text(p_filters -> 'statuses'))
    when p_mode = 'stale' then array['stale'] when p_mode = 'drafts' then array['draft']
    else array['active'] || case when coalesce(p_include_drafts, p_mode <> 'search') then array['draft'] else '{}' end
           || case when p_include_stale then array['stale'] else '{}' end end;
  status := 'ok';

  if p_mode = 'get' then
    if p_record_id is null then
      raise exception using errcode = 'PM010', message = 'mode=get requires record_id.';
    end if;
    select n.* into v_node from pgmem.visible_node n
    where n.id = p_record_id and n.label = 'Card' and n.project_seq = v_scope.project_seq;
    if v_node.seq is null then
      status := 'not_found';
      payload := jsonb_build_object('message', format('Memory record not found: %s', p_record_id));
    else
      payload := jsonb_build_object('record', pgmem.card_json(v_node, null, true), 'revisions', (
        select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('action', r.action, 'from_status', r.from_status, 'to_status', r.to_status,
          'by', r.by, 'reason', r.reason, 'version', r.version, 'at', r.created_at)) order by r.seq), '[]')
        from pgmem.card_revision r where r.node_seq = v_node.seq));
    end if;
    return;
  elsif p_mode = 'status' then
    payload := pgmem.card_counts(v_keys) || jsonb_build_object('project_id', v_scope.project_id, 'sync', pgmem.cards_sync(v_caller.tenants, v_scope.project_seq));
    return;
  elsif p_mode = 'coverage' then
    if coalesce(cardinality(p_scope), 0) = 0 then
      raise exception using errcode = 'PM010', message = 'mode=coverage requires one or more repo-relative scope paths.';
    end if;
    select * into v_covered from pgmem.scope_coverage(v_keys, pgmem.clean_paths(p_scope));
    payload := v_covered.coverage || jsonb_build_object('paths', v_covered.paths);
    return;
  end if;

  if p_mode = 'for_path' and btrim(coalesce(p_path, '')) = '' then
    raise exception using errcode = 'PM010', message = 'mode=for_path requires path.';
  elsif p_mode = 'for_symbol' and btrim(coalesce(p_symbol, '')) = '' then
    raise exception using errcode = 'PM010', message = 'mode=for_symbol requires symbol.';
  elsif p_mode = 'search' and pgmem.clean_text(p_query, 'query') is null then
    raise exception using errcode = 'PM010', message = 'mode=search requires query.';
  end if;
  with matched as materialized (
    select m.node_seq, m.score, m.total from (
      select found.node_seq, found.score, count(*) over () as total
      from pgmem.find_cards(p_mode, v_caller.tenants, v_scope, case when p_mode = 'for_path' then pgmem.clean_path(p_path) end, btrim(p_symbol), p_query,
             coalesce(p_filters ->> 'match_mode', 'any'), v_statuses) found
      join pgmem.visible_node n on n.seq = found.node_seq
      where (v_types = '{}' or n.props ->> 'record_type' = any (v_types)) and (v_confid = '{}' or n.props ->> 'confidence' = any (v_confid))) m
    order by m.score desc nulls last, m.node_seq desc limit p_max_results
  )
  select jsonb_build_object('records', coalesce(jsonb_agg(pgmem.card_json(row(n.*)::pgmem.node, case when p_mode not in ('stale', 'drafts') then m.score end, v_full) order by m.score desc nulls last, m.node_seq desc), '[]'),
    'record_count', count(*), 'total_count', coalesce(max(m.total), 0), 'truncated', coalesce(max(m.total), 0) > count(*))
  into payload from matched m join pgmem.visible_node n on n.seq = m.node_seq;
  if payload -> 'records' = '[]' then
    status := 'not_found';
  end if;
end;
$$;
comment on function pgmem.query_engineering_memory is
  'Look into engineering memory: search, get, for_path, for_symbol, stale, drafts, coverage, status.';
