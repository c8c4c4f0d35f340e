-- A save
--
-- Every save goes through run_save, in one transaction: the caller, the save_id, the scope gate, the governance gate,
-- store, which 25-kinds makes of the kinds that are declared, and one row in save_attempt with the outcome. The arguments
-- of agents arrive as jsonb.
--
-- An outcome is a status in save_result, never an error: saved, blocked_scope, failed. A store_… function ends a save
-- with refuse(…); that raises PM099, which rolls back to the savepoint of run_save, so that a refused save leaves only
-- its row. save_error turns it into the result. Unreadable arguments (PM001 and others) and errors that a whole retry
-- cures go up.
--
-- A save_id makes a save idempotent: sent again, it gets the result on record, and a save that failed is tried again.
--
-- Locks: save_id, then the token, then scopes, then rows of node.


select pgmem.declare_answer('near_name', $$
An existing name that a new one resembles; 1.0 for another spelling of it, less for other letters.

new_name text, id uuid, label text, name text, score float8
by person|agent?: Who said it; agent: also a program or a file.
$$);

select pgmem.declare_answer('contradiction', $$
A memory that a save contradicts: on which axis, and what each of them says.

id uuid, axis object|number|date|negation|preference, theirs text, ours text
by person|agent?: Who said theirs; agent: also a program or a file.
$$);

select pgmem.declare_answer('near_decision', $$
A live decision with a near title: how near, which words each has alone, and what became of it.

id uuid, title text, date date
by person|agent: Who said it; agent: also a program or a file.
score float8, theirs text[], ours text[]
outcome replaced|waits|conflict|beside
agent_id text?: The agent's name, as it gave it.
$$);

select pgmem.declare_answer('save_result', $$
The outcome of a save. A save raises only for arguments that cannot be read; `status` has every other outcome.

status saved|pending_retry|failed|blocked_scope|dropped, artifact_id uuid?
dedup_outcome new|duplicate_skip|supersede|manual_review?, candidate_id uuid?, message text?, next_step text?
save_id uuid?, embedded boolean = false
near_names near_name[] = {}: Existing names that resemble one that this save made.
conflicts contradiction[] = {}: Those that it contradicts; of plain statements of one writer the later one holds.
near near_decision[] = {}: The live decisions with the nearest titles, until somebody says that both hold.
$$);


create or replace function pgmem.next_step(p_status text) returns text
language sql immutable parallel safe
begin atomic
  select case p_status
    when 'saved' then null
    when 'partial' then 'Some were not saved: look at the status of each.'
    when 'blocked_scope' then 'Call save_session with this project_id first: it creates the project.'
    else 'Run get_save_status to see what is not saved yet.' end;
end;
comment on function pgmem.next_step is 'The next step of an agent after a save of this status.';


-- Part of every answer to an agent, so it costs one index lookup and counts no further than the limit. It reads node
-- itself, because the tenant is the caller's own.
create or replace function pgmem.reflection_hint(p_tenant text) returns text
language plpgsql stable as $$
begin
  return (
    select format('%s or more memories came since the last reflection: a person sees what they say (pgmem reflect).',
                  s.value)
    from pgmem.setting s
    where s.name = 'reflection_hint_limit' and s.value::integer <= (
      select count(*) from (
        select from (
          -- Turns come by hundreds: the hint looks no further than a thousand rows.
          select n.label from pgmem.node n
          -- A comparison of pairs, in order, is served by the index on (tenant, seq) alone, which reads no other rows.
          where n.tenant = p_tenant
            and (n.tenant, n.seq)
                > (p_tenant, coalesce((select r.node_seq from pgmem.reflection r where r.tenant = p_tenant), 0))
          order by n.seq limit 1000) n
        where pgmem.is_memory(n.label) and not pgmem.is_derived(n.label) limit s.value::integer) since));
end;
$$;
comment on function pgmem.reflection_hint is
  'A hint to reflect, once reflection_hint_limit (10) memories are newer than the last reflection; null before.';


create or replace function pgmem.rule_step(p_id uuid) returns text
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  -- By its key first: few memories are rules, and to find whom the caller sees costs more than to save this.
  return case when exists (select from pgmem.node n where n.id = p_id and n.instructs) then (
    select 'It is kept as an ordinary note. As a rule for every session it waits for the yes of the person you work for: '
           'mention it to that person (pgmem review).'
    from pgmem.visible_node n where n.id = p_id and pgmem.waits_as_rule(row(n.*)::pgmem.node)) end;
end;
$$;
comment on function pgmem.rule_step is
  'The next step of who saved a rule that only a person can make one; null for any other memory.';


create or replace function pgmem.review_step(p_outcomes text default 'supersede | drop') returns text
language sql immutable parallel safe
begin atomic
  select format('A person decides: pgmem review (%s).', p_outcomes);
end;
comment on function pgmem.review_step is
  'The next step of a save that waits for a person, with the outcomes that it can '
  'have.';


create or replace function pgmem.review_message(p_node pgmem.node, p_caller pgmem.caller) returns text
language sql immutable parallel safe
begin atomic
  select format('%s %s has trust %s (%s) and the caller %s: a person decides. Review candidate: %s',
    (p_node).label, quote_literal(left((p_node).title, 80)), (p_node).trust_level, (p_node).source,
    (p_caller).trust_level, (p_node).id);
end;
comment on function pgmem.review_message is 'Why a change of a memory waits for a person.';


create or replace function pgmem.blocked_step(p_scope pgmem.scope_state) returns text
language sql stable set search_path = pgmem, pg_temp as $$
  select case (p_scope).scope_state when 'unresolved' then 'Send project_id, the name of the project.'
    else concat_ws(' ', pgmem.near_project((p_scope).project_id), pgmem.next_step('blocked_scope')) end;
$$;
comment on function pgmem.blocked_step is
  'The next step of an agent whose save names no project, or one that does not exist.';


create or replace function pgmem.make_result(
  p_status text,
  p_artifact_id uuid default null,
  p_dedup_outcome text default null,
  p_candidate_id uuid default null,
  p_message text default null,
  p_next_step text default null,
  p_save_id uuid default null,
  p_embedded boolean default false,
  p_near_names jsonb default '[]',
  p_conflicts jsonb default '[]',
  p_near jsonb default '[]'
) returns pgmem.save_result
language sql immutable
begin atomic
  select row(p_status, p_artifact_id, p_dedup_outcome, p_candidate_id, p_message, p_next_step, p_save_id,
             p_embedded, p_near_names, p_conflicts, p_near)::pgmem.save_result;
end;
comment on function pgmem.make_result is 'The result of a save, from its fields; the others build theirs by it.';


create or replace function pgmem.saved(
  p_artifact_id uuid,
  p_dedup_outcome text default null,
  p_candidate_id uuid default null,
  p_message text default null,
  p_embedded boolean default false,
  p_near_names jsonb default '[]',
  p_conflicts jsonb default '[]',
  p_near jsonb default '[]'
) returns pgmem.save_result
language sql immutable
begin atomic
  select pgmem.make_result('saved', p_artifact_id, p_dedup_outcome, p_candidate_id, p_message, pgmem.next_step('saved'),
    p_embedded => p_embedded, p_near_names => p_near_names, p_conflicts => p_conflicts, p_near => p_near);
end;
comment on function pgmem.saved is 'The result of a save that was made, or that met an equal memory.';


create or replace function pgmem.attempt_result(p_attempt pgmem.save_attempt) returns pgmem.save_result
language sql immutable
begin atomic
  select pgmem.make_result((p_attempt).status, (p_attempt).artifact_id, (p_attempt).dedup_outcome,
    (p_attempt).candidate_id, (p_attempt).message,
    coalesce((p_attempt).next_step, pgmem.next_step((p_attempt).status)), (p_attempt).save_id,
    (p_attempt).embedded);
end;
comment on function pgmem.attempt_result is 'The result of an earlier save, from its row on record.';


-- A function that is called for its effect returns true: an assignment costs less than perform, which runs a statement.
-- The settings hold for all functions called from here: generic plans, because several would be made anew in every
-- save; and no scan of a whole table, because every look-up here is by key and a plan made in a small store stays in
-- use when it has grown.
-- In SQL it is decided here alone; Python decides before the call, holds_globally in calls/saves.py.
create or replace function pgmem.is_global(p_arguments jsonb) returns boolean
language sql immutable parallel safe
begin atomic
  select p_arguments ->> 'scope' is not distinct from 'global';
end;
comment on function pgmem.is_global is 'Whether a save with these arguments, or a part of a batch, holds for all projects.';


-- An agent may send a list that is none: it is refused as a batch (require_batch), and has no parts for those who ask before.
create or replace function pgmem.batch_items(p_arguments jsonb)
returns table (place bigint, list text, label text, arguments jsonb)
language sql immutable parallel safe
begin atomic
  select row_number() over (order by lists.place, item.place), lists.list, coalesce(lists.label, item.arguments ->> 'label'),
         case when lists.label is null then item.arguments - 'label' else item.arguments end
  from (values (1, 'session', 'Session'), (2, 'decisions', 'Decision'), (3, 'patterns', 'Pattern'), (4, 'memories', null))
    as lists(place, list, label)
  cross join lateral jsonb_array_elements(case jsonb_typeof(p_arguments -> lists.list)
      when 'array' then p_arguments -> lists.list
      when 'object' then jsonb_build_array(p_arguments -> lists.list)
      else '[]' end) with ordinality as item(arguments, place)
  where jsonb_typeof(item.arguments) = 'object';
end;
comment on function pgmem.batch_items is 'The parts of a batch as they are sent: the session, then the items of its lists in order.';


create or replace function pgmem.run_save(
  p_verb text,
  p_arguments jsonb,
  p_save_id uuid default null,
  p_governance_token text default null,
  p_embedding pgmem.given_embedding default null,
  p_caller pgmem.caller default null
) returns pgmem.save_result
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  v_caller   pgmem.caller := coalesce(p_caller, pgmem.require_writer());
  v_checked  jsonb := pgmem.require_length(p_arguments);
  v_save_id  uuid := coalesce(p_save_id, gen_random_uuid());
  v_hash     bytea := sha256(convert_to(p_verb || p_arguments::text, 'UTF8'));
  v_attempt  pgmem.save_attempt;
  v_scope    pgmem.scope_state;
  v_token_id uuid;
  v_near     jsonb;
  v_result   pgmem.save_result;
  v_detail   text;
  v_released boolean;
  v_may      boolean;
begin
  if p_save_id is not null then
    v_attempt := pgmem.claim_save(v_caller, v_save_id, v_hash);
    if v_attempt.status in ('saved', 'dropped') then
      v_released := pgmem.release_save(v_caller.tenant, v_save_id);
      return pgmem.attempt_result(v_attempt);
    end if;
  end if;
  begin
    v_scope := pgmem.resolve_scope(v_caller, p_arguments ->> 'project_id', p_arguments ->> 'focus');
    v_may := v_scope.write_permitted;
    if v_scope.scope_state = 'uncertain' and not v_may then
      v_may := exists (select from pgmem.label l where l.verb = p_verb and l.opens_project);
    end if;
    if v_may then
      if pgmem.is_global(p_arguments) then
        v_token_id := pgmem.check_token(p_governance_token, v_caller, p_verb,
                                         pgmem.approved_texts(p_arguments));
      end if;
      if not v_scope.write_permitted then
        v_scope := pgmem.ensure_project(v_scope, v_caller, p_arguments ->> 'share');
        v_near := (select pgmem.near_names(row(n.*)::pgmem.node, v_caller) from pgmem.visible_node n
                   where n.seq = v_scope.project_seq);
      end if;
    end if;
    v_result := pgmem.store(p_verb, p_arguments, v_scope, v_caller, p_embedding);
    v_result.near_names := coalesce(v_near, '[]') || v_result.near_names;
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
  v_result := pgmem.record_attempt(v_caller, p_verb, p_arguments, v_hash, v_result);
  if p_save_id is not null then
    v_released := pgmem.release_save(v_caller.tenant, v_save_id);
  end if;
  return v_result;
end;
$$;
comment on function pgmem.run_save is $$
Make a save from its arguments and record its outcome in save_attempt.

p_caller is the caller who asked first, where another one makes it now; null: the present caller.
$$;


create or replace function pgmem.store_node(
  p_node pgmem.node,
  p_embedding pgmem.given_embedding,
  p_outcome text
) returns pgmem.save_result
language plpgsql as $$
declare
  v_repeat uuid;
begin
  if p_node.content_hash is not null then
    v_repeat := pgmem.find_repeat(p_node);
    if v_repeat is not null then
      return pgmem.repeated(v_repeat, format('Duplicate %s skipped.', lower(p_node.label)), p_node);
    end if;
  end if;
  p_node := pgmem.insert_node(p_node);
  return pgmem.saved(p_node.id, p_outcome, p_embedded => pgmem.store_embedding(p_node, p_embedding),
                     p_conflicts => pgmem.record_contradictions(p_node));
end;
$$;
comment on function pgmem.store_node is
  'Store a new memory of a kind that is compared by its content hash or not at all; p_outcome: of one that is stored.';


-- Whoever changes the row meanwhile says more than a confirmation, so that nobody waits and no two batches deadlock.
create or replace function pgmem.repeated(p_id uuid, p_message text, p_node pgmem.node) returns pgmem.save_result
language plpgsql as $$
declare
  v_dated  boolean := num_nonnulls(p_node.valid_from, p_node.valid_to) > 0;
  v_person boolean := pgmem.is_of_a_person(p_node.source, p_node.trust_level);
  v_locked boolean;
  v_old    pgmem.node;
  v_new    pgmem.node;
begin
  if v_dated or v_person then
    v_locked := pgmem.lock_scope(p_node.scope_key);
    select n.* into v_old from pgmem.node n where n.id = p_id and pgmem.is_live_status(n.status);
  end if;
  -- Its words and other properties are the person's now: a topic that an agent wrote to the same text goes.
  if v_person and v_old.seq is not null and not pgmem.is_of_a_person(v_old.source, v_old.trust_level) then
    v_old := pgmem.settled(v_old);
    v_old.title := p_node.title;
    v_old.props := p_node.props;
    v_old := pgmem.taken_over(v_old, p_node.source, p_node.trust_level, p_node.agent_id);
    p_message := p_message || ' An agent had saved it; it is your word now.';
  end if;
  if v_dated then
    if v_old.trust_level > p_node.trust_level then
      p_message := p_message || ' Its period stays: what is stored is more trusted.';
    elsif v_old.seq is not null then
      v_old := pgmem.settled(v_old);
      v_new := v_old;
      v_new.valid_to := p_node.valid_to;
      if p_node.valid_from is null then
        perform pgmem.require_period(v_new.valid_from, v_new.valid_to);
        v_new := pgmem.update_node(v_new);
      else
        v_new.valid_from := p_node.valid_from;
        v_new := (pgmem.add_state(v_old, v_new)).node;
      end if;
    end if;
  end if;
  perform pgmem.confirm_node(held.seq)
  from (select n.seq from pgmem.node n where n.id = p_id for no key update skip locked) held;
  return pgmem.saved(p_id, 'duplicate_skip', p_id, p_message);
end;
$$;
comment on function pgmem.repeated is
  'The result of a save that met an equal memory, which it confirms, and whose period it records where it has one.';


create or replace function pgmem.find_repeat(p_node pgmem.node) returns uuid
language plpgsql as $$
declare
  v_found  record;
  v_locked boolean;
begin
  v_found := pgmem.same_content(p_node.scope_key, p_node.tenant, p_node.content_hash);
  if v_found.seq is null then
    v_locked := pgmem.lock_scope(p_node.scope_key);
    v_found := pgmem.same_content(p_node.scope_key, p_node.tenant, p_node.content_hash);
    if v_found.expired_seq is not null then
      perform pgmem.set_status(v_found.expired_seq, 'expired');
    end if;
  end if;
  return v_found.id;
end;
$$;
comment on function pgmem.find_repeat is
  'The live node of a scope with the same content; when it is null, the scope is locked and the content may be stored.';


create or replace function pgmem.refuse(
  p_status text,
  p_message text,
  p_next_step text default null,
  p_dedup_outcome text default null,
  p_candidate_id uuid default null,
  p_near jsonb default '[]'
) returns void
language plpgsql as $$
begin
  raise exception using errcode = 'PM099', message = p_message, detail = to_jsonb(pgmem.make_result(p_status,
    p_message => p_message, p_next_step => p_next_step, p_dedup_outcome => p_dedup_outcome,
    p_candidate_id => p_candidate_id, p_near => p_near))::text;
end;
$$;
comment on function pgmem.refuse is
  'End a save with a status: an error (PM099) that rolls it back to its savepoint and carries its result.';


create or replace function pgmem.save_error(p_sqlstate text, p_message text, p_detail text) returns pgmem.save_result
language sql immutable set search_path = pgmem, pg_temp as $$
  select case
    when p_sqlstate = 'PM099' then jsonb_populate_record(null::pgmem.save_result, p_detail::jsonb)
    when p_sqlstate not like 'PM%' and p_sqlstate not in
        ('40P01', '40001', '53000', '53100', '53200', '53300', '55P03', '57014') then
      pgmem.make_result('failed', p_next_step => pgmem.next_step('failed'), p_message => case p_sqlstate
        when '54000' then
          format('Not saved: the texts are too long together (%s); send shorter ones, or several memories.', p_message)
        else format('Not saved: %s (%s)', p_message, p_sqlstate) end)
  end;
$$;
comment on function pgmem.save_error is $$
The result that an error inside a save stands for; null for one that must go up.

Unreadable arguments go up, and so do errors that a retry of the whole transaction may cure: a deadlock, a timeout, a
server without memory, disk space or connections.
$$;


create or replace function pgmem.claim_save(
  p_caller pgmem.caller,
  p_save_id uuid,
  p_arguments_hash bytea
) returns pgmem.save_attempt
language plpgsql as $$
declare
  v_held    boolean := pgmem.hold_save(p_caller.tenant, p_save_id);
  v_attempt pgmem.save_attempt;
begin
  select a.* into v_attempt from pgmem.save_attempt a where a.tenant = p_caller.tenant and a.save_id = p_save_id;
  if v_attempt.arguments_hash not in ('', p_arguments_hash) then
    raise exception using errcode = 'PM007',
      message = format('save_id %s was used for another save; send a new save_id, or none.', p_save_id);
  end if;
  return v_attempt;
end;
$$;
comment on function pgmem.claim_save is $$
Lock a save_id for this transaction and return its earlier attempt, if any; other arguments under it are refused.

It comes first in the lock order: of two calls with one save_id, the second finds the result of the first.
$$;


-- By the way in, as an agent gives itself its name: agents that flood the reviews of a user stop programs and other users not.
create or replace function pgmem.reviews_are_full(p_caller pgmem.caller, p_save_id uuid) returns boolean
language sql stable set search_path = pgmem, pg_temp as $$
  select not (p_caller.source in ('cli', 'ui', 'sync', 'sql') and pgmem.is_reviewer()) and (
    select count(*) filter (where a.save_id <> p_save_id) >= pgmem.setting_int('max_open_reviews')
           and count(*) filter (where a.save_id = p_save_id) = 0
    from pgmem.save_attempt a
    where a.tenant = p_caller.tenant and a.status = 'failed' and a.dedup_outcome = 'manual_review'
      and a.source is not distinct from p_caller.source and a.decides is not true);
$$;
comment on function pgmem.reviews_are_full is
  'Whether as many reviews of a user and a way in are open as may be (max_open_reviews), this save apart.';


create or replace function pgmem.full_reviews() returns text
language sql stable set search_path = pgmem, pg_temp as $$
  select format('Not kept: %s saves and changes of agents wait for a person, as many as may (max_open_reviews).',
                pgmem.setting_int('max_open_reviews'));
$$;
comment on function pgmem.full_reviews is 'Why a review is not kept where as many are open as may be.';


create or replace function pgmem.record_attempt(
  p_caller pgmem.caller,
  p_verb text,
  p_arguments jsonb,
  p_arguments_hash bytea,
  p_result pgmem.save_result,
  p_batch jsonb default null,
  p_readable boolean default true
) returns pgmem.save_result
language plpgsql as $$
declare
  v_project text := nullif(normalize(btrim(p_arguments ->> 'project_id'), NFC), '');
  v_waiting uuid;
  v_open    pgmem.save_attempt;
begin
  if p_result.status = 'saved' then
    -- The open saves that this one has made good. One that Python gave up has no hash (fail_save), and its arguments
    -- hold no defaults.
    update pgmem.save_attempt a
    set status = 'saved', arguments = null, artifact_id = p_result.artifact_id, dedup_outcome = p_result.dedup_outcome,
        candidate_id = p_result.candidate_id, message = format('Made good by save %s.', p_result.save_id),
        next_step = null, updated_at = pgmem.now()
    where a.tenant = p_caller.tenant and a.project = v_project and a.status not in ('saved', 'dropped', 'partial')
      and a.verb = p_verb and a.save_id <> p_result.save_id
      and (a.arguments_hash = p_arguments_hash
           or a.arguments_hash = '' and p_arguments @> jsonb_strip_nulls(a.arguments)
           -- Sent again with the id that it replaces, or holds beside.
           or p_arguments ?| '{supersedes,beside}' and a.arguments - '{supersedes,beside}'::text[]
             = p_arguments - '{supersedes,beside}'::text[]);
    if p_caller.source not in ('cli', 'ui') then
      p_result.next_step := coalesce(p_result.next_step, pgmem.rule_step(p_result.artifact_id));
    end if;
  elsif p_result.status in ('failed', 'blocked_scope') and p_arguments_hash <> '' then
    -- The same save, refused again under another id, waits once: under the id that it has on record.
    select a.save_id into v_waiting from pgmem.save_attempt a
    where a.tenant = p_caller.tenant and a.project is not distinct from v_project
      and a.status not in ('saved', 'dropped', 'partial') and a.verb = p_verb and a.arguments_hash = p_arguments_hash
      and a.save_id <> p_result.save_id
    order by a.created_at limit 1;
    p_result.save_id := coalesce(v_waiting, p_result.save_id);
  end if;
  if p_result.dedup_outcome = 'manual_review' and p_result.status = 'failed'
      and pgmem.reviews_are_full(p_caller, p_result.save_id) then
    return pgmem.make_result('failed', p_candidate_id => p_result.candidate_id, p_save_id => p_result.save_id,
      p_message => pgmem.full_reviews(),
      p_next_step => 'It is not kept, as too many wait: ask the person to decide some (pgmem review), then send it again.');
  end if;
  if p_result.status <> 'saved' then
    v_open.source := p_caller.source;
    v_open.trust_level := p_caller.trust_level;
    v_open.agent_id := p_caller.agent_id;
    v_open.decides := pgmem.decides(p_caller);
  end if;
  insert into pgmem.save_attempt (tenant, save_id, org_id, user_id, verb, project, session_id, arguments,
    arguments_hash, status, artifact_id, dedup_outcome, candidate_id, message, next_step, readable, embedded, batch,
    created_at, updated_at, source, trust_level, agent_id, decides)
  values (p_caller.tenant, p_result.save_id, p_caller.org_id, p_caller.user_id, p_verb, v_project, p_caller.session_id,
    case when p_result.status <> 'saved' then p_arguments end, p_arguments_hash, p_result.status, p_result.artifact_id,
    p_result.dedup_outcome, p_result.candidate_id, p_result.message,
    nullif(p_result.next_step, pgmem.next_step(p_result.status)), p_readable, coalesce(p_result.embedded, false),
    p_batch,
    coalesce(p_caller.made_at, pgmem.now()), pgmem.now(), v_open.source, v_open.trust_level, v_open.agent_id,
    v_open.decides)
  on conflict (tenant, save_id) do update set
    arguments = excluded.arguments, arguments_hash = excluded.arguments_hash, status = excluded.status,
    artifact_id = excluded.artifact_id, dedup_outcome = excluded.dedup_outcome, candidate_id = excluded.candidate_id,
    message = excluded.message, next_step = excluded.next_step, readable = excluded.readable,
    embedded = excluded.embedded, batch = excluded.batch,
    -- Arguments that another caller has sent under this id do not gain the trust of the first.
    trust_level = least(pgmem.save_attempt.trust_level, excluded.trust_level),
    decides = pgmem.save_attempt.decides and excluded.decides,
    attempts = pgmem.save_attempt.attempts + 1, updated_at = excluded.updated_at;
  return p_result;
end;
$$;
comment on function pgmem.record_attempt is
  'Record a save in save_attempt, close the open ones that it makes good, and return its result; arguments are kept '
  'only while it is not saved.';


-- Reads node itself, by the tenants of the caller.
create or replace function pgmem.link_session(p_caller pgmem.caller, p_artifact_id uuid) returns void
language plpgsql as $$
begin
  if pgmem.is_uuid(p_caller.session_id) then
    perform pgmem.insert_edge(s.seq, 'PRODUCED', a.seq)
    from pgmem.node s, pgmem.node a
    where s.id = p_caller.session_id::uuid and s.label = 'Session' and s.tenant = any (p_caller.tenants)
      and a.id = p_artifact_id and a.tenant = any (p_caller.tenants) and a.seq <> s.seq;
  end if;
end;
$$;
comment on function pgmem.link_session is
  'Join the session to the memories saved in it (PRODUCED), where the id names a Session.';
