-- Saving a batch
--
-- A batch is one save for the end of a session: the session with its decisions and patterns, in one transaction and
-- behind one scope gate. Without atomic each part has its own savepoint, and a part that is refused leaves the
-- others saved; with atomic one refusal rolls back all of them. Every part has a row in save_attempt, and so has
-- the batch itself under the save_id of the caller: the same call again answers with the stored result. One
-- governance token covers all global parts; without one they are refused, and the others are saved.
--
-- Two batches with the same parts in another order would wait for each other if each part took its own lock in
-- turn. So the scope locks of all parts are taken in one order before the first part is stored; the locks that the
-- parts take afterwards are held already.
--
-- Locks: the save_id, the governance token, the scopes of new focus areas sorted, the scopes of the parts sorted.


select pgmem.declare_answer('batch_save_result', $$
The outcome of a batch: of the session, of each decision, pattern and other memory, and overall.

overall saved|partial|pending_retry|failed|blocked_scope, session save_result?, decisions save_result[] = {}
patterns save_result[] = {}, message text?, next_step text?, save_id uuid?, memories save_result[] = {}
$$);

create or replace function pgmem.store_session_with_learnings(
  p_session jsonb,
  p_project_id text,
  p_decisions pgmem.objects default '[]',
  p_patterns pgmem.objects default '[]',
  p_focus text default null,
  p_governance_token text default null,
  p_atomic boolean default false,
  p_save_id uuid default null,
  p_share pgmem.sharing default null,
  p_memories pgmem.objects default '[]'
) returns pgmem.batch_save_result
language plpgsql security definer set search_path = pgmem, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
declare
  v_answer    pgmem.batch_save_result;
  v_caller    pgmem.caller := pgmem.require_writer();
  v_arguments jsonb :=
                jsonb_strip_nulls(jsonb_build_object('project_id', p_project_id, 'focus', p_focus, 'share', p_share))
                || jsonb_build_object(
                     'session', coalesce(p_session, '{}'), 'decisions', coalesce(p_decisions, '[]'),
                     'patterns', coalesce(p_patterns, '[]'), 'atomic', coalesce(p_atomic, false))
                || case when p_memories <> '[]' then jsonb_build_object('memories', p_memories) else '{}' end;
  v_hash      bytea := sha256(convert_to('store_session_with_learnings' || v_arguments::text, 'UTF8'));
  v_attempt   pgmem.save_attempt;
  v_scope     pgmem.scope_state;
  v_token     record;
  v_token_id  uuid;
  v_refusal   pgmem.save_result;
  v_result    jsonb;
  v_refused   pgmem.save_result;
  v_detail    text;
begin
  perform pgmem.require_batch(v_arguments);
  perform pgmem.require_length(v_arguments);
  perform pgmem.require_count(
    jsonb_array_length(v_arguments -> 'decisions') + jsonb_array_length(v_arguments -> 'patterns')
      + coalesce(jsonb_array_length(v_arguments -> 'memories'), 0),
    'A batch', 'max_list_limit');
  v_answer.save_id := coalesce(p_save_id, gen_random_uuid());
  v_attempt := pgmem.claim_save(v_caller, v_answer.save_id, v_hash);
  if v_attempt.status in ('saved', 'partial', 'dropped') then
    v_result := v_attempt.batch;
  else
    begin
      v_scope := pgmem.resolve_scope(v_caller, p_project_id, p_focus);
      if not v_scope.write_permitted then
        perform pgmem.refuse('blocked_scope', pgmem.scope_trouble(v_scope), pgmem.blocked_step(v_scope));
      end if;
      if exists (select from pgmem.batch_parts(v_arguments, v_scope, v_caller) part
                 where pgmem.is_global(part.arguments)) then
        v_token := pgmem.batch_token(p_governance_token, v_caller, array(
          select text from pgmem.batch_parts(v_arguments, v_scope, v_caller) part
          cross join unnest(pgmem.approved_texts(part.arguments)) as text
          where pgmem.is_global(part.arguments)));
        v_token_id := v_token.token_id;
        v_refusal := v_token.refusal;
      end if;
      v_result := pgmem.store_batch(v_arguments, v_scope, v_caller, v_answer.save_id, v_refusal);
      if v_token_id is not null and v_result ->> 'status' <> 'failed' then
        perform pgmem.spend_token(v_token_id, v_answer.save_id);
      end if;
    exception when others then
      get stacked diagnostics v_detail = pg_exception_detail;
      v_refused := pgmem.save_error(sqlstate, sqlerrm, v_detail);
      if v_refused.status is null then
        raise;
      end if;
      v_refused.save_id := v_answer.save_id;
      v_result := to_jsonb(v_refused)
        || jsonb_build_object('session', to_jsonb(v_refused), 'decisions', '[]'::jsonb, 'patterns', '[]'::jsonb,
                              'memories', '[]'::jsonb);
    end;
    perform pgmem.record_attempt(v_caller, 'store_session_with_learnings', v_arguments, v_hash,
      jsonb_populate_record(null::pgmem.save_result, v_result), v_result);
  end if;
  perform pgmem.release_save(v_caller.tenant, v_answer.save_id);
  v_answer.session := v_result -> 'session';
  v_answer.decisions := v_result -> 'decisions';
  v_answer.patterns := v_result -> 'patterns';
  v_answer.memories := coalesce(v_result -> 'memories', '[]');
  v_answer.overall := v_result ->> 'status';
  v_answer.message := v_result ->> 'message';
  v_answer.next_step := pgmem.next_step(v_answer.overall);
  return v_answer;
end;
$$;
comment on function pgmem.store_session_with_learnings is $$
Save a session with the decisions and patterns that came out of it; atomic: all or nothing.

The answer has a result for each part. A part with an argument that its verb does not have is `failed`, and its
message names the argument. `overall` is `saved`, `partial`, `failed` or `blocked_scope`. The project
must exist: only save_session by itself creates one.

session: As save_session takes it; an object.
decisions: As save_decision takes them; objects.
patterns: As save_pattern takes them; objects.
memories: Those of other kinds; objects with a label, such as Context, and the arguments of its save verb.
atomic: All parts or none; false: a refused part leaves the others saved.

InvalidArgument: the session is not an object, a list is not a list of objects, or with atomic a part cannot be
  read.
SaveIdReused: the save_id belongs to a save with other arguments.
$$;
select pgmem.declare_verb('store_session_with_learnings', p_rights => 'writer', p_effect => 'write',
  p_answer => 'BatchSaveResult', p_toolset => 'core', p_hidden => '{memories}',
  p_description =>
    'Call this when work ends, to save the session with its decisions and patterns at once.');


create or replace function pgmem.batch_token(
  p_token text,
  p_caller pgmem.caller,
  p_texts text[],
  out token_id uuid,
  out refusal pgmem.save_result
)
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_detail text;
begin
  token_id := pgmem.check_token(p_token, p_caller, 'store_session_with_learnings', p_texts);
exception when sqlstate 'PM099' then
  get stacked diagnostics v_detail = pg_exception_detail;
  refusal := pgmem.save_error(sqlstate, sqlerrm, v_detail);
end;
$$;
comment on function pgmem.batch_token is
  'The token of the global parts of a batch, locked; or the result that refuses them.';


create or replace function pgmem.require_fields(p_verb text, p_sent jsonb, p_common jsonb) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_taken   text[] := (select p.proargnames from pg_proc p
                       where p.pronamespace = 'pgmem'::regnamespace and p.proname = p_verb);
  v_unknown text[] := array(
              select k from jsonb_object_keys(p_sent) k
              where 'p_' || k <> all (v_taken) or k in ('save_id', 'governance_token') or k like 'embedding%' order by 1);
  v_known   text[];
  v_name    text;
begin
  if v_unknown <> '{}' then
    v_known := array(select substr(name, 3) from unnest(v_taken) as a(name)
                     where name not in ('p_save_id', 'p_governance_token') and name not like 'p\_embedding%');
    raise exception using errcode = 'PM001', message = format('%s has no argument %s. %s', p_verb,
      array_to_string(v_unknown, ', '),
      pgmem.did_you_mean(v_unknown[1], v_known, format('It takes: %s.', array_to_string(v_known, ', '))));
  end if;
  v_name := (select f.name from pgmem.field f join pgmem.label l on l.name = f.label
             where l.verb = p_verb and f.type in ('text', 'title', 'key')
               and jsonb_typeof(p_sent -> f.name) not in ('string', 'null') order by f.place limit 1);
  if v_name is not null then
    raise exception using errcode = 'PM001',
      message = format('%s must be text, not %s.', v_name, left((p_sent -> v_name)::text, 40));
  end if;
  foreach v_name in array '{project_id,focus,share}'::text[] loop
    if (p_sent -> v_name) is distinct from (p_common -> v_name) and coalesce(p_sent -> v_name, 'null') <> 'null'
        and (v_name <> 'share' or p_common ? 'share') then
      raise exception using errcode = 'PM001',
        message = format('%s is that of the whole batch: send it beside session, not inside a part.', v_name);
    end if;
  end loop;
end;
$$;
comment on function pgmem.require_fields is
  'An error where a part of a batch holds an argument that its verb does not have, no text where one belongs, or another place.';


create or replace function pgmem.require_batch(p_arguments jsonb) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_list jsonb;
begin
  foreach v_list in array array[
      jsonb_build_array(p_arguments -> 'session'), p_arguments -> 'decisions', p_arguments -> 'patterns',
      coalesce(p_arguments -> 'memories', '[]')] loop
    if jsonb_typeof(v_list) = 'array'
        and not exists (select from jsonb_array_elements(v_list) part where jsonb_typeof(part) <> 'object') then
      continue;
    end if;
    raise exception using errcode = 'PM001',
      message = 'Send session as an object, decisions, patterns and memories as lists of objects.';
  end loop;
  v_list := (select e from jsonb_array_elements(p_arguments -> 'memories') e
             where not exists (select from pgmem.field f where f.label = e ->> 'label') limit 1);
  if v_list is not null then
    raise exception using errcode = 'PM001', message = format('memories needs a label in each: %s.', (
      select string_agg(distinct f.label, ', ') from pgmem.field f));
  end if;
end;
$$;
comment on function pgmem.require_batch is 'An error unless a batch has a session object and lists of objects.';


create or replace function pgmem.store_batch(
  p_arguments jsonb,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller,
  p_save_id uuid,
  p_refusal pgmem.save_result
) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_atomic  boolean := (p_arguments ->> 'atomic')::boolean;
  v_caller  pgmem.caller := p_caller;
  v_scope   pgmem.scope_state;
  v_results jsonb := '{"session": null, "decisions": [], "patterns": [], "memories": []}';
  v_count   integer := 0;
  v_saved   integer := 0;
  v_part    record;
  v_result  pgmem.save_result;
  v_detail  text;
  v_state   text;
begin
  if p_scope.focus is not null and p_scope.focus_seq is null then
    perform pgmem.lock_scopes(array(
      select part.focus_key from pgmem.batch_parts(p_arguments, p_scope, p_caller) part));
  end if;
  perform pgmem.lock_scopes(array(
    select part.scope_key from pgmem.batch_parts(p_arguments, p_scope, p_caller) part where part.list <> 'session'));

  for v_part in select * from pgmem.batch_parts(p_arguments, p_scope, p_caller) part order by part.place loop
    v_state := null;
    begin
      perform pgmem.require_fields(v_part.verb, v_part.sent, v_part.common);
      if p_refusal.status is not null and pgmem.is_global(v_part.arguments) then
        v_result := p_refusal;
      else
        v_scope := p_scope;
        if pgmem.is_global(v_part.arguments) then
          v_scope.focus := null;
          v_scope.focus_seq := null;
        end if;
        v_result := pgmem.store(v_part.verb, v_part.arguments, v_scope, v_caller);
        v_saved := v_saved + 1;
      end if;
    exception when others then
      get stacked diagnostics v_detail = pg_exception_detail, v_state = returned_sqlstate;
      v_result := pgmem.save_error(sqlstate, sqlerrm, v_detail);
      if sqlstate in ('PM001', 'PM002', 'PM003') and not v_atomic then
        v_result := pgmem.make_result('failed', p_message => sqlerrm, p_next_step => case sqlstate
          when 'PM001' then 'Save this part again as the message says, by its own verb.'
          else pgmem.next_step('failed') end);
      end if;
      if v_result.status is null then
        raise;
      end if;
    end;
    v_count := v_count + 1;
    v_result.save_id := gen_random_uuid();
    if v_result.status <> 'saved' and v_atomic then
      perform pgmem.refuse('failed',
        format('Nothing was saved: %s %s was not. %s', v_part.list,
          quote_literal((
            select v_part.arguments ->> f.name from pgmem.field f join pgmem.label l on l.name = f.label
            where l.verb = v_part.verb and f.required order by f.place limit 1)),
          v_result.message),
        v_result.next_step, v_result.dedup_outcome, v_result.candidate_id);
    end if;
    -- The parts after the session are linked to it, also where a part is a repeat of an earlier memory.
    if v_part.list = 'session' and v_result.status = 'saved' then
      v_caller.session_id := v_result.artifact_id::text;
    end if;
    v_result := pgmem.record_attempt(v_caller, v_part.verb, v_part.arguments,
      sha256(convert_to(v_part.verb || v_part.arguments::text, 'UTF8')), v_result,
      p_readable => v_state is distinct from 'PM001');
    v_results := case v_part.list
      when 'session' then v_results || jsonb_build_object('session', to_jsonb(v_result))
      else jsonb_set(v_results, array[v_part.list], (v_results -> v_part.list) || to_jsonb(v_result)) end;
  end loop;
  return v_results || jsonb_build_object(
    'status', case v_saved when v_count then 'saved' when 0 then 'failed' else 'partial' end,
    'save_id', p_save_id);
end;
$$;
comment on function pgmem.store_batch is
  'Store a session with its decisions and patterns: each in its own savepoint, or all or nothing (atomic).';


create or replace function pgmem.batch_parts(
  p_arguments jsonb,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller
) returns table (
  place bigint,
  list text,
  verb text,
  arguments jsonb,
  sent jsonb,
  common jsonb,
  focus_key bigint,
  scope_key bigint
)
language sql stable set search_path = pgmem, pg_temp as $$
  with common(arguments) as (
    select jsonb_strip_nulls(jsonb_build_object(
      'project_id', p_arguments -> 'project_id', 'focus', p_arguments -> 'focus', 'share', p_arguments -> 'share'))
  ), part as (
    select item.place, item.list, kind.verb, kind.name as label,
           -- A global part has no focus, whatever the focus of the batch.
           item.arguments || case when pgmem.is_global(item.arguments) then common.arguments - 'focus'
                               else common.arguments end as arguments,
           item.arguments as sent, common.arguments as common
    from common
    cross join pgmem.batch_items(p_arguments) item
    join pgmem.label kind on kind.name = item.label
  )
  select p.place, p.list, p.verb, p.arguments, p.sent, p.common,
         pgmem.scope_key(owner.tenant, (p_scope).project_seq::text, 'FocusArea'),
         pgmem.scope_key(owner.tenant,
           pgmem.place_of(p.arguments ->> 'scope', (p_scope).project_seq, (p_scope).focus), p.label)
  from part p
  cross join lateral (
    select pgmem.tenant_of((p_caller).org_id,
             case p.arguments ->> 'share' when 'org' then '' else (p_caller).user_id end)
  ) as owner(tenant);
$$;
comment on function pgmem.batch_parts is
  'The parts of a batch in order: verb, arguments, those that were sent with it and with the batch, and its scopes.';
