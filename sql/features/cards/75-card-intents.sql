-- Card intents
--
-- An intent is an agent's announcement of its work. Its paths are a scope for retrieval before the work; afterwards
-- the agent names the files really changed, and the cards of people and agents about them become stale, because no person has
-- looked yet whether it still holds. The cards of a folder above stay active: they would be stale after every change.
--
-- manage_engineering_memory is the tool that gives agents all of these verbs by name. The decisions about cards are
-- not among them: a person makes those (76-card-decisions).
--
-- Locks: finish_intent takes the scope lock of the cards, then the row of the intent.


select pgmem.declare_answer('intent', $$
A declared intent: the paths that will be changed.

intent_id uuid, paths text[], policy {boolean}, next_step text?
$$);

create or replace function pgmem.declare_intent(
  p_paths text[],
  p_project_id text,
  p_description text default null
) returns pgmem.intent
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.intent;
  v_caller pgmem.caller := pgmem.require_writer();
  v_scope  pgmem.scope_state;
begin
  v_answer.paths := pgmem.clean_paths(case when coalesce(cardinality(p_paths), 0) = 0 then '{""}' else p_paths end);
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  insert into pgmem.card_intent as i
    (org_id, user_id, project_seq, paths, description, agent_id, session_id, declared_at)
  values (v_caller.org_id, v_caller.user_id, v_scope.project_seq, v_answer.paths,
          pgmem.clean_text(p_description, 'description'),
          v_caller.agent_id, v_caller.session_id, pgmem.clock())
  returning i.id into v_answer.intent_id;
  v_answer.policy := '{"memory_does_not_authorize_edits": true, "risk_notes_are_informational": true}';
  v_answer.next_step :=
    'get_relevant_memory(intent_id) before the work, finish_intent(intent_id, changed_paths) after it.';
  return v_answer;
end;
$$;
comment on function pgmem.declare_intent is $$
Declare the paths to be worked on; the id of the intent is a scope for get_relevant_memory.

paths: Files or folders relative to the repository, 1 to 50.
description: The aim of the work; it becomes part of drafts made from the receipt. Default none.

ContractError: no paths, too many, or one outside the repository; no such project.
$$;
select pgmem.declare_verb('declare_intent', p_rights => 'writer', p_effect => 'write', p_answer => 'Intent');


select pgmem.declare_answer('finished_intent', $$
The changes of an intent, the cards that they made stale, and the cards that were drafted.

intent_id uuid, changed_paths text[], outside_scope text[], stale_cards uuid[], proposed proposal?, coverage coverage?
policy {boolean} = {}
$$);

create or replace function pgmem.finish_intent(
  p_intent_id uuid,
  p_changed_paths text[],
  p_project_id text,
  p_propose boolean default false,
  p_receipt jsonb default '{}',
  p_share pgmem.sharing default null,
  p_branch text default null,
  p_branch_commit text default null
) returns pgmem.finished_intent
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.finished_intent;
  v_caller pgmem.caller := pgmem.require_writer();
  v_scope  pgmem.scope_state;
  v_intent pgmem.card_intent;
  v_keys   bigint[];
  v_node   pgmem.node;
begin
  v_answer.changed_paths := array(
    select distinct pgmem.clean_path(coalesce(p, '')) from unnest(p_changed_paths) p order by 1);
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  perform pgmem.lock_scope((pgmem.place_card(v_scope, v_caller, p_share)).scope_key);
  select i.* into v_intent from pgmem.card_intent i
  where i.id = p_intent_id and i.tenant = v_caller.tenant and i.project_seq = v_scope.project_seq for update;
  if v_intent.id is null then
    raise exception using errcode = 'PM002',
      message = format('No intent %s is declared in this project; call declare_intent first.', p_intent_id);
  elsif v_intent.finished_at is not null then
    raise exception using errcode = 'PM010', message = format('Intent %s is finished already.', p_intent_id);
  end if;
  update pgmem.card_intent i
  set finished_at = pgmem.clock(), changed_paths = v_answer.changed_paths, receipt = nullif(p_receipt, '{}')
  where i.id = v_intent.id;
  v_answer.intent_id := v_intent.id;
  v_answer.outside_scope := array(select c from unnest(v_answer.changed_paths) c
    where not exists (select from unnest(v_intent.paths) p where c = p or starts_with(c, p || '/')) order by 1);

  v_keys := pgmem.card_keys(v_caller, v_scope.project_seq);
  v_answer.coverage :=
    (pgmem.scope_coverage(v_caller.tenants, v_keys, v_answer.changed_paths, '{}', p_branch)).coverage;
  v_answer.stale_cards := '{}';
  for v_node in
    select n.* from pgmem.visible_node n
    where n.status = 'active' and n.label = 'Card' and (not n.props ? 'branch' or n.props ->> 'branch' = p_branch)
      -- A card of a scan follows the files by itself.
      and (n.props ->> 'origin' <> 'system' or n.props ? 'approved_by')
      and n.seq in (
      select s.node_seq from unnest(v_answer.changed_paths) as c(path) cross join unnest(v_keys) as k(key)
      join pgmem.card_subject s on s.scope_key = k.key and s.tenant = any (v_caller.tenants)
        and s.match = c.path collate "C"
      where s.status = 'active' and s.relation = 'about'
      union
      select s.node_seq from unnest(v_answer.changed_paths) as c(path) cross join unnest(v_keys) as k(key)
      join pgmem.card_subject s on s.scope_key = k.key and s.tenant = any (v_caller.tenants)
        and s.match > (c.path || '/') collate "C" and s.match < (c.path || '0') collate "C"
      where s.status = 'active' and s.relation = 'about')
    order by n.seq
  loop
    v_node := pgmem.change_card(v_node, 'stale', '{"stale_reason": "scope_files_changed"}', 'finish',
      pgmem.card_writer(v_caller), format('intent %s', v_intent.id));
    v_answer.stale_cards := v_answer.stale_cards || v_node.id;
  end loop;
  if p_propose then
    v_answer.proposed := pgmem.draft_receipt(
      coalesce(p_receipt, '{}') || jsonb_build_object(
        'intent_id', v_intent.id, 'changed_paths', v_answer.changed_paths),
      v_scope, v_caller, p_share, pgmem.written_on(p_branch, p_branch_commit));
  end if;
  perform pgmem.build_trajectories(pgmem.place_card(v_scope, v_caller, p_share));
  v_answer.policy := '{"memory_does_not_authorize_edits": true, "risk_notes_are_informational": true}';
  return v_answer;
end;
$$;
comment on function pgmem.finish_intent is $$
Finish an intent with the files really changed; the cards about them become stale.

`outside_scope` names the changed files that were not declared. With propose, drafts are made from
the receipt in the same transaction.

intent_id: The id that declare_intent returned.
changed_paths: The files really changed, relative to the repository; may be empty.
propose: Whether drafts are made from the receipt; default false.
receipt: As propose_from_receipt takes it, without intent_id and changed_paths; and status, verify (texts), tests (a
  list of texts) and commit, which a trajectory gives; default: an empty object.
branch: The branch that the work is on, if that is not the default one; default that of the repository.
branch_commit: The last commit of the branch; ^ID: the branch begins at ID and has no commits yet.

ContractError: a path is outside the repository, the intent is finished already, or the receipt does
  not fit; no such project.
MemoryNotFound: no such intent of the caller is declared in the project.
CapacityReached: the drafts do not fit.
$$;
select pgmem.declare_verb('finish_intent', p_rights => 'writer', p_effect => 'write', p_answer => 'FinishedIntent');


create or replace function pgmem.manage_engineering_memory(
  p_project_id text,
  p_action text,
  p_record_type text default null,
  p_statement text default null,
  p_subject_path text default null,
  p_symbols text[] default null,
  p_evidence pgmem.card_evidence_list default null,
  p_text text default null,
  p_paths text[] default null,
  p_intent_id uuid default null,
  p_propose boolean default false,
  p_receipt jsonb default null,
  p_report jsonb default null,
  p_share pgmem.sharing default null,
  p_branch text default null,
  p_branch_commit text default null,
  p_arguments pgmem.former_object default null
) returns jsonb
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_actions constant text[] := array['record_candidate', 'validate_claims', 'propose_from_receipt', 'refresh_from_run',
                                     'declare_intent', 'finish_intent', 'rebuild_trajectories', 'rebuild_semantic',
                                     'rebuild_projection'];
  v_answer jsonb;
begin
  if p_action in ('approve', 'reject', 'archive', 'approve_card', 'reject_card', 'archive_card') then
    return jsonb_build_object('status', 'rejected', 'reason', 'governance_mode_unavailable', 'next_step',
      format('Agents draft, people decide. Ask a person to run: pgmem cards %s', replace(p_action, '_card', '')));
  end if;
  if p_arguments is not null then
    p_record_type := coalesce(p_record_type, p_arguments ->> 'record_type');
    p_statement := coalesce(p_statement, p_arguments ->> 'statement');
    p_subject_path := coalesce(p_subject_path, p_arguments ->> 'subject_path');
    p_symbols := coalesce(p_symbols, array(select jsonb_array_elements_text(p_arguments -> 'symbols')));
    p_evidence := coalesce(p_evidence, p_arguments -> 'evidence');
    p_text := coalesce(p_text, p_arguments ->> 'text');
    p_paths := coalesce(p_paths, array(select jsonb_array_elements_text(p_arguments -> 'paths')));
    p_intent_id := coalesce(p_intent_id, (p_arguments ->> 'intent_id')::uuid);
    p_propose := p_propose or (p_arguments ->> 'propose')::boolean;
    p_receipt := coalesce(p_receipt, p_arguments -> 'receipt');
    p_report := coalesce(p_report, p_arguments -> 'report');
    p_share := coalesce(p_share, p_arguments ->> 'share');
  end if;
  case pgmem.require_word(p_action, v_actions, 'Unknown action ''%s''. Allowed: %s.')
    when 'record_candidate' then
      v_answer := to_jsonb(pgmem.record_candidate(p_record_type, p_statement, p_subject_path, p_project_id,
        coalesce(p_symbols, '{}'), coalesce(p_evidence, '[]'), p_share, p_branch, p_branch_commit));
    when 'validate_claims' then
      v_answer := to_jsonb(pgmem.validate_claims(p_text, p_project_id));
    when 'propose_from_receipt' then
      v_answer := to_jsonb(pgmem.propose_from_receipt(p_receipt, p_project_id, p_share, p_branch,
        p_branch_commit));
    when 'refresh_from_run' then
      v_answer := to_jsonb(pgmem.refresh_report(p_report, p_project_id, false, p_share, true));
    when 'declare_intent' then
      v_answer := to_jsonb(pgmem.declare_intent(coalesce(p_paths, '{}'), p_project_id, p_text));
    when 'finish_intent' then
      v_answer := to_jsonb(pgmem.finish_intent(p_intent_id, coalesce(p_paths, '{}'), p_project_id,
        coalesce(p_propose, false), coalesce(p_receipt, '{}'), p_share, p_branch, p_branch_commit));
    else
      v_answer := pgmem.rebuild_cards(p_action, p_project_id, p_share);
  end case;
  return jsonb_build_object('action', p_action) || (v_answer - 'cards');
end;
$$;
comment on function pgmem.manage_engineering_memory is $$
Call one of the card verbs that agents have, by its name.

The answer is that of the verb. approve, reject and archive are decisions of a person: they answer
with status `rejected` and the command to run.

action: record_candidate, validate_claims, propose_from_receipt, declare_intent, finish_intent or refresh_from_run; or
  a job: rebuild_trajectories, rebuild_semantic (vectors), rebuild_projection (graph).
record_type: record_candidate; the type of card.
statement: record_candidate; one fact, 1 to 1000 characters, best below 300.
subject_path: record_candidate; the file that the statement is about.
symbols: record_candidate; dotted names that it is about too.
evidence: record_candidate; objects with kind, ref and digest.
text: validate_claims, declare_intent; the text to check, or the aim of the work.
paths: declare_intent, finish_intent; those of the intent, or the files really changed.
intent_id: finish_intent; the id that declare_intent returned.
propose: finish_intent; whether drafts are made from the receipt, default false.
receipt: propose_from_receipt, finish_intent.
report: refresh_from_run; the result of a scan of the repository, unset: the repository of this process is read.
branch: That of the draft, as record_candidate takes it.
branch_commit: That of the draft, as record_candidate takes it.

ContractError: an unknown action, with those allowed; or a reason of the verb.
MemoryNotFound: no such intent is declared in the project.
CapacityReached: the project has no room for the drafts or cards.
InvalidArgument: the text of validate_claims is empty.
$$;
select pgmem.declare_verb('manage_engineering_memory', p_rights => 'writer', p_effect => 'write',
  p_answer => 'dict[str, JsonValue]', p_patience => 'rebuild', p_toolset => 'cards',
  p_hidden => '{branch,branch_commit}',
  p_description =>
    'Draft cards, what lasts about the code, one fact each; a person approves. Arguments name their action.');
