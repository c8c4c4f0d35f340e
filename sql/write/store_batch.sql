-- The children's scope locks are taken sorted before the first of them is stored: two batches never wait for each other.
create or replace function pgmem.store_batch(p_arguments jsonb, p_scope pgmem.scope_state, p_caller pgmem.caller, p_save_id uuid)
returns jsonb
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_child    record;
  v_common   jsonb := jsonb_strip_nulls(jsonb_build_object('project_id', p_arguments -> 'project_id',
               'focus', p_arguments -> 'focus', 'share', p_arguments -> 'share'));
  v_caller   pgmem.caller := p_caller;
  v_result   pgmem.save_result;
  v_results  jsonb := jsonb_build_object('session', null, 'decisions', '[]'::jsonb, 'patterns', '[]'::jsonb);
  v_detail   text;
  v_save_id  uuid;
  v_saved    integer := 0;
  v_count    integer := 0;
  v_key      bigint;
begin
  -- A new focus area may be made for each tenant that a child is shared with.
  if p_scope.focus is not null and p_scope.focus_seq is null then
    for v_key in
      select distinct pgmem.scope_key(
        p_caller.org_id || e'\x1f' || case child.arguments ->> 'share' when 'org' then '' else p_caller.user_id end,
        p_scope.project_seq::text, 'FocusArea')
      from (select (p_arguments -> 'session') || v_common as arguments
            union all select value || v_common
            from jsonb_array_elements((p_arguments -> 'decisions') || (p_arguments -> 'patterns'))) child
      order by 1
    loop
      perform pgmem.lock_scope(v_key);
    end loop;
  end if;
  for v_key in
    select distinct pgmem.scope_key(
      p_caller.org_id || e'\x1f' || case child.arguments ->> 'share' when 'org' then '' else p_caller.user_id end,
      case child.arguments ->> 'scope' when 'global' then 'global' when 'focus' then p_scope.project_seq::text || '/' || p_scope.focus
        else p_scope.project_seq::text end, child.label)
    from (select 'Decision' as label, value || v_common as arguments from jsonb_array_elements(p_arguments -> 'decisions')
          union all select 'Pattern', value || v_common from jsonb_array_elements(p_arguments -> 'patterns')) child
    order by 1
  loop
    perform pgmem.lock_scope(v_key);
  end loop;
  for v_child in
    select 'session' as list, 'save_session' as verb, p_arguments -> 'session' as arguments, 0 as place
    union all select 'decisions', 'save_decision', value, ordinality::integer
      from jsonb_array_elements(p_arguments -> 'decisions') with ordinality
    union all select 'patterns', 'save_pattern', value, 1000000 + ordinality::integer
      from jsonb_array_elements(p_arguments -> 'patterns') with ordinality
    order by place
  loop
    v_save_id := gen_random_uuid();
    begin
      v_result := pgmem.store(v_child.verb, v_child.arguments || v_common, p_scope, v_caller);
      v_saved := v_saved + 1;
    exception when others then
      get stacked diagnostics v_detail = pg_exception_detail;
      v_result := pgmem.save_error(sqlstate, sqlerrm, v_detail);
      if sqlstate in ('PM001', 'PM002', 'PM003') and not (p_arguments ->> 'atomic')::boolean then
        v_result := row('failed', null, null, null, sqlerrm, pgmem.next_step('failed'), null, false)::pgmem.save_result;
      end if;
      if v_result.status is null then
        raise;
      end if;
    end;
    v_count := v_count + 1;
    v_result.save_id := v_save_id;
    if v_result.status <> 'saved' and (p_arguments ->> 'atomic')::boolean then
      perform pgmem.refuse('failed', format('Nothing was saved: %s %s was not. %s', v_child.list,
        coalesce(quote_literal(coalesce(v_child.arguments ->> 'title', v_child.arguments ->> 'trigger', v_child.arguments ->> 'objective')), ''),
        v_result.message), null, v_result.dedup_outcome, v_result.candidate_id);
    end if;
    -- What the session produced is joined to it, an existing duplicate too.
    if v_child.list = 'session' and v_result.status = 'saved' then
      v_caller.session_id := v_result.artifact_id::text;
    end if;
    perform pgmem.record_attempt(v_caller, v_child.verb, v_child.arguments || v_common,
      sha256(convert_to(v_child.verb || (v_child.arguments || v_common)::text, 'UTF8')), v_result);
    v_results := case v_child.list when 'session' then v_results || jsonb_build_object('session', to_jsonb(v_result))
                 else jsonb_set(v_results, array[v_child.list], (v_results -> v_child.list) || to_jsonb(v_result)) end;
  end loop;
  return v_results || jsonb_build_object('status', case when v_saved = v_count then 'saved' when v_saved = 0 then 'failed'
    else 'partial' end, 'save_id', p_save_id);
end;
$$;
comment on function pgmem.store_batch(jsonb, pgmem.scope_state, pgmem.caller, uuid) is
  'Store a session with its decisions and patterns: each in its own savepoint, or all or nothing (atomic).';
