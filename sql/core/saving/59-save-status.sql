-- Open saves and reviews
--
-- Every save has a row in save_attempt (24-saving). An open save is one that is not stored yet: it failed, it waits
-- for its project (blocked_scope), or a reviewer has to decide it (manual_review). The row keeps the arguments
-- while the save is open, so it can be retried or decided later without its caller. Python adds the saves of the
-- outbox to get_save_status, and records with fail_save those that it gives up.
--
-- A review settles a decision whose title is too near to an earlier one to be new and too far to supersede it
-- (29-save-decision). The reviewer stores it on behalf of its caller: the tenant of the memory is the tenant of the
-- save. The text that a person saw takes effect: a stored memory stands for a save only where its texts are those
-- of the save (review_artifact), a change concerns the memory itself and not a later one of its line (reviewed), and
-- each kind of review has certain outcomes (review_outcomes).
--
-- Locks: the save_id (fail_save, resolve_review), as claim_save takes it; then those of the save that is made.


select pgmem.declare_answer('open_save', $$
A recorded save, with its verb, time and project.

like save_result
verb text?, created_at timestamptz?, project text?
$$);

select pgmem.declare_answer('save_status_answer', $$
Open saves, oldest first, or the outcome of one save_id.

class SaveStatus
status text, count integer, oldest_pending_at timestamptz?, artifact_ids uuid[] = {}, saves open_save[] = {}
$$);

create or replace function pgmem.get_save_status(
  p_project_id text default null,
  p_session_id text default null,
  p_save_id uuid default null
) returns pgmem.save_status_answer
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer  pgmem.save_status_answer;
  v_project text := pgmem.clean_key(p_project_id, 'project_id');
  v_scope   pgmem.scope_state;
begin
  if p_save_id is not null then
    select a.status, 1, case when a.status <> 'saved' then a.created_at end,
           array_remove(array[a.artifact_id], null),
           jsonb_build_array(pgmem.listed_save(row(a.*)::pgmem.save_attempt))
    into v_answer
    from pgmem.visible_attempt a where a.save_id = p_save_id
    order by a.tenant = (pgmem.caller()).tenant desc limit 1;
    if v_answer.status is null then
      v_answer.status := 'not_started';
      v_answer.count := 0;
      v_answer.artifact_ids := '{}';
      v_answer.saves := '[]';
    end if;
    return v_answer;
  end if;
  if v_project is null and p_project_id is not null then
    raise exception using errcode = 'PM001',
      message = 'project_id must not be empty; send the name of the project, or none for all of them.';
  end if;
  v_scope := pgmem.resolve_scope(pgmem.caller(), v_project, null);
  if v_project is not null and not v_scope.project_exists
      and not exists (select from pgmem.visible_attempt a where pgmem.folded(a.project) = pgmem.folded(v_project)) then
    raise exception using errcode = 'PM002',
      message = concat_ws(' ',
        format('No project %s found, and no save waits for it.', quote_literal(left(v_project, 80))),
        pgmem.near_project(v_project));
  end if;
  perform pgmem.require_session(p_session_id, v_scope.project_seq);
  select count(*), min(a.created_at),
         coalesce(array_agg(distinct a.artifact_id) filter (where a.artifact_id is not null), '{}'),
         coalesce(jsonb_agg(pgmem.listed_save(row(a.*)::pgmem.save_attempt) order by a.created_at), '[]')
  into v_answer.count, v_answer.oldest_pending_at, v_answer.artifact_ids, v_answer.saves
  from pgmem.visible_attempt a
  -- The parts of a partial batch have their own rows.
  where a.status not in ('saved', 'dropped', 'partial')
    and (v_project is null or pgmem.folded(a.project) = pgmem.folded(v_project))
    and (p_session_id is null or a.session_id = p_session_id);
  v_answer.status := case
    when v_answer.count = 0 and exists (
        select from pgmem.visible_attempt a
        where a.status = 'dropped' and a.resolved_by is null and (v_project is null or pgmem.folded(a.project) = pgmem.folded(v_project))
          and (p_session_id is null or a.session_id = p_session_id)) then 'dropped'
    when v_answer.count = 0 then 'saved'
    when exists (select from jsonb_array_elements(v_answer.saves) s where s ->> 'status' = 'pending_retry')
      then 'pending_retry'
    else 'failed' end;
  return v_answer;
end;
$$;
comment on function pgmem.get_save_status is $$
List the open saves of a project or of all, oldest first, or return the outcome of one save.

A save that a later one with the same arguments made good is no longer open. Where none is open and one was dropped that
no person decided over, by a purge or by its age, the status is `dropped`: its save_id says why.

In Python the saves in the outbox of this machine count too; while the database is away the answer lists those
alone.

project_id: Project name; unset: of every project. A save_id is found in any.
session_id: Only saves of this session; unset: of all sessions.
save_id: Only this save; `not_started` where it is unknown.

InvalidArgument: the project_id is empty, holds a control character or is too long.
MemoryNotFound: no such project or session exists; the message names those that are near.
DatabaseUnavailable: the database does not answer and the outbox is empty.
$$;
select pgmem.declare_verb('get_save_status', p_rights => 'reader', p_effect => 'look', p_answer => 'SaveStatus',
  p_toolset => 'core,entry', p_description => 'Call this when a save was not saved. It lists the open ones, or the outcome of one save_id.');


create or replace function pgmem.require_session(p_session_id text, p_project_seq bigint) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if p_session_id is null
      or exists (select from pgmem.visible_attempt a where a.session_id = p_session_id)
      or exists (select from pgmem.visible_node n where n.session_id = p_session_id)
      or pgmem.is_uuid(p_session_id)
         and exists (select from pgmem.visible_node n where n.id = p_session_id::uuid and n.label = 'Session') then
    return;
  end if;
  raise exception using errcode = 'PM002', message = concat_ws(' ',
    format('Nothing was saved in a session %s.', quote_literal(left(p_session_id, 80))),
    (select format('The last sessions of this project: %s.', string_agg(format('%s (%s)', s.id, s.title), ', '))
     from (select n.id, n.title from pgmem.visible_node n
           where n.label = 'Session' and n.project_seq = p_project_seq order by n.seq desc limit 3) s
     having count(*) > 0));
end;
$$;
comment on function pgmem.require_session is
  'An error for a session in which nothing was saved; the message names the last sessions of the project.';


create or replace function pgmem.listed_save(p_attempt pgmem.save_attempt) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select to_jsonb(pgmem.attempt_result(p_attempt))
    || jsonb_build_object('verb', p_attempt.verb, 'created_at', p_attempt.created_at, 'project', p_attempt.project)
    -- As the projects are now.
    || case when p_attempt.status <> 'blocked_scope' then '{}'::jsonb
         else jsonb_build_object('next_step', case
           when (pgmem.resolve_scope(pgmem.caller(), p_attempt.project, null)).project_exists
             then 'The project exists now: send the save again.'
           else concat_ws(' ', pgmem.near_project(p_attempt.project), pgmem.next_step('blocked_scope')) end) end;
$$;
comment on function pgmem.listed_save is 'A save as get_save_status lists it, with its next step.';


-- A save of an earlier release has no caller on record: it counts as an agent's.
create or replace function pgmem.asked_by(p_caller pgmem.caller, p_attempt pgmem.save_attempt) returns pgmem.caller
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  p_caller.source := coalesce(p_attempt.source, 'mcp');
  p_caller.trust_level := least(p_caller.trust_level, coalesce(p_attempt.trust_level, pgmem.setting_float('trust_mcp')));
  p_caller.agent_id := p_attempt.agent_id;
  p_caller.session_id := p_attempt.session_id;
  p_caller.on_behalf := not coalesce(p_attempt.decides, false);
  return p_caller;
end;
$$;
comment on function pgmem.asked_by is
  'The caller for an open save that is made later: in the name and with the trust of the caller who asked first.';


create or replace function pgmem.retry_save(
  p_save_id uuid,
  p_governance_token text default null,
  p_project_id text default null
) returns pgmem.save_result
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_attempt pgmem.save_attempt;
begin
  perform pgmem.require_writer();
  select a.* into v_attempt from pgmem.visible_attempt a
  where a.save_id = p_save_id and a.tenant = (pgmem.caller()).tenant;
  if v_attempt.save_id is null or v_attempt.verb = 'store_session_with_learnings' then
    raise exception using errcode = 'PM002', message = format('No single save %s of yours is on record.', p_save_id);
  end if;
  if v_attempt.status in ('saved', 'dropped') or pgmem.is_held_change(v_attempt.verb)
      or (pgmem.review_artifact(v_attempt)).id is not null then
    return pgmem.attempt_result(v_attempt);
  end if;
  if p_project_id is not null and p_project_id is distinct from v_attempt.arguments ->> 'project_id' then
    perform pgmem.find_project(p_project_id);
    -- No hash: under this save_id there are other arguments from now on.
    update pgmem.save_attempt a set project = p_project_id, arguments_hash = '',
      arguments = a.arguments || jsonb_build_object('project_id', p_project_id)
    where a.save_id = p_save_id and a.tenant = v_attempt.tenant returning a.* into v_attempt;
  end if;
  return pgmem.run_save(v_attempt.verb, v_attempt.arguments, p_save_id, p_governance_token,
    p_caller => pgmem.asked_by(pgmem.caller(), v_attempt));
end;
$$;
comment on function pgmem.retry_save is $$
Make an open save again, with the arguments it had and in the name of the caller who asked first.

Its trust is the lower one of that caller and the present one: a change of a person's decision waits for a review.

A save that was made, or dropped by a reviewer, is not repeated: the answer is its result.

save_id: The save to make again; a batch is not retried as a whole, its parts are.
project_id: The project to save it into instead, where an agent misspelt it.

MemoryNotFound: the caller's tenant has no such save, or it is a batch; or no such project exists.
InvalidArgument: the arguments on record cannot be read.
$$;
select pgmem.declare_verb('retry_save', p_rights => 'writer', p_effect => 'repeat', p_answer => 'SaveResult');


create or replace function pgmem.fail_save(
  p_save_id uuid,
  p_verb text,
  p_arguments jsonb,
  p_message text,
  p_readable boolean default true
) returns void
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
begin
  -- As in claim_save: a save that is being made under this id comes first and is not overwritten.
  perform pgmem.hold_save(v_caller.tenant, p_save_id);
  if not exists (select from pgmem.visible_attempt a where a.save_id = p_save_id and a.tenant = v_caller.tenant) then
    -- No hash: a verb fills in its defaults before it takes one, so that a hash of these arguments would differ from
    -- the hash of the caller's own retry.
    perform pgmem.record_attempt(v_caller, p_verb, p_arguments, '',
      pgmem.make_result('failed', p_message => p_message, p_save_id => p_save_id), p_readable => p_readable);
  end if;
  perform pgmem.release_save(v_caller.tenant, p_save_id);
end;
$$;
comment on function pgmem.fail_save is $$
Record a save that was given up, so that get_save_status lists it.

A save that is on record stays as it is.

save_id: The save that was given up.
verb: The save verb, such as save_decision.
arguments: The arguments of the verb, an object.
message: Why it was given up.
readable: False: its arguments cannot be read, so that no retry makes it; true by default.
$$;
select pgmem.declare_verb('fail_save', p_rights => 'writer', p_effect => 'write');


create or replace function pgmem.is_held_change(p_verb text) returns boolean
language sql immutable parallel safe
begin atomic
  select p_verb in ('forget', 'revert', 'remember', 'edit_memory');
end;
comment on function pgmem.is_held_change is 'Whether a review of this verb changes its candidate, rather than stores something beside it.';


create or replace function pgmem.reviewed(p_attempt pgmem.save_attempt) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node;
begin
  if pgmem.is_held_change(p_attempt.verb) then
    select n.* into v_node from pgmem.visible_node n where n.id = p_attempt.candidate_id;
    return v_node;
  end if;
  return pgmem.review_head(p_attempt.candidate_id);
end;
$$;
comment on function pgmem.reviewed is
  'The memory that a review concerns: the target of a change, or the current one in the line that a save resembles.';


-- A title that steers would be an order to the next session of the same agent.
create or replace function pgmem.asked_title(p_attempt pgmem.save_attempt, p_caller pgmem.caller) returns text
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_title text := (pgmem.asked_texts(p_attempt.verb, p_attempt.arguments)).title;
begin
  if (pgmem.held_texts(p_attempt, p_caller)).arguments is null and p_attempt.arguments is not null
    and (row(p_attempt.tenant, p_attempt.user_id, p_attempt.source, p_attempt.agent_id)
           is distinct from row(p_caller.tenant, p_caller.user_id, p_caller.source, p_caller.agent_id)
         or pgmem.steering(v_title) is not null)
  then
    return null;
  end if;
  return left(v_title, 200);
end;
$$;
comment on function pgmem.asked_title is
  'The title that a save would have, as a caller may read it: an agent reads that of a save which it made unless the title steers.';


create or replace function pgmem.review_artifact(p_attempt pgmem.save_attempt) returns pgmem.node
language sql stable set search_path = pgmem, pg_temp as $$
  select row(n.*)::pgmem.node
  from pgmem.visible_node n join pgmem.label l on l.name = n.label
  where n.id = p_attempt.artifact_id and l.verb = p_attempt.verb and not pgmem.is_held_change(p_attempt.verb)
    and pgmem.is_live_status(n.status)
    and pgmem.folded(n.project) is not distinct from pgmem.folded(p_attempt.project)
    and coalesce(p_attempt.arguments ->> 'scope', n.scope) = n.scope
    and (pgmem.asked_texts(p_attempt.verb, p_attempt.arguments)).title = coalesce(n.props ->> l.title_field, n.title)
    and jsonb_strip_nulls(p_attempt.arguments) - '{title,project_id,focus,scope}'::text[] <@ n.props;
$$;
comment on function pgmem.review_artifact is
  'The stored memory that a review would bring in: only where its texts are those of the review; else null.';


create or replace function pgmem.review_outcomes(p_attempt pgmem.save_attempt) returns text[]
language sql stable set search_path = pgmem, pg_temp as $$
  select case
    when p_attempt.status in ('saved', 'dropped', 'partial') then '{}'
    when (p_attempt.dedup_outcome, p_attempt.status::text) is distinct from ('manual_review', 'failed') then '{drop}'
    when pgmem.is_held_change(p_attempt.verb) then '{supersede,drop}'
    when p_attempt.candidate_id is null then '{new,drop}'
    -- One name has one memory.
    when exists (select from pgmem.label l where l.verb = p_attempt.verb and l.key_field is not null) then '{supersede,drop}'
    else '{new,supersede,drop}' end::text[];
$$;
comment on function pgmem.review_outcomes is
  'How an open save can be decided: new (beside its candidate), supersede (the change is made) or drop; none once it is.';


select pgmem.declare_answer('review', $$
A decision that waits for review, beside the memory that it resembles.

save_id uuid, project text?, title text, rationale text, candidate_id uuid?, candidate_title text?
candidate_rationale text?, candidate_status text?, score float8?, created_at timestamptz, verb text = save_decision
message text?
artifact_id uuid?: The memory that is stored already and would be brought in; title and rationale are its texts.
outcomes text[] = {}: How it can be decided.
by person|agent?: Who asks; agent: also a program or a file.
candidate_by person|agent?: Who said the memory that it resembles.
$$);

create or replace function pgmem.list_reviews(
  p_project_id text default null,
  p_limit pgmem.row_limit default 100
) returns setof pgmem.review
language sql stable security definer set search_path = pgmem, pg_temp as $$
  select a.save_id, a.project,
         coalesce(pgmem.asked_title(r.attempt, c.caller), ''), coalesce(t.text, (shown.arguments - '{project_id,label,key,title}'::text[])::text, ''),
         n.id, n.title::text, n.props ->> 'rationale', n.status::text,
         pgmem.jaccard(pgmem.tokens(a.arguments ->> 'title'), n.title_tokens), a.created_at, a.verb, a.message,
         (pgmem.review_artifact(r.attempt)).id, pgmem.review_outcomes(r.attempt),
         pgmem.said_by(a.source, a.trust_level),
         case when n.id is not null then pgmem.said_by(n.source, n.trust_level) end
  from (select pgmem.caller() as caller) c cross join pgmem.visible_attempt a
  cross join lateral (select row(a.*)::pgmem.save_attempt as attempt) r
  cross join lateral pgmem.reviewed(r.attempt) n
  cross join lateral pgmem.held_texts(r.attempt, c.caller) shown
  cross join lateral pgmem.asked_texts(a.verb, shown.arguments) t
  where a.status = 'failed' and a.dedup_outcome = 'manual_review'
    and (p_project_id is null or pgmem.folded(a.project) = pgmem.folded(p_project_id))
  order by a.created_at limit p_limit;
$$;
comment on function pgmem.list_reviews is $$
List the saves and changes under review, each beside the memory it resembles or changes.

The oldest come first. Where a later decision supersedes the one that a save resembled, the later one is the candidate.

`score` is the Jaccard similarity of the two titles, 0 to 1. An agent is shown that a save waits and why, without its
texts; of a save which it made it is shown the title, unless the title steers agents.

project_id: Only those of this project; unset: of all that the caller sees.
$$;
select pgmem.declare_verb('list_reviews', p_rights => 'reader', p_effect => 'look', p_answer => 'list[Review]');


select pgmem.declare_answer('review_detail', $$
A save that waits for a person, or that one has decided, beside the memory it concerns.

save_id uuid, verb text, project text?, status text, arguments object, message text?, candidate_id uuid?
candidate_label text?, candidate_title text?, candidate_status text?, candidate_properties object?
candidate_version integer?, artifact_id uuid?, resolved_by text?, is_open boolean, session_id text?
created_at timestamptz, updated_at timestamptz
artifact_title text?: Title of the memory that is stored already and would be brought in.
artifact_properties object?
outcomes text[] = {}: How it can be decided.
restored_title text?: The title of the version that a revert brings back.
restored_properties object?
title text?: The title that the save would have.
by person|agent?: Who asks; agent: also a program or a file.
candidate_by person|agent?: Who said the memory that it concerns.
$$);

create or replace function pgmem.get_review(
  p_save_id uuid
) returns pgmem.review_detail
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.review_detail;
begin
  select a.save_id, a.verb, a.project, a.status, coalesce(held.arguments, '{}'), a.message,
         coalesce(n.id, a.candidate_id), n.label, n.title, n.status, n.props, n.version,
         case when a.status in ('saved', 'dropped', 'partial') then a.artifact_id else stored.id end, a.resolved_by,
         a.status not in ('saved', 'dropped', 'partial'), a.session_id, a.created_at, a.updated_at,
         stored.title, stored.props, pgmem.review_outcomes(r.attempt), back.title, back.props,
         pgmem.asked_title(r.attempt, pgmem.caller()), pgmem.said_by(a.source, a.trust_level),
         case when n.id is not null then pgmem.said_by(n.source, n.trust_level) end
  into v_answer
  from pgmem.visible_attempt a
  cross join lateral (select row(a.*)::pgmem.save_attempt as attempt) r
  cross join lateral pgmem.held_texts(r.attempt, pgmem.caller()) held
  cross join lateral pgmem.reviewed(r.attempt) n
  left join lateral pgmem.review_artifact(r.attempt) stored on a.status not in ('saved', 'dropped', 'partial')
  left join lateral (
    select v.title, v.props from pgmem.visible_version v
    where v.node_seq = n.seq and v.version = (held.arguments ->> 'version')::integer
    union all
    select n.title, n.props where n.version = (held.arguments ->> 'version')::integer
    limit 1) back on a.verb = 'revert'
  where a.save_id = p_save_id
  order by a.status not in ('saved', 'dropped', 'partial') desc, a.tenant = (pgmem.caller()).tenant desc limit 1;
  if v_answer.save_id is null then
    raise exception using errcode = 'PM002', message = format('No save %s is on record here.', p_save_id);
  end if;
  return v_answer;
end;
$$;
comment on function pgmem.get_review is $$
Read one save that waits for a person, or is decided, beside the memory it concerns.

The candidate is the memory that is current in the line of the one that the save resembled, or the one that a change
would change. An agent gets no arguments of a save that waits, and the title of one which it made, unless that steers agents.
Where the waiting memory is stored already, as two stores had
saved it, the artifact is that memory; of a revert, the restored texts are those that come back. A decided save has
resolved_by and no arguments.

save_id: The id of the save.

MemoryNotFound: no such save is on record for the caller.
$$;
select pgmem.declare_verb('get_review', p_rights => 'reader', p_effect => 'look', p_answer => 'ReviewDetail');


create or replace function pgmem.resolve_review(
  p_save_id uuid,
  p_outcome pgmem.review_outcome,
  p_by text,
  p_candidate_id uuid default null,
  p_candidate_version integer default null
) returns pgmem.save_result
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller  pgmem.caller := pgmem.require_writer();
  v_by      text;
  v_attempt pgmem.save_attempt;
  v_scope   pgmem.scope_state;
  v_head    pgmem.node;
  v_stored  pgmem.node;
  v_detail  text;
  v_result  pgmem.save_result;
  v_first   pgmem.caller;
begin
  if not pgmem.is_reviewer() then
    raise exception using errcode = 'PM004',
      message = 'Only a reviewer resolves reviews: connect as a member of pgmem_reviewer.';
  end if;
  v_by := pgmem.require_key(p_by, 'by');
  -- A person on the pages of a server acts for one tenant, and may not decide public reviews.
  if v_caller.source = 'ui' and v_caller.identified then
    v_caller.tenants := v_caller.tenants[: cardinality(v_caller.tenants) - 1];
  end if;
  -- The memory belongs to the tenant of the save, not to the tenant of the reviewer.
  select a.org_id, a.user_id, a.tenant into v_caller.org_id, v_caller.user_id, v_caller.tenant
  from pgmem.visible_attempt a where a.save_id = p_save_id and a.tenant = any (v_caller.tenants)
  order by a.status not in ('saved', 'dropped', 'partial') desc, a.tenant = v_caller.tenant desc limit 1;
  v_caller.tenants := v_caller.tenants[array_position(v_caller.tenants, v_caller.tenant) :];
  if v_caller.tenant is null then
    raise exception using errcode = 'PM002',
      message = format('No save %s waits for a review; see pgmem review.', p_save_id);
  end if;
  perform pgmem.hold_save(v_caller.tenant, p_save_id);
  select a.* into v_attempt from pgmem.visible_attempt a
  where a.save_id = p_save_id and a.tenant = v_caller.tenant;
  if p_outcome = 'drop' and coalesce(v_attempt.status, 'saved') in ('saved', 'dropped', 'partial')
      or p_outcome <> 'drop'
         and (v_attempt.dedup_outcome, v_attempt.status::text) is distinct from ('manual_review', 'failed') then
    raise exception using errcode = 'PM002', message = case when v_attempt.resolved_by is null
      then format('No save %s waits for a review; see pgmem review.', p_save_id)
      else format('%s has decided save %s already: it is %s. See pgmem review.', v_attempt.resolved_by, p_save_id,
                  v_attempt.status) end;
  end if;
  if p_outcome::text <> all (pgmem.review_outcomes(v_attempt)) then
    raise exception using errcode = 'PM001', message = format('This review of %s has no outcome %s; send %s.',
      v_attempt.verb, p_outcome, array_to_string(pgmem.review_outcomes(v_attempt), ' or '));
  end if;
  v_head := pgmem.reviewed(v_attempt);
  if (p_candidate_id is not null or p_outcome = 'supersede')
      and v_head.id is distinct from coalesce(p_candidate_id, v_attempt.candidate_id)
      or v_head.version <> p_candidate_version then
    raise exception using errcode = 'PM001', message = format(
      'The memory that it resembles has changed since it was shown: now it is %s. Look at it, then decide, with its id as '
      'candidate_id.', coalesce(v_head.id || ' ' || pgmem.short_name(v_head.title) || ', version ' || v_head.version, 'gone'));
  end if;
  if p_outcome = 'drop' then
    v_result := pgmem.make_result('dropped', p_dedup_outcome => v_attempt.dedup_outcome,
      p_candidate_id => v_attempt.candidate_id, p_message => 'Dropped by ' || v_by);
  elsif pgmem.is_held_change(v_attempt.verb) then
    v_result := pgmem.make_held_change(v_attempt.verb, v_attempt.arguments, v_attempt.candidate_id,
      pgmem.asked_by(v_caller, v_attempt));
  else
    v_first := pgmem.asked_by(v_caller, v_attempt);
    v_stored := pgmem.review_artifact(v_attempt);
    if v_stored.id is not null then  -- both are stored: they came from two stores (86-apply-changes)
      perform pgmem.settle_conflict(v_stored.id, v_head.id, v_by,
        case p_outcome when 'supersede' then v_stored.id end, 'A review has decided.');
      v_result := pgmem.saved(v_stored.id, p_outcome::text, v_head.id);
    else
      begin
        v_scope := pgmem.resolve_scope(v_caller, v_attempt.arguments ->> 'project_id', v_attempt.arguments ->> 'focus');
        v_result := pgmem.store(v_attempt.verb, v_attempt.arguments, v_scope, v_first, p_review => p_outcome,
          p_superseded_id => v_head.id);
      exception when sqlstate 'PM099' then  -- it meets a memory that nobody was shown, or cannot be stored
        get stacked diagnostics v_detail = pg_exception_detail;
        v_result := pgmem.save_error(sqlstate, sqlerrm, v_detail);
        v_by := null;
      end;
    end if;
  end if;
  v_result.save_id := p_save_id;
  perform pgmem.record_attempt(v_caller, v_attempt.verb, v_attempt.arguments, v_attempt.arguments_hash, v_result);
  update pgmem.save_attempt a set resolved_by = v_by where a.tenant = v_attempt.tenant and a.save_id = p_save_id;
  perform pgmem.release_save(v_caller.tenant, p_save_id);
  return v_result;
end;
$$;
comment on function pgmem.resolve_review is $$
Decide a save under review: store it as new, let it supersede its candidate, or drop it.

The stored memory has the name and the trust of the caller who asked for it, not those of the person. A change of a memory
(forget, revert, remember, edit_memory) and a fact under a name are made by supersede, in place, or dropped.

Any open save can be dropped, also one that is not under review. A decision that was made on another candidate than
the present one is refused. The status is `failed` where it meets a memory that the person was not shown: it waits again.

For a person, not for an agent: the login must own the schema or be a member of pgmem_reviewer.

save_id: The save under review, as list_reviews gives it.
outcome: new (store it beside the candidate), supersede (replace the candidate) or drop (store nothing).
candidate_id: The candidate that the person was shown; unset: the one of the refusal, for supersede.
candidate_version: Its version that the person was shown; another one since is refused.

MemoryNotFound: no such save is under review.
InvalidArgument: the outcome is unknown or not one of this review, `by` is empty, or the candidate has changed since it
  was shown.
IdentityRequired: the store has tenants and the caller has no identity.
WrongIsolation: the transaction is not READ COMMITTED.
$$;
select pgmem.declare_verb('resolve_review', p_rights => 'reviewer', p_effect => 'write', p_answer => 'SaveResult',
  p_reach => 'caller');


create or replace function pgmem.make_held_change(
  p_verb text,
  p_arguments jsonb,
  p_candidate_id uuid,
  p_caller pgmem.caller
) returns pgmem.save_result
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node  pgmem.node;
  v_label pgmem.label;
  v_new   pgmem.node;
begin
  select n.* into v_node from pgmem.visible_node n where n.id = p_candidate_id;
  if v_node.seq is null then
    raise exception using errcode = 'PM002', message = 'The memory under review was deleted; drop the review.';
  end if;
  if p_verb = 'remember' then
    perform pgmem.require_own(v_node, p_caller);
  else
    perform pgmem.require_forgettable(v_node, p_caller);
  end if;
  v_node := pgmem.locked(v_node);
  case p_verb
    when 'forget' then
      perform pgmem.forget_node(v_node, p_caller, (p_arguments ->> 'purge')::boolean);
    when 'revert' then
      perform pgmem.put_back(v_node, (p_arguments ->> 'version')::integer, p_caller);
    when 'edit_memory' then
      perform pgmem.edit_node(v_node, p_caller, coalesce(p_caller.agent_id, p_caller.source), p_arguments -> 'properties',
        p_arguments ->> 'title');
    when 'remember' then
      v_label := pgmem.require_memory_label(v_node.label);
      v_new := pgmem.with_period(
        pgmem.named_node(v_label, p_arguments -> 'properties', p_arguments ->> 'share',
          pgmem.resolve_scope(p_caller, p_arguments ->> 'project_id', null), p_caller),
        pgmem.argument_time(p_arguments, 'valid_from'), pgmem.argument_time(p_arguments, 'valid_to'));
      if pgmem.folded(v_new.key) is distinct from pgmem.folded(v_node.key) then
        raise exception using errcode = 'PM001', message = format(
          'The change names %s, and the memory under review is %s: drop the review.',
          pgmem.short_name(v_new.key), pgmem.short_name(v_node.title));
      end if;
      v_new := (pgmem.merge_node_state(pgmem.settled(v_node), v_new, v_label.key_field, true)).node;
      perform pgmem.link_named(v_new, p_arguments -> 'relations', p_caller);
      perform pgmem.store_embedding(v_new);
  end case;
  return pgmem.saved(p_candidate_id, 'supersede', p_candidate_id);
end;
$$;
comment on function pgmem.make_held_change is 'Make a change of a memory that was under review, as a person decided.';
