-- One transaction for the whole; one governance token is good for all global children.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.store_session_with_learnings(p_session jsonb, p_project_id text, p_decisions jsonb default '[]',
  p_patterns jsonb default '[]', p_focus text default null, p_governance_token text default null, p_atomic boolean default false,
  p_save_id uuid default null, p_share text default null,
  out session jsonb, out decisions jsonb, out patterns jsonb, out overall text, out message text, out next_step text,
  out save_id uuid)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
declare
  v_caller    pgmem.caller := pgmem.require_writer();
  v_arguments jsonb := jsonb_strip_nulls(jsonb_build_object('project_id', p_project_id, 'focus', p_focus, 'share', p_share))
                || jsonb_build_object('session', coalesce(p_session, '{}'), 'decisions', coalesce(p_decisions, '[]'),
                     'patterns', coalesce(p_patterns, '[]'), 'atomic', coalesce(p_atomic, false));
  v_hash      bytea := sha256(convert_to('store_session_with_learnings' || v_arguments::text, 'UTF8'));
  v_attempt   pgmem.save_attempt;
  v_scope     pgmem.scope_state;
  v_token_id  uuid;
  v_result    jsonb;
  v_refused   pgmem.save_result;
  v_detail    text;
begin
  if jsonb_typeof(v_arguments -> 'session') <> 'object' or exists (
      select from (values (v_arguments -> 'decisions'), (v_arguments -> 'patterns')) as l(list)
      where jsonb_typeof(list) <> 'array'
         or exists (select from jsonb_array_elements(case jsonb_typeof(list) when 'array' then list else '[]' end) e
                    where jsonb_typeof(e) <> 'object')) then
    raise exception using errcode = 'PM001', message = 'Send session as an object, decisions and patterns as lists of objects.';
  end if;
  save_id := coalesce(p_save_id, gen_random_uuid());
  v_attempt := pgmem.claim_save(v_caller, save_id, v_hash);
  if v_attempt.status in ('saved', 'partial', 'dropped') then
    v_result := v_attempt.batch;
  else
    begin
      v_scope := pgmem.resolve_scope(v_caller, p_project_id, p_focus);
      if not v_scope.write_permitted then
        perform pgmem.refuse('blocked_scope', 'Scope state: ' || v_scope.scope_state, pgmem.next_step('blocked_scope'));
      end if;
      if exists (select from jsonb_array_elements((v_arguments -> 'decisions') || (v_arguments -> 'patterns')
                   || jsonb_build_array(v_arguments -> 'session')) child where child ->> 'scope' = 'global') then
        v_token_id := pgmem.check_token(p_governance_token, v_caller);
      end if;
      v_result := pgmem.store_batch(v_arguments, v_scope, v_caller, save_id);
      if v_token_id is not null and v_result ->> 'status' <> 'failed' then
        perform pgmem.spend_token(v_token_id, save_id);
      end if;
    exception when others then
      get stacked diagnostics v_detail = pg_exception_detail;
      v_refused := pgmem.save_error(sqlstate, sqlerrm, v_detail);
      if v_refused.status is null then
        raise;
      end if;
      v_refused.save_id := save_id;
      v_result := to_jsonb(v_refused) || jsonb_build_object('session', to_jsonb(v_refused), 'decisions', '[]'::jsonb,
        'patterns', '[]'::jsonb);
    end;
    perform pgmem.record_attempt(v_caller, 'store_session_with_learnings', v_arguments, v_hash,
      jsonb_populate_record(null::pgmem.save_result, v_result), v_result);
  end if;
  session := v_result -> 'session';
  decisions := v_result -> 'decisions';
  patterns := v_result -> 'patterns';
  overall := v_result ->> 'status';
  message := v_result ->> 'message';
  next_step := pgmem.next_step(overall);
end;
$$;
comment on function pgmem.store_session_with_learnings is
  'Save a session with what was learned in it, each joined to it by PRODUCED; partial when some were not saved.';
