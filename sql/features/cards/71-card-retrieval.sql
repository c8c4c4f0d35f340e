-- Card retrieval
--
-- Cards that agents read before they edit. get_relevant_memory answers a scope (paths, symbols or an intent) with a digest
-- for each path, or with pages of the cards behind them, best first, each page at most cards_budget large. A request is
-- one JSON object: the first page builds it from the arguments, the continuation carries it with the offset, so the
-- pages of a list cannot differ in their question. It also carries the digest of the project's cards, and a continuation
-- is refused once that has changed.
--
-- query_engineering_memory looks cards up in other ways, and counts them.
--
-- Locks: none.


create or replace function pgmem.relevant_request(
  p_scope text[],
  p_symbols text[],
  p_intent_id uuid,
  p_cursor text
) returns jsonb
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_paths   text[] := '{}';
  v_symbols text[] := '{}';
  v_most    integer := pgmem.setting_int('max_intent_paths');
begin
  if num_nonnulls(p_scope, p_symbols, p_intent_id, p_cursor) = 0 then
    raise exception using errcode = 'PM010', message = 'get_relevant_memory requires scope, intent_id, or symbols. '
      'Use search_memory(labels=[Card]) for project orientation.';
  elsif num_nonnulls(p_scope, p_symbols, p_intent_id, p_cursor) > 1 then
    raise exception using errcode = 'PM010', message = 'Send one of scope, symbols, intent_id and cursor, not several.';
  elsif p_cursor is not null then
    return pgmem.read_cursor(p_cursor);
  elsif p_scope is not null then
    v_paths := pgmem.clean_paths(case when cardinality(p_scope) = 0 then '{""}' else p_scope end);
  elsif p_symbols is not null then
    v_symbols := array(select distinct btrim(s) from unnest(p_symbols) s where btrim(s) <> '' order by 1);
    if cardinality(v_symbols) not between 1 and v_most then
      raise exception using errcode = 'PM010', message = format('symbols takes 1 to %s dotted names.', v_most);
    end if;
  end if;
  return jsonb_build_object('paths', v_paths, 'symbols', v_symbols, 'from',
    case when p_scope is not null then 'explicit' when p_symbols is not null then 'symbols' else 'intent' end);
end;
$$;
comment on function pgmem.relevant_request is
  'The request for a first page, still without the paths of an intent, or the one that a continuation carries.';


create or replace function pgmem.relevant_page(
  p_request jsonb,
  p_tenants text[],
  p_project_seq bigint,
  p_budget integer,
  out records jsonb,
  out record_count integer,
  out total_count integer,
  out used integer
)
language plpgsql stable set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
begin
  with matched as materialized (
    select m.node_seq, m.score, count(*) over () as total
    from pgmem.card_match(p_tenants, p_project_seq,
      array(select jsonb_array_elements_text(p_request -> 'paths')),
      array(select jsonb_array_elements_text(p_request -> 'symbols')),
      array['active']
        || case when (p_request ->> 'drafts')::boolean then array['draft'] else '{}' end
        || case when (p_request ->> 'stale')::boolean then array['stale'] else '{}' end,
      p_request ->> 'branch') m
    order by m.score desc, m.node_seq desc
    limit (p_request ->> 'most')::integer offset (p_request ->> 'offset')::integer
  ), shown as (
    select m.total, m.score, m.node_seq,
           pgmem.card_json(row(n.*)::pgmem.node, m.score, p_request ->> 'detail' = 'full') as card
    from matched m join pgmem.visible_node n on n.seq = m.node_seq
  ), measured as (
    select s.*, row_number() over w as place, sum((octet_length(s.card::text) + 3) / 4) over w as used
    from shown s window w as (order by s.score desc, s.node_seq desc)
  )
  -- The first card is shown even if it alone exceeds the budget: else no continuation could go past it.
  select coalesce(jsonb_agg(card order by place) filter (where used <= p_budget or place = 1), '[]'),
         count(*) filter (where used <= p_budget or place = 1),
         coalesce(max(total), 0),
         coalesce(max(used) filter (where used <= p_budget or place = 1), 0)
  into records, record_count, total_count, used
  from measured;
end;
$$;
comment on function pgmem.relevant_page is
  'One page of the cards of a request, best first, as many as fit into the budget, and how many there are in all.';


create or replace function pgmem.card_kind(p_props jsonb, p_status text) returns text
language sql immutable parallel safe set search_path = pgmem, pg_temp as $$
  select case
    when p_status = 'draft' and p_props ->> 'facet' ~ '^rule:' then 'unproven_rule'
    when p_status = 'draft' then 'unproven'
    when p_props ? 'approved_by' then 'approved'
    when p_props ->> 'facet' ~ '^reason:' then 'why'
    when p_props ->> 'record_type' in ('architecture_decision', 'protocol_rule', 'contract_note') then 'decision'
    when p_props ->> 'facet' = 'cochange' then 'changes_with'
    when p_props ->> 'facet' in ('history', 'tests', 'owners', 'role') then p_props ->> 'facet'
    else 'risk' end;
$$;
comment on function pgmem.card_kind is 'The relation of a card to a file, in the word that a digest shows.';


create or replace function pgmem.path_digest(
  p_tenants text[],
  p_project_seq bigint,
  p_path text,
  p_symbol text,
  p_request jsonb
) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  with matched as materialized (
    select m.node_seq, m.score from pgmem.card_match(p_tenants, p_project_seq,
      case when p_path is null then '{}' else array[p_path, '.'] end,
      case when p_symbol is null then '{}' else array[p_symbol] end, array['active', 'draft', 'stale'],
      p_request ->> 'branch') m
  ), shown as (
    select n.id, n.seq, n.status, n.props, m.score, pgmem.said_by(n.source, n.trust_level) as by, pgmem.card_kind(n.props, n.status) as kind,
      -- A scan's card is about its own file; a decision or a rule also about the files that it names, or below them.
      n.props ->> 'origin' <> 'system' or n.props ? 'approved_by' or p_path is null or n.props ->> 'path' = p_path
        or n.props ->> 'record_type' = 'architecture_decision'
        -- One rule of a guide of the whole repository is enough, which all files have, and one that speaks of code.
        or n.props ->> 'facet' ~ '^rule:'
          and (scope.depth > 0 or scope.depth = 0 and n.props ->> 'statement' ~ '`|\w_\w|\w\(\)|\w/\w+[/.]\w') as fits,
      scope.depth,
      n.status = 'stale' and not n.props ? 'approved_by' and not (p_request ->> 'stale')::boolean as is_stale,
      n.status = 'draft' and not (p_request ->> 'drafts')::boolean as is_draft
    from matched m join pgmem.visible_node n on n.seq = m.node_seq
    cross join lateral (
      select max(length(s)) as depth
      from jsonb_array_elements_text(n.props -> 'details' -> 'scopes') s
      where s in ('', p_path) or starts_with(p_path, s || '/')) scope
  ), ranked as (
    -- The rule of the nearest folder comes first, and of people's decisions the later.
    select t.*, row_number() over (partition by t.kind order by (t.props ->> 'path' = p_path) desc nulls last,
      t.depth desc nulls last, (t.props -> 'details' ->> 'at')::bigint desc nulls last,
      case when t.kind in ('approved', 'decision') then t.seq end desc nulls last,
      t.score desc, t.seq desc) as place
    from shown t where t.fits and not t.is_stale and not t.is_draft
  ), limited as (
    select r.*, array_position(array['approved', 'decision', 'history', 'why', 'changes_with', 'tests',
        'unproven_rule', 'owners', 'risk', 'role', 'unproven'], r.kind) as rank,
      case r.kind when 'why' then 650 when 'history' then 600 else 400 end as most
    from ranked r
    where r.place <= case r.kind when 'approved' then 5 when 'decision' then 3
      when 'risk' then 3 when 'unproven' then 2 when 'why' then 2 when 'unproven_rule' then 2 else 1 end
      and (r.kind <> 'unproven_rule' or r.place = 1 or r.depth > 0)
    order by rank, r.place limit (p_request ->> 'most')::integer
  )
  select jsonb_build_object('path', coalesce(p_path, p_symbol), 'cards', coalesce((
      select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('id', left(l.id::text, 8), 'kind', l.kind,
        'statement', case when length(l.props ->> 'statement') > l.most
                     then left(l.props ->> 'statement', l.most - 1) || '…'
                     else l.props ->> 'statement' end,
        'statement_length', case when length(l.props ->> 'statement') > l.most then length(l.props ->> 'statement') end,
        'stale', case when l.status = 'stale' then l.props ->> 'stale_reason' end,
        'by', nullif(l.by, 'agent'))) order by l.rank, l.place)
      from limited l), '[]'))
    || jsonb_strip_nulls(jsonb_build_object(
      'more', nullif((select count(*) from ranked) - (select count(*) from limited), 0),
      'hidden_stale', nullif((select count(*) from shown where is_stale and fits), 0),
      'hidden_drafts', nullif((select count(*) from shown where is_draft and fits), 0)));
$$;
comment on function pgmem.path_digest is
  'The memory of one path or symbol: the best cards of each kind, and how many more there are and are hidden.';


create or replace function pgmem.digest_page(
  p_request jsonb,
  p_tenants text[],
  p_project_seq bigint,
  p_budget integer,
  out digests jsonb,
  out shown integer,
  out total integer,
  out used integer
)
language plpgsql stable set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_asked   jsonb := (p_request -> 'paths') || (p_request -> 'symbols');
  v_paths   integer := jsonb_array_length(p_request -> 'paths');
  v_place   integer := (p_request ->> 'offset')::integer;
  v_digest  jsonb;
  v_size    integer;
begin
  digests := '[]'; shown := 0; used := 0;
  total := jsonb_array_length(v_asked);
  while v_place < total loop
    v_digest := case when v_place < v_paths
      then pgmem.path_digest(p_tenants, p_project_seq, v_asked ->> v_place, null, p_request)
      else pgmem.path_digest(p_tenants, p_project_seq, null, v_asked ->> v_place, p_request) end;
    v_size := (octet_length(v_digest::text) + 3) / 4;
    -- The first digest is shown even if it alone exceeds the budget: else no continuation could go past it.
    exit when shown > 0 and used + v_size > p_budget;
    digests := digests || v_digest;
    used := used + v_size;
    shown := shown + 1;
    v_place := v_place + 1;
  end loop;
end;
$$;
comment on function pgmem.digest_page is
  'One page of the digests of a request, one for each path or symbol, as many as fit into the budget.';


select pgmem.declare_answer('digest_card', $$
A card in short; stale says why it may be outdated.

id text, kind text, statement text, stale text?
statement_length integer?: The length of all of a statement that is cut.
by person|agent?: person: a person said it; unset: an agent or a program did, also where a person approved it.
$$);

select pgmem.declare_answer('path_digest', $$
Cards of one path or symbol, best first.

path text, cards digest_card[] = {}, more integer?, hidden_stale integer?, hidden_drafts integer?
$$);

select pgmem.declare_answer('card_subject_answer', $$
The subject of a card: a path, symbol, module, test or document.

class CardSubject
kind text, key text, relation text
$$);

select pgmem.declare_answer('card_answer', $$
A card; the fields from `origin` on are those of detail_level full.

class Card
id uuid, type text, status text, confidence text?, approved boolean = false, statement text, statement_length integer
statement_truncated boolean = false, subjects card_subject_answer[] = {}, subject_count integer = 0
evidence_count integer = 0, relevance_score float8?, retrieval_lane text?, stale_reason text?, branch text?
relations {uuid[]}?, origin text?, ingest_source text?, path text?, approved_by text?, approved_at timestamptz?
rejected_by text?, rejection text?, contradiction text?, payload object?, created_at timestamptz?
updated_at timestamptz?, version integer?, evidence card_evidence[]?
$$);

select pgmem.declare_answer('record_coverage', $$
How many paths of a scope have an active card.

scope_paths_with_memory integer, scope_paths_total integer, coverage_percent float8, coverage_kind text
$$);

select pgmem.declare_answer('observation_confidence', $$
Whether there is evidence; it says nothing about correctness.

level text, basis text[], note text
$$);

select pgmem.declare_answer('path_coverage', $$
Whether an active card has a path, or something below it, as its subject.

path text, covered boolean
$$);

select pgmem.declare_answer('coverage', $$
How much engineering memory knows about a scope.

record_coverage record_coverage, observation_confidence observation_confidence, paths path_coverage[]?
$$);

select pgmem.declare_answer('answer_budget', $$
The budget of an answer, and how much of it the cards use.

budget integer, used integer, unit text
$$);

select pgmem.declare_answer('waiting_branch', $$
A branch with its own cards, and the commit after which they are shared; ^ID: any that follows ID.

branch text, commit text
$$);

select pgmem.declare_answer('cards_sync', $$
Whether a project has engineering memory, its last run, and what the sync policy did.

policy text, state ready|missing, last_run_id uuid?, last_run_at timestamptz?, fingerprint text?, commit text?
waiting waiting_branch[]?, auto text?, reason text?
$$);

select pgmem.declare_answer('relevant_memory', $$
Knowledge of a scope: digests, or a page of cards.

project_id text, scope_resolved_from text, digests path_digest[]?, records card_answer[]?, record_count integer?
total_count integer?, truncated boolean, continuation text?, coverage coverage?, detail_level text
retrieval_policy {boolean}, context_governance answer_budget?, memory_sync cards_sync
$$);

create or replace function pgmem.get_relevant_memory(
  p_project_id text,
  p_scope text[] default null,
  p_symbols text[] default null,
  p_intent_id uuid default null,
  p_max_records pgmem.max_records default 20,
  p_include_stale boolean default false,
  p_include_drafts boolean default true,
  p_detail_level pgmem.detail_level default 'compact',
  p_cursor text default null,
  p_branch text default null
) returns pgmem.relevant_memory
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer  pgmem.relevant_memory;
  v_caller  pgmem.caller := pgmem.caller();
  v_scope   pgmem.scope_state;
  v_request jsonb;
  v_state   text;
  v_paths   text[];
  v_budget  integer := pgmem.setting_int('cards_budget');
  v_page    record;
begin
  -- The arguments are checked before the store is: a scope that cannot be right is refused in an empty project too.
  v_request := pgmem.relevant_request(p_scope, p_symbols, p_intent_id, p_cursor);
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  v_state := pgmem.cards_digest(v_caller.tenants, v_scope.project_seq);
  v_answer.memory_sync := pgmem.cards_sync(v_caller.tenants, v_scope.project_seq);
  if p_cursor is not null then
    if v_request ->> 'project' <> v_scope.project_seq::text then
      raise exception using errcode = 'PM010', message = 'snapshot_mismatch: project_identity_mismatch. '
        'This cursor belongs to another project; start again without cursor.';
    elsif v_request ->> 'state' <> v_state then
      raise exception using errcode = 'PM010', message = 'snapshot_mismatch: memory_projection_changed. '
        'Cards of the project changed since the first page; start again without cursor.';
    end if;
  else
    if v_answer.memory_sync ->> 'state' = 'missing' then
      raise exception using errcode = 'PM010',
        message = format('Project %s has no engineering memory yet (sync policy %s). '
          'A person makes it by pgmem cards init; an agent with the toolset cards by manage_engineering_memory, action refresh_from_run.',
          v_scope.project_id, v_answer.memory_sync ->> 'policy');
    end if;
    if p_intent_id is not null then
      select i.paths into v_paths from pgmem.card_intent i
      where i.id = p_intent_id and i.project_seq = v_scope.project_seq and i.tenant = any (v_caller.tenants);
      if not found then
        raise exception using errcode = 'PM002',
          message = format('No intent %s is declared in this project; call declare_intent first.', p_intent_id);
      end if;
      v_request := v_request || jsonb_build_object('paths', v_paths);
    end if;
    v_request := v_request || jsonb_build_object('project', v_scope.project_seq::text, 'state', v_state, 'offset', 0,
      'most', p_max_records, 'stale', coalesce(p_include_stale, false), 'drafts', coalesce(p_include_drafts, true),
      'detail', case when p_detail_level = 'full' then 'full' else 'compact' end, 'branch', p_branch);
  end if;

  v_answer.project_id := v_scope.project_id;
  v_answer.scope_resolved_from := v_request ->> 'from';
  v_answer.detail_level := v_request ->> 'detail';
  v_answer.retrieval_policy := '{"memory_does_not_authorize_edits": true, "risk_notes_are_informational": true}';
  v_answer.coverage := (pgmem.scope_coverage(v_caller.tenants, pgmem.card_keys(v_caller, v_scope.project_seq),
    array(select jsonb_array_elements_text(v_request -> 'paths')),
    array(select jsonb_array_elements_text(v_request -> 'symbols')), v_request ->> 'branch')).coverage;
  if v_answer.detail_level = 'compact' then
    v_page := pgmem.digest_page(v_request, v_caller.tenants, v_scope.project_seq, v_budget);
    v_answer.digests := v_page.digests;
    v_answer.record_count := (select coalesce(sum(jsonb_array_length(d.value -> 'cards')), 0)
                              from jsonb_array_elements(v_page.digests) d);
    v_answer.context_governance := jsonb_build_object('budget', v_budget, 'used', v_page.used, 'unit', 'utf8_bytes/4');
    v_answer.truncated := (v_request ->> 'offset')::integer + v_page.shown < v_page.total;
    if v_answer.truncated then
      v_answer.continuation := pgmem.write_cursor(
        v_request || jsonb_build_object('offset', (v_request ->> 'offset')::integer + v_page.shown));
    end if;
    v_answer.memory_sync := v_answer.memory_sync - '{fingerprint,last_run_id,last_run_at,commit}'::text[];
    return v_answer;
  end if;
  v_page := pgmem.relevant_page(v_request, v_caller.tenants, v_scope.project_seq, v_budget);
  v_answer.records := v_page.records;
  v_answer.record_count := v_page.record_count;
  v_answer.total_count := v_page.total_count;
  v_answer.truncated := (v_request ->> 'offset')::integer + v_answer.record_count < v_answer.total_count;
  if v_answer.truncated then
    v_answer.continuation := pgmem.write_cursor(
      v_request || jsonb_build_object('offset', (v_request ->> 'offset')::integer + v_answer.record_count));
  end if;
  v_answer.retrieval_policy := jsonb_build_object(
    'memory_does_not_authorize_edits', true, 'risk_notes_are_informational', true,
    'drafts_included', (v_request ->> 'drafts')::boolean, 'stale_included', (v_request ->> 'stale')::boolean);
  v_answer.context_governance := jsonb_build_object('budget', v_budget, 'used', v_page.used, 'unit', 'utf8_bytes/4');
  return v_answer;
end;
$$;
comment on function pgmem.get_relevant_memory is $$
Return the memory of some paths, symbols or an intent before they are changed.

Send exactly one of scope, symbols, intent_id and cursor. The compact answer is one digest for each
path, best first: approved cards, decisions, reverts and reasons of changes, its companions,
its tests, the rules of its folder, its owners, risks, unproven claims. The full answer is the list of the cards behind
it. Where this process has a repository (`PGMEM_REPOSITORY`), the sync policy may read the repository
first. A page holds at least one digest or card and otherwise as many as fit into `cards_budget`.

scope: Paths in the repository, 1 to 50.
symbols: Dotted names, 1 to 50; such as pkg.module.function.
intent_id: The id from declare_intent; its paths are the scope.
max_records: How many a page, or a digest, holds, 1 to 100; default 20.
include_stale: Stale cards too; default false.
include_drafts: Drafts too; default true.
detail_level: Digests or cards; compact (the default) or full; summary and normal mean compact.
cursor: Continuation of the page before; it brings its own scope and options.
branch: The branch whose cards are seen beside the shared ones; * is all; default that of the repository.

ContractError: none or several of scope, symbols, intent_id and cursor; a path outside the repository;
  no such project; no engineering memory yet; a continuation that no longer holds.
MemoryNotFound: no such intent is declared in the project.
$$;
select pgmem.declare_verb('get_relevant_memory', p_rights => 'reader', p_effect => 'repeat',
  p_answer => 'RelevantMemory', p_patience => 'answer', p_toolset => 'cards', p_hidden => '{branch}',
  p_description =>
    'Call this before you edit, with one of scope, symbols or intent_id. Cards inform, they authorise no edit.');


create or replace function pgmem.query_statuses(
  p_mode text,
  p_filters jsonb,
  p_include_stale boolean,
  p_include_drafts boolean
) returns text[]
language sql immutable set search_path = pgmem, pg_temp as $$
  select case
    when p_filters ? 'statuses' then array(select jsonb_array_elements_text(p_filters -> 'statuses'))
    when p_mode = 'stale' then array['stale']
    when p_mode = 'drafts' then array['draft']
    else array['active']
      || case when coalesce(p_include_drafts, p_mode <> 'search') then array['draft'] else '{}' end
      || case when p_include_stale then array['stale'] else '{}' end end;
$$;
comment on function pgmem.query_statuses is
  'The statuses a query looks for: those of its filter, else those of its mode and the include arguments.';


create or replace function pgmem.card_by_id(p_id text, p_tenants text[], p_keys bigint[]) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_found pgmem.node[];
begin
  if p_id !~* '^[0-9a-f]{8}[0-9a-f-]{0,28}$' then
    raise exception using errcode = 'PM010',
      message = format('%s is not the id of a card; send all of it or its first 8 letters.', quote_literal(left(p_id, 80)));
  end if;
  select array_agg(row(n.*)::pgmem.node) into v_found from (
    select n.* from pgmem.node n
    where n.label = 'Card' and n.scope_key = any (p_keys) and n.tenant || '' = any (p_tenants)
      and n.id >= rpad(lower(p_id), 36, substr('00000000-0000-0000-0000-000000000000', length(p_id) + 1))::uuid
      and n.id <= rpad(lower(p_id), 36, substr('ffffffff-ffff-ffff-ffff-ffffffffffff', length(p_id) + 1))::uuid
    limit 2) n;
  if cardinality(v_found) > 1 then
    raise exception using errcode = 'PM010',
      message = format('Several cards begin with %s; send more of the id.', quote_literal(p_id));
  end if;
  return v_found[1];
end;
$$;
comment on function pgmem.card_by_id is
  'The card with an id, or with an id that begins so; none if there is none, an error if there are several.';


create or replace function pgmem.card_with_revisions(p_node pgmem.node) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select jsonb_build_object('record', pgmem.card_json(p_node, null, true), 'revisions',
    coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('action', r.action, 'from_status', r.from_status,
      'to_status', r.to_status, 'by', r.by, 'reason', r.reason, 'version', r.version, 'at', r.created_at))
      order by r.seq), '[]'))
  from pgmem.card_revision r where r.node_seq = p_node.seq;
$$;
comment on function pgmem.card_with_revisions is 'A card in full with its revisions, oldest first.';


select pgmem.declare_answer('card_revision_answer', $$
A change of a card: the action, its author and its reason.

class CardRevision
action text, from_status text?, to_status text?, by text?, reason text?, version integer?, at timestamptz
$$);

select pgmem.declare_answer('trajectory', $$
One piece of work on one line: day, intent, files, verification, outcome, commit.

id uuid, line text, at timestamptz, outcome text, commit text?
$$);

select pgmem.declare_answer('memory_payload', $$
The result of a query of engineering memory; each mode sets other fields.

search, for_path, for_symbol, stale and drafts set records and their counts; get sets record and revisions; coverage
sets the coverage of paths; status sets record_count, the counts by type and status, those of the cards of other
branches, and the capacity; trajectories sets trajectories and their counts.

records card_answer[]?, record_count integer?, total_count integer?, truncated boolean?, record card_answer?
revisions card_revision_answer[]?, message text?, record_coverage record_coverage?
observation_confidence observation_confidence?, paths path_coverage[]?, trajectories trajectory[]?, project_id text?
records_by_type {integer}?, records_by_status {integer}?, records_elsewhere integer?, capacity {integer}?
sync cards_sync?
$$);

select pgmem.declare_answer('memory_answer', $$
The answer to a query of engineering memory.

mode text, status ok|not_found, detail_level text, payload memory_payload
$$);

create or replace function pgmem.query_engineering_memory(
  p_project_id text,
  p_mode text,
  p_record_id text default null,
  p_path text default null,
  p_symbol text default null,
  p_query text default null,
  p_scope text[] default null,
  p_filters jsonb default '{}',
  p_max_results pgmem.max_results default 20,
  p_include_stale boolean default false,
  p_include_drafts boolean default null,
  p_detail_level pgmem.detail_level default 'compact',
  p_embedding real[] default null,
  p_embedding_model text default null,
  p_branch text default null
) returns pgmem.memory_answer
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer   pgmem.memory_answer;
  v_caller   pgmem.caller := pgmem.caller();
  v_scope    pgmem.scope_state;
  v_keys     bigint[];
  v_statuses text[];
  v_types    text[];
  v_confid   text[];
  v_node     pgmem.node;
  v_covered  record;
begin
  v_answer.mode := pgmem.require_word(p_mode,
    array['search', 'get', 'for_path', 'for_symbol', 'stale', 'drafts', 'coverage', 'status', 'trajectories'],
    'Unknown query mode ''%s''. Allowed: %s.');
  v_answer.detail_level := case when p_mode = 'get' or p_detail_level = 'full' then 'full' else 'compact' end;
  perform pgmem.check_filters(p_filters);
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  v_keys := pgmem.card_keys(v_caller, v_scope.project_seq);
  v_answer.status := 'ok';

  if p_mode = 'get' then
    if p_record_id is null then
      raise exception using errcode = 'PM010', message = 'mode=get requires record_id.';
    end if;
    v_node := pgmem.card_by_id(p_record_id, v_caller.tenants, v_keys);
    if v_node.seq is null then
      v_answer.status := 'not_found';
      v_answer.payload := jsonb_build_object('message', format('Memory record not found: %s', p_record_id));
    else
      v_answer.payload := pgmem.card_with_revisions(v_node);
    end if;
    return v_answer;
  elsif p_mode = 'status' then
    v_answer.payload := pgmem.card_counts(v_caller.tenants, v_keys, p_branch) || jsonb_build_object(
      'project_id', v_scope.project_id,
      'sync', pgmem.cards_sync(v_caller.tenants, v_scope.project_seq) || jsonb_strip_nulls(jsonb_build_object(
        'waiting', (
          select jsonb_agg(distinct jsonb_build_object('branch', n.props -> 'branch', 'commit',
            n.props -> 'branch_commit'))
          from pgmem.node n
          where n.label = 'Card' and n.scope_key = any (v_keys) and n.tenant || '' = any (v_caller.tenants)
            and n.props ? 'branch'))));
    return v_answer;
  elsif p_mode = 'trajectories' then
    v_answer.payload := pgmem.find_trajectories(v_caller.tenants, v_scope,
      case when btrim(p_path) <> '' then pgmem.clean_path(p_path) end,
      pgmem.clean_text(p_query, 'query'), p_embedding, p_embedding_model, p_max_results);
    if v_answer.payload -> 'trajectories' = '[]' then
      v_answer.status := 'not_found';
    end if;
    return v_answer;
  elsif p_mode = 'coverage' then
    if coalesce(cardinality(p_scope), 0) = 0 then
      raise exception using errcode = 'PM010',
        message = 'mode=coverage requires one or more repo-relative scope paths.';
    end if;
    select * into v_covered
    from pgmem.scope_coverage(v_caller.tenants, v_keys, pgmem.clean_paths(p_scope), '{}', p_branch);
    v_answer.payload := v_covered.coverage || jsonb_build_object('paths', v_covered.paths);
    return v_answer;
  end if;

  if p_mode = 'for_path' and btrim(coalesce(p_path, '')) = '' then
    raise exception using errcode = 'PM010', message = 'mode=for_path requires path.';
  elsif p_mode = 'for_symbol' and btrim(coalesce(p_symbol, '')) = '' then
    raise exception using errcode = 'PM010', message = 'mode=for_symbol requires symbol.';
  elsif p_mode = 'search' and pgmem.clean_text(p_query, 'query') is null then
    raise exception using errcode = 'PM010', message = 'mode=search requires query.';
  end if;
  v_statuses := pgmem.query_statuses(p_mode, p_filters, p_include_stale, p_include_drafts);
  v_types := array(select jsonb_array_elements_text(p_filters -> 'types'));
  v_confid := array(select jsonb_array_elements_text(p_filters -> 'confidences'));
  with matched as materialized (
    select found.node_seq, found.score, count(*) over () as total
    from pgmem.find_cards(p_mode, v_caller.tenants, v_scope,
      case when p_mode = 'for_path' then pgmem.clean_path(p_path) end, btrim(p_symbol), p_query,
      coalesce(p_filters ->> 'match_mode', 'any'), v_statuses, p_branch) found
    join pgmem.visible_node n on n.seq = found.node_seq
    where (v_types = '{}' or n.props ->> 'record_type' = any (v_types))
      and (v_confid = '{}' or n.props ->> 'confidence' = any (v_confid))
    order by found.score desc nulls last, found.node_seq desc limit p_max_results
  )
  select jsonb_build_object(
    'records', coalesce(jsonb_agg(pgmem.card_json(row(n.*)::pgmem.node,
      case when p_mode not in ('stale', 'drafts') then m.score end, v_answer.detail_level = 'full')
      order by m.score desc nulls last, m.node_seq desc), '[]'),
    'record_count', count(*),
    'total_count', coalesce(max(m.total), 0),
    'truncated', coalesce(max(m.total), 0) > count(*))
  into v_answer.payload from matched m join pgmem.visible_node n on n.seq = m.node_seq;
  if v_answer.payload -> 'records' = '[]' then
    v_answer.status := 'not_found';
  end if;
  return v_answer;
end;
$$;
comment on function pgmem.query_engineering_memory is $$
Look cards up by id, path, symbol, words or state, or count them.

The modes are search (query), get (record_id), for_path (path), for_symbol (symbol), stale, drafts,
coverage (scope), status and trajectories (path or query): earlier pieces of work, one line each.
`payload` holds records with their counts, a record with its revisions, the coverage, the
numbers of the project, or trajectories.

mode: search, get, for_path, for_symbol, stale, drafts, coverage, status or trajectories.
record_id: For get; the card, by 8 or more letters of its id.
path: For for_path; for trajectories too; relative to the repository.
symbol: For for_symbol; a dotted name.
query: For search; for trajectories too; words.
scope: For coverage; paths relative to the repository.
filters: Only such cards; lists of types, statuses and confidences, and match_mode any (the default) or all;
  default: none.
max_results: How many at most, 1 to 100; default 20.
include_stale: Stale cards too; in search, for_path and for_symbol; default false.
include_drafts: Drafts too; unset: for_path and for_symbol do, search does not.
detail_level: How much of each card; compact (the default) or full; get always answers in full.
branch: The branch whose cards are seen beside the shared ones; * is all; default that of the repository.

ContractError: an unknown mode or filter, with those allowed; the argument of the mode is missing;
  no such project.
$$;
select pgmem.declare_verb('query_engineering_memory', p_rights => 'reader', p_effect => 'read',
  p_answer => 'MemoryAnswer', p_patience => 'answer', p_toolset => 'cards', p_hidden => '{branch}',
  p_description =>
    'Look cards about the code up by id, path, symbol, words or state, or count them.');
