-- Card decisions
--
-- Acts of persons alone: approve, reject and archive cards, and remove those whose days in their state are over.
-- The verbs are for the owner of the schema and members of pgmem_reviewer; no MCP tool calls them. Each decision
-- names the person, and is recorded as a revision.
--
-- Approval vouches for the files as the last run saw them: the anchors of the card move there, and the approval
-- itself becomes evidence. The second of two decisions at once finds the status that the first has set and is
-- refused.
--
-- Locks: the scope lock of the card, then its row; vacuum_cards and settle_branches the scope locks of all visible
-- tenants, sorted.


create or replace function pgmem.decide_card(
  p_card_id uuid,
  p_verb text,
  p_from text[],
  p_to text,
  p_by text,
  p_reason text,
  p_props jsonb,
  p_version integer default null
) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node   pgmem.node;
  v_caller pgmem.caller := pgmem.require_writer();
  v_by     text := pgmem.require_key(p_by, 'by');
begin
  select n.* into v_node from pgmem.visible_node n where n.id = p_card_id and n.label = 'Card';
  if v_node.seq is not null then
    perform pgmem.require_own(v_node, v_caller);
    v_node := pgmem.locked(v_node);
  end if;
  if v_node.seq is null then
    raise exception using errcode = 'PM002', message = format('Memory record not found: %s', p_card_id);
  elsif not v_node.status = any (p_from) then
    raise exception using errcode = 'PM010',
      message = format('Cannot %s record in status ''%s''', p_verb, v_node.status);
  elsif v_node.version <> p_version then
    raise exception using errcode = 'PM001', message = format(
      'The card has changed since it was shown: it is at version %s. Look at it, then decide.', v_node.version);
  end if;
  return pgmem.change_card(v_node, p_to, p_props, p_verb, v_by, p_reason);
end;
$$;
comment on function pgmem.decide_card is
  'Apply a decision to a card, after the check of rights; a card in another status raises ContractError.';


select pgmem.declare_answer('card_decision', $$
A card after a person has decided; the last four fields are set by an approval only.

card_id uuid, status text, confidence text?, approved_by text?, evidence_count integer?, superseded uuid[] = {}
$$);

create or replace function pgmem.approve_card(
  p_card_id uuid,
  p_by text,
  p_reason text default null,
  p_supersedes uuid[] default '{}',
  p_version integer default null
) returns pgmem.card_decision
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.card_decision;
  v_by   text := pgmem.clean_key(p_by, 'by');
  v_node pgmem.node;
  v_old  pgmem.node;
  v_id   uuid;
begin
  perform pgmem.require_reviewer('approve_card');
  v_node := pgmem.decide_card(p_card_id, 'approve', array['draft', 'stale'], 'active', p_by, p_reason,
    jsonb_build_object('confidence', 'verified', 'approved_by', v_by, 'approved_at', pgmem.now(),
      'stale_reason', null, 'contradiction', null), p_version);
  update pgmem.card_evidence e set digest = e.seen_digest
  where e.node_seq = v_node.seq and e.seen_digest is not null and e.digest is distinct from e.seen_digest;
  -- Not by add_evidence: a card that holds max_card_evidence pieces can be approved too.
  insert into pgmem.card_evidence (node_seq, kind, ref, added_by, created_at)
  values (v_node.seq, 'audit_event', 'human_approval:' || v_by, v_by, pgmem.now())
  on conflict (node_seq, kind, ref) do nothing;
  v_answer.superseded := '{}';
  foreach v_id in array coalesce(p_supersedes, '{}') loop
    select n.* into v_old from pgmem.visible_node n
    where n.id = v_id and n.label = 'Card' and n.scope_key = v_node.scope_key and n.tenant || '' = v_node.tenant
      and n.seq <> v_node.seq and n.status in ('active', 'stale');
    if v_old.seq is null then
      raise exception using errcode = 'PM010',
        message = format('%s is not an active or stale card beside this one; nothing was changed.', v_id);
    end if;
    perform pgmem.insert_edge(v_node.seq, 'SUPERSEDES', v_old.seq);
    perform pgmem.change_card(v_old, 'superseded', '{}', 'supersede', v_by, format('by %s', v_node.id));
    v_answer.superseded := v_answer.superseded || v_id;
  end loop;
  perform pgmem.weigh_card(v_node.seq);
  v_answer.card_id := v_node.id;
  v_answer.status := v_node.status;
  v_answer.confidence := v_node.props ->> 'confidence';
  v_answer.approved_by := v_by;
  v_answer.evidence_count := (select count(*) from pgmem.card_evidence e where e.node_seq = v_node.seq);
  return v_answer;
end;
$$;
comment on function pgmem.approve_card is $$
Approve a draft or stale card: it becomes active and verified.

A person calls this. Approving a stale card anchors it in its files as the last run saw them.

card_id: The id of the card.
reason: Why, for the revision of the card; default none.
supersedes: Ids of active or stale cards of the same project that this one replaces; default none.
version: The version that the person was shown; another one since is refused. Unset: whichever it has.

NotPermitted: the login is neither owner nor reviewer, or the card belongs to another tenant.
MemoryNotFound: no such card is visible here.
ContractError: the card, or one that it supersedes, is in another status.
InvalidArgument: by is empty, or the card has changed since it was shown.
$$;
select pgmem.declare_verb('approve_card', p_rights => 'reviewer', p_effect => 'repeat', p_answer => 'CardDecision',
  p_reach => 'caller');


create or replace function pgmem.reject_card(
  p_card_id uuid,
  p_by text,
  p_reason text default null
) returns pgmem.card_decision
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_reason text;
  v_node   pgmem.node;
begin
  perform pgmem.require_reviewer('reject_card');
  v_reason := pgmem.clean_text(p_reason, 'reason');
  v_node := pgmem.decide_card(p_card_id, 'reject', array['draft'], 'rejected', p_by, v_reason,
    jsonb_build_object('rejected_by', btrim(p_by), 'rejection', v_reason));
  return row(v_node.id, v_node.status, null, null, null, '{}')::pgmem.card_decision;
end;
$$;
comment on function pgmem.reject_card is $$
Reject a draft card.

A person calls this. The same card may be drafted again; the answer then names the rejected one.

card_id: The id of the card.
reason: Why, kept with the card; default none.

NotPermitted: the login is neither owner nor reviewer, or the card belongs to another tenant.
MemoryNotFound: no such card is visible here.
ContractError: the card is not a draft.
InvalidArgument: by is empty.
$$;
select pgmem.declare_verb('reject_card', p_rights => 'reviewer', p_effect => 'repeat', p_answer => 'CardDecision',
  p_reach => 'caller');


create or replace function pgmem.archive_card(
  p_card_id uuid,
  p_by text,
  p_reason text default null
) returns pgmem.card_decision
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node;
begin
  perform pgmem.require_reviewer('archive_card');
  v_node := pgmem.decide_card(p_card_id, 'archive', array['active', 'stale', 'historical', 'superseded'], 'archived',
    p_by, pgmem.clean_text(p_reason, 'reason'), '{}');
  return row(v_node.id, v_node.status, null, null, null, '{}')::pgmem.card_decision;
end;
$$;
comment on function pgmem.archive_card is $$
Take an active, stale, historical or superseded card out of use.

A person calls this. A later report does not bring the card back.

card_id: The id of the card.
reason: Why, for the revision of the card; default none.

NotPermitted: the login is neither owner nor reviewer, or the card belongs to another tenant.
MemoryNotFound: no such card is visible here.
ContractError: the card is in another status.
InvalidArgument: by is empty.
$$;
select pgmem.declare_verb('archive_card', p_rights => 'reviewer', p_effect => 'repeat', p_answer => 'CardDecision',
  p_reach => 'caller');


select pgmem.declare_answer('card_vacuum', $$
The number of removed cards by status, of cards that remain to be removed, and of removed receipts.

removed {integer}, remaining integer, receipts integer
$$);

create or replace function pgmem.vacuum_cards(
  p_project_id text,
  p_dry_run boolean default false,
  p_limit integer default 500
) returns pgmem.card_vacuum
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.card_vacuum;
  v_caller pgmem.caller := pgmem.require_writer();
  v_scope  pgmem.scope_state;
  v_keys   bigint[];
  v_due    bigint[];
  v_days   integer := pgmem.setting_int('card_days_receipt');
  v_before timestamptz;
begin
  perform pgmem.require_reviewer('vacuum_cards');
  perform pgmem.integer_between('limit', p_limit, 1, 10000);
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  v_keys := pgmem.card_keys(v_caller, v_scope.project_seq);
  perform pgmem.lock_scopes(v_keys);
  select coalesce(array_agg(n.seq order by n.updated_at), '{}') into v_due
  from pgmem.setting s
  join pgmem.visible_node n on n.label = 'Card' and n.scope_key = any (v_keys)
    and n.tenant || '' = any (v_caller.tenants) and n.status = substr(s.name, length('card_days_') + 1)
  where s.name like 'card\_days\_%' and s.name <> 'card_days_receipt' and s.value::integer >= 0
    and n.updated_at < pgmem.now() - make_interval(days => s.value::integer);
  v_answer.remaining := greatest(0, cardinality(v_due) - case when p_dry_run then 0 else p_limit end);
  select coalesce(jsonb_object_agg(status, count), '{}') into v_answer.removed from (
    select n.status, count(*) from pgmem.visible_node n
    where n.seq = any (case when p_dry_run then v_due else v_due[1 : p_limit] end) group by n.status) c;
  if not p_dry_run then
    perform pgmem.delete_node(seq) from unnest(v_due[1 : p_limit]) as seq;
  end if;
  v_answer.receipts := 0;
  if v_days < 0 then
    return v_answer;
  end if;
  v_before := pgmem.now() - make_interval(days => v_days);
  if p_dry_run then
    v_answer.receipts := (
      select count(*) from pgmem.card_intent i
      where i.project_seq = v_scope.project_seq and i.tenant = any (v_caller.tenants) and i.finished_at < v_before);
    return v_answer;
  end if;
  delete from pgmem.card_intent i
  where i.project_seq = v_scope.project_seq and i.tenant = any (v_caller.tenants) and i.finished_at < v_before;
  get diagnostics v_answer.receipts = row_count;
  -- The last run stays: the sync policy compares the repository with it.
  delete from pgmem.card_run r
  where r.project_seq = v_scope.project_seq and r.tenant = any (v_caller.tenants) and r.created_at < v_before
    and exists (
      select from pgmem.card_run newer
      where newer.tenant = r.tenant and newer.project_seq = r.project_seq and newer.created_at > r.created_at);
  return v_answer;
end;
$$;
comment on function pgmem.vacuum_cards is $$
Remove a batch of the cards whose days in their state are over.

A person calls this, again while `remaining` is above 0. `removed` counts cards by status, `receipts`
counts finished intents that are older than `card_days_receipt`; records of runs go with those, except
the last one.

limit: How many cards at most, 1 to 10000; default 500.

ContractError: no such project.
InvalidArgument: limit is out of range.
$$;
select pgmem.declare_verb('vacuum_cards', p_rights => 'reviewer', p_effect => 'remove', p_answer => 'CardVacuum',
  p_reach => 'caller');


select pgmem.declare_answer('settled_branches', $$
The number of cards that are shared now, and of those that wait for another commit.

shared integer, moved integer
$$);

create or replace function pgmem.settle_branches(
  p_project_id text,
  p_settled pgmem.objects
) returns pgmem.settled_branches
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.settled_branches;
  v_caller pgmem.caller := pgmem.require_writer();
  v_scope  pgmem.scope_state;
  v_keys   bigint[];
  v_found  record;
begin
  perform pgmem.require_objects(p_settled, 'settled', '[{"branch": "…", "commit": "…", "now": "…"}]', 'PM010');
  if exists (select from jsonb_array_elements(p_settled) e
             where jsonb_typeof(e -> 'branch') is distinct from 'string'
               or coalesce(e ->> 'now', 'abcdef0') !~ '^[0-9a-f]{7,64}$') then
    raise exception using errcode = 'PM010', message = 'settled is a list of objects with branch, commit and now.';
  end if;
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  v_keys := pgmem.card_keys(v_caller, v_scope.project_seq);
  perform pgmem.lock_scopes(v_keys);
  v_answer.shared := 0; v_answer.moved := 0;
  for v_found in
    select row(n.*)::pgmem.node as card, s.now
    from pgmem.visible_node n
    join (select distinct on (branch, commit) *
          from jsonb_to_recordset(p_settled) as s(branch text, commit text, now text) order by branch, commit) s
      on s.branch = n.props ->> 'branch' and (s.commit is null or s.commit = n.props ->> 'branch_commit')
    where n.label = 'Card' and n.scope_key = any (v_keys) and n.tenant || '' = any (v_caller.tenants)
      and n.props ? 'branch'
    order by n.seq
  loop
    if v_found.now is null then
      perform pgmem.change_card(v_found.card, (v_found.card).status, '{"branch": null, "branch_commit": null}', 'share',
        pgmem.card_writer(v_caller), format('%s is in the default branch', (v_found.card).props ->> 'branch'));
      v_answer.shared := v_answer.shared + 1;
    else
      perform pgmem.change_card(v_found.card, (v_found.card).status, jsonb_build_object('branch_commit', v_found.now),
        'move', pgmem.card_writer(v_caller));
      v_answer.moved := v_answer.moved + 1;
    end if;
  end loop;
  return v_answer;
end;
$$;
comment on function pgmem.settle_branches is $$
Share the cards of branches whose commits are in the default branch.

pgmem calls this with the answer of git, before it refreshes cards and retrieves them; a person calls it for a branch
whose merge git cannot see, such as a squash. `shared` counts the cards that are shared now, `moved`
those that wait for another commit.

settled: Objects with branch, commit (the one that its cards wait for; without it, all cards of the branch) and now,
  the commit that they wait for from now on; without it they are shared.

ContractError: settled cannot be read; no such project.
$$;
select pgmem.declare_verb('settle_branches', p_rights => 'writer', p_effect => 'repeat', p_answer => 'SettledBranches');
