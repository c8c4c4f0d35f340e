-- Every save goes through here: caller, save_id, scope gate, governance gate, store, attempt; one transaction.
-- For this function and all it calls: generic plans, as several would be made anew in every save; and no scan of a whole
-- table, as every lookup here is by key and a plan made while the store was small stays in use when it has grown.
create or replace function pgmem.run_save(p_verb text, p_arguments jsonb, p_save_id uuid default null,
  p_governance_token text default null, p_embedding pgmem.given_embedding default null) returns pgmem.save_result
language plpgsql
set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_caller   pgmem.caller := pgmem.require_writer();
  v_save_id  uuid := coalesce(p_save_id, gen_random_uuid());
  v_hash     bytea := sha256(convert_to(p_verb || p_arguments::text, 'UTF8'));
  v_attempt  pgmem.save_attempt;
  v_scope    pgmem.scope_state;
  v_token_id uuid;
  v_result   pgmem.save_result;
  v_detail   text;
begin
  if p_save_id is not null then
    v_attempt := pgmem.claim_save(v_caller, v_save_id, v_hash);
    if v_attempt.status in ('saved', 'dropped') then
      return pgmem.attempt_result(v_attempt);
    end if;
  end if;
  begin
    v_scope := pgmem.resolve_scope(v_caller, p_arguments ->> 'project_id', p_arguments ->> 'focus');
    if v_scope.write_permitted or p_verb = 'save_session' and v_scope.scope_state = 'uncertain' then
      if p_arguments ->> 'scope' = 'global' then
        v_token_id := pgmem.check_token(p_governance_token, v_caller);
      end if;
      if not v_scope.write_permitted then
        v_scope := pgmem.ensure_project(v_scope, v_caller, p_arguments ->> 'share');
      end if;
    end if;
    v_result := pgmem.store(p_verb, p_arguments, v_scope, v_caller, p_embedding);
    if v_token_id is not null then
      perform pgmem.spend_token(v_token_id, v_save_id);
    end if;
  exception when others then
    get stacked diagnostics v_detail = pg_exception_detail;
    v_result := pgmem.save_error(sqlstate, sqlerrm, v_detail);
    if v_result.status is null then
      raise;
    end if;
  end;
  v_result.save_id := v_save_id;
  return pgmem.record_attempt(v_caller, p_verb, p_arguments, v_hash, v_result);
end;
$$;
comment on function pgmem.run_save(text, jsonb, uuid, text, pgmem.given_embedding) is
  'A save from its arguments to its row in save_attempt. A refused one rolls back to a savepoint and leaves only that row.';
