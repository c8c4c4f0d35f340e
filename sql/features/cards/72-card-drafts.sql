-- Card drafts
--
-- How agents and people propose cards. A draft is one statement about one file; it waits for a person
-- (76-card-decisions). The digest of the symbols that it names, else of the file, as the last run saw them becomes
-- evidence: it anchors the card, so that a later change there makes the card stale. A draft that repeats a live card is
-- not stored; one that repeats a rejected card is, and names it. The receipt of a finished change gives several drafts,
-- all of them or none.
--
-- validate_claims finds sentences by which a text gives memory, or an agent, a permission that only a person can
-- give: by rules over subject, verb, object and negation.
--
-- Locks: the scope lock of the cards, before duplicates and capacity are looked at, so that neither can change
-- meanwhile.


-- A claim is a subject (memory, a card, an agent), a verb of permission, an object, and no negation that reaches them.
-- A rule is these in their order, made of the words below; between them are only words that the rule names.
create or replace function pgmem.claimed_permissions(p_text text) returns text[]
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  -- A word may hold those after it.
  v_words constant text[] := array[
    '{BASIS}', '(because|because of|since|as|thanks to|according to|as per|per|based on|given|due to|with|under|by|'
      'after|via|on the (strength|basis|word) of|as (recorded|noted|documented|written) (in|by|on))\W+'
      '((the|an?|this|that|what|our|its|your|approved|active|engineering|memory)\W+){0,3}{SOURCE}',
    '{SAYS}', '(says?|said|states?|stated|confirms?|indicates?|shows?|documents?|implies|tells? \w+)\W+(that\W+)?',  -- words: as is
    '{SOURCE}', '(memory|cards?|(risk|contract|contradiction|human)[ _]notes?|'
      '(change|module|test)[ _](rationales?|roles?|anchors?))(\W+[0-9a-f]{8}(-[0-9a-f-]+)?)?',
    '{AGENT}', '(mcp|agents?|assistants?|copilot|claude|codex|bots?)',
    '{MAY}', '((you|we|one|i|they|agents?|anyone|it)( now)?( may| can| could|( are| is|''re)( now)? (free|allowed|'
      'permitted|cleared|entitled) to)|feel free to|can be|may be|(is|it''s) (now )?(safe|fine|ok|okay|all right|allowed|permitted) '
      'to|go ahead and|FREE)\W+{ADVERB}',
    '{FINE}', '(is|are)\W+(now\W+)?(fine|ok|okay|safe|all right|allowed|permitted)',
    '{ADVERB}', '((can|may|will|would|could|might|does|do|is|are|was|were|has|have|been|be|also|now|already|then|here|'
      'itself|themselves|able|free|to|allowed|permitted|counts? as|considered|deemed|treated as|\w+ly)\W+){0,4}',
    '{ANY}', '((?!(NOT|by|who|which|that)\M)\w+\W+){0,4}?',
    '{GRANT}', '(allow(s|ed)?|permit(s|ted)?|authori[sz]e[sd]?|grant(s|ed)?|lets?|entitle[sd]?|empower(s|ed)?)',  -- words: as is
    '{GRANTED}', '(allowed|permitted|authori[sz]ed|granted|approved|sanctioned|licensed)',
    '{GIVE}', '(gives?|gave|given|grants?|granted|means?|is|confers?|carries|provides?|amounts to|counts as|serves as)',
    '{LICENCE}', '(permissions?|clearance|licen[cs]e|authori[sz]ation|authority|right|approval|consent|go-ahead)',
    '{ACT}', '(edit(s|ing|ed)?|chang(e|es|ing|ed)|modif(y|ies|ied|ying)|(re|over)?writ(e|es|ing)|delet(e|es|ing|ed)|'
      'remov(e|es|ing|ed)|touch(es|ing|ed)?|refactor(s|ing|ed)?)',
    '{AVOID}', '(skip(s|ped|ping)?|bypass(es|ed|ing)?|ignor(e|es|ed|ing)|waiv(e|es|ed|ing)|dismiss(es|ed|ing)?|'
      'clear(s|ed|ing)?|clos(e|es|ed|ing)|resolv(e|es|ed|ing)|overrid(e|es|den|ing)|overrul(e|es|ed|ing)|'
      'disregard(s|ed|ing)?|drop(s|ped|ping)?|replac(e|es|ed|ing)|suppress(es|ed|ing)?|run)',
    '{FINDING}', '(findings?|warnings?|alerts?)',
    '{CHECK}', '(verification|reviews?|tests?|checks?|approvals?)',
    '{NEEDLESS}', '((is|are)\W+)?(NOT\W+(needed|required|necessary|due)|optional|unnecessary|waived|superfluous|redundant)',
    '{EXPAND}', '(expand(s|ed|ing)?|widen(s|ed|ing)?|extend(s|ed|ing)?|enlarg(e|es|ed|ing)|broaden(s|ed|ing)?)',
    '{DECIDE}', '(approv(e|es|ed|ing)|activat(e|es|ed|ing)|promot(e|es|ed|ing)|reject(s|ed|ing)?|archiv(e|es|ed|ing))',
    '{RECORD}', '(cards?|drafts?|candidates?|memory|memories|records?|notes?|policy|policies|rules?|itself)'];
  v_text  text := regexp_replace(lower(p_text), '[’‘]', '''', 'g');
  v_found text[];
begin
  -- Memory of a machine, cards of another kind, and a person's acts in a view say nothing of memory.
  v_text := regexp_replace(v_text, '\m(low|virtual|shared|main|physical|heap|stack|out of|credit|graphics?|video|'
    'network|sd|sim|business)[ -](memory|cards?)\M|\mmemory[ -](mapped|limits?|use|usage|leaks?|size|pools?|view|page|'
    'panel)\M|\muser[ -]agents?\M|\m(merge|pull) requests?\M|\mprs?\M', 'thing', 'g');
  -- "Not only" means yes; "no need to" and "no reason not to" are permissions, and so is a check that is not needed.
  v_text := regexp_replace(v_text,
    '(\m(is|are|do|does|did)\s+not|\mnot|\m(is|are|do|does|did)n''t)\s+(only|just|merely|simply)\M', '', 'g');
  v_text := regexp_replace(v_text, '\mno reason not to\M|\mno need (to|for)\M|\mneed not\M|'
    '\m(do|does)( not|n''t) (need|have) to\M|\mno(?=( \w+)? (verification|reviews?|tests?|checks?|approvals?)( is| '
    'are)? (needed|required|necessary|due)\M)', 'FREE', 'g');
  v_text := regexp_replace(v_text, '[;:.,]\s+(?=((the|our)\s+)?(memory|cards?)\s+(says? so'
    '|lists?|mentions?|names?|shows?|confirms?)\M)', ', because ', 'g');
  v_text := regexp_replace(v_text, '\m(cannot|\w+n''t|not|never|no|none|neither|nor|nobody|without)\M', 'NOT', 'g');
  -- Each rule speaks of memory, a card or an agent, and to compile the rules takes longer than all else of a save.
  if v_text !~ concat_ws('|', v_words[array_position(v_words, '{SOURCE}') + 1],
                              v_words[array_position(v_words, '{AGENT}') + 1]) then
    return '{}';
  end if;

  with recursive rule(label, reach, form) as (values
    ('permission to edit', 'clause', '{SOURCE}\W+{ADVERB}{GRANT}\W+{ANY}({ACT}|{LICENCE})'),
    ('permission to edit', 'clause', '{SOURCE}\W+{ADVERB}{GRANT}\W+(it|this|that|so)\W*$'),
    ('permission to edit', 'sentence',
     '{SOURCE}\W+(((?!NOT\M)\w+\W+){0,3}(it|this|that)\W+)?{ADVERB}{GIVE}\W+{ANY}{LICENCE}\W+(to|for)\W+{ACT}'),
    ('permission to edit', 'clause',
     '{LICENCE}\W+(to|for)\W+{ACT}\W+{ANY}(from|by|in)\W+((the|an?|our)\W+)?{SOURCE}'),
    ('permission to edit', 'sentence', '{ACT}\W+{ANY}{GRANTED}\W+{ANY}{BASIS}'),
    ('permission to edit', 'sentence', '{BASIS}\M.*\m{MAY}{ACT}'),
    ('permission to edit', 'sentence', '{MAY}{ACT}\M.*\m{BASIS}'),
    ('permission to edit', 'sentence', '{BASIS}\M.*\m{ACT}\W+{ANY}{FINE}'),
    ('permission to edit', 'sentence', '{ACT}\W+{ANY}{FINE}\M.*\m{BASIS}'),
    ('permission to edit', 'clause',
     '{SOURCE}\W+{ADVERB}{SAYS}{ANY}{MAY}{ACT}'),
    ('overriding findings', 'clause', '{SOURCE}\W+{ADVERB}(overrides?|overrode|overridden|overrul(e|es|ed))'),
    ('clearing findings', 'clause', '{SOURCE}\W+{ADVERB}({GRANT}\W+{ANY})?{AVOID}\W+{ANY}{FINDING}'),
    ('clearing findings', 'sentence', '{FINDING}\W+{ADVERB}{AVOID}\W+{ANY}{BASIS}'),
    ('clearing findings', 'sentence', '{BASIS}\M.*\m{FINDING}\W+{ADVERB}{AVOID}'),
    ('clearing findings', 'sentence', '{BASIS}\M.*\m{MAY}{AVOID}\W+{ANY}{FINDING}'),
    ('a wider scope', 'clause', '{SOURCE}\W+{ADVERB}({GRANT}\W+{ANY})?{EXPAND}\W+{ANY}scope'),
    ('a wider scope', 'sentence', '{BASIS}\M.*\mscope\W+{ADVERB}{EXPAND}'),
    ('a wider scope', 'sentence', '{BASIS}\M.*\m{MAY}{EXPAND}\W+{ANY}scope'),
    ('a wider scope', 'sentence', '{MAY}{EXPAND}\W+{ANY}scope\M.*\m{BASIS}'),
    ('a wider scope', 'sentence', 'scope\W+{ADVERB}{EXPAND}\W+{ANY}{BASIS}'),
    ('skipping verification', 'clause', '{SOURCE}\W+{ADVERB}({GRANT}\W+{ANY})?{AVOID}\W+{ANY}{CHECK}'),
    ('skipping verification', 'sentence',
     '{BASIS}\M.*\m({MAY}{AVOID}\W+{ANY}{CHECK}|{CHECK}\W+{MAY}{AVOID}|FREE\W+{ANY}{CHECK})'),
    ('skipping verification', 'sentence',
     '({MAY}{AVOID}\W+{ANY}{CHECK}|{CHECK}\W+{MAY}{AVOID}|FREE\W+{ANY}{CHECK})\M.*\m{BASIS}'),
    ('skipping verification', 'clause',
     '{SOURCE}\W+{ADVERB}({SAYS}(FREE\W+{ANY}{CHECK}|{ANY}{CHECK}\W+{NEEDLESS})|makes?\W+{ANY}{CHECK}\W+{NEEDLESS}|'
     '(removes?|lifts?)\W+the\W+need\W+for\W+{ANY}{CHECK})'),
    ('skipping verification', 'sentence', '{BASIS}\M.*(?<!NOT )\m{CHECK}\W+{NEEDLESS}'),
    ('approval by an agent', 'clause', '{AGENT}\W+{ADVERB}mark(s|ed)?\W+{ANY}{RECORD}\W+as\W+(approved|active|verified)'),
    ('approval by an agent', 'clause',
     '{AGENT}\W+{ADVERB}{DECIDE}\W+((or|and)\W+{DECIDE}\W+)?{ANY}{RECORD}'),
    ('approval by an agent', 'clause', '{RECORD}\W+{ADVERB}{DECIDE}\W+by\W+((the|an|any)\W+)?{AGENT}'),
    ('approval by memory', 'clause',
     '{SOURCE}\W+{ADVERB}(approve[sd]?|sign(s|ed) off( on)?)\W+(this|that|the|these|it|your|our|all|{ACT})')
  ), spelled(label, reach, form, place) as (
    select label, reach, form, 1 from rule
    union all
    select label, reach, replace(form, v_words[place], v_words[place + 1]), place + 2
    from spelled where place < cardinality(v_words)
  )
  select coalesce(array_agg(distinct s.label), '{}') into v_found
  from spelled s
  cross join lateral regexp_split_to_table(v_text,
    case s.reach when 'clause' then '[.!?;:]+(\s+|$)|\n+|,\s+|\s+but\s+'
    else '[.!?;]+(\s+|$)|\n+|\s+but\s+' end) as part
  cross join lateral regexp_matches(part, '(\mNOT\W+(\w+\W+){0,2})?\m' || s.form || '(\M|$)', 'g') as m
  where s.place > cardinality(v_words) and m[1] is null;
  return v_found;
end;
$$;
comment on function pgmem.claimed_permissions is
  'The kinds of permission that a text gives in the name of memory, of a card or of an agent.';


select pgmem.declare_answer('claim_check', $$
Whether a text claims more than a memory can prove.

valid boolean, errors text[] = {}, warnings text[] = {}
$$);

create or replace function pgmem.validate_claims(
  p_text text,
  p_project_id text default null
) returns pgmem.claim_check
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.claim_check;
  v_text text := pgmem.clean_text(p_text, 'text', true);
begin
  if p_project_id is not null then
    perform pgmem.card_scope(pgmem.caller(), p_project_id);
  end if;
  v_answer.errors := array(select format('Claim may grant permission memory cannot provide: %s.', label)
                  from unnest(pgmem.claimed_permissions(v_text)) label);
  v_answer.warnings := pgmem.statement_warnings(length(v_text)) || coalesce((
    select array_agg(format('Relies on stale card %s without saying that it is stale.', n.id) order by n.seq)
    from pgmem.visible_node n
    where n.label = 'Card' and n.status = 'stale' and v_text !~* '\mstale\M'
      and n.id in (
        select (m[1])::uuid
        from regexp_matches(v_text, '([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})', 'gi') m)), '{}');
  v_answer.valid := v_answer.errors = '{}';
  return v_answer;
end;
$$;
comment on function pgmem.validate_claims is $$
Check whether a text claims a permission that memory cannot give, such as one to edit.

A sentence is refused if it says that memory or a card allows edits, overrides or clears findings,
widens a scope, replaces verification or approves, or that an agent approves; or if it rests such a
permission on memory. A denied permission is none. A text that relies on a stale card
without saying so, and a long one, are given a warning. Nothing is stored.

text: The text to check, such as the statement of a card.

ContractError: no such project.
InvalidArgument: the text is empty.
$$;
select pgmem.declare_verb('validate_claims', p_rights => 'reader', p_effect => 'read', p_answer => 'ClaimCheck');


create or replace function pgmem.anchor_symbols(
  p_file pgmem.card_file,
  p_symbols text[],
  p_statement text
) returns text[]
language sql immutable set search_path = pgmem, pg_temp as $$
  -- A symbol is named by its dotted name, by its name within the file, or in the statement as name() or `name`.
  select coalesce(array_agg(k order by k collate "C"), '{}')
  from jsonb_object_keys(coalesce((p_file).symbols, '{}')) k
  where k = any (p_symbols) or (p_file).module || '.' || k = any (p_symbols)
    or (cardinality(p_symbols) = 0 and p_statement ~ ('(^|[^[:alnum:]_.])(`' || k || '(\(\))?`|' || k || '\(\))'));
$$;
comment on function pgmem.anchor_symbols is
  'The symbols of a file that a card is about: those given, else those that its statement names as code.';


create or replace function pgmem.store_candidate(
  p_node pgmem.node,
  p_statement text,
  p_path text,
  p_record_type text,
  p_symbols text[],
  p_evidence jsonb,
  p_ingest_source text,
  p_by text,
  p_where jsonb,
  out node pgmem.node,
  out identity_key text,
  out existing uuid,
  out rejected uuid
)
language plpgsql set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_identity text := pgmem.card_identity(p_record_type, p_path, p_statement);
  v_file     pgmem.card_file;
  v_names    text[];
  v_evidence jsonb := '[]';
begin
  identity_key := format('%s:path:%s:agent_candidate:%s', p_record_type, p_path, left(v_identity, 12));
  select n.* into node from pgmem.node n
  where n.seq = (pgmem.same_content(p_node.scope_key, p_node.tenant, v_identity)).seq;
  if node.props ->> 'branch' is distinct from p_where ->> 'branch' and node.props ? 'branch' then
    -- A statement that holds on two branches is of neither.
    node := pgmem.change_card(node, node.status, '{"branch": null, "branch_commit": null}', 'share', p_by,
      'recorded on ' || coalesce(p_where ->> 'branch', 'the default branch') || ' too');
    return;
  elsif node.id is not null then
    existing := node.id;
    return;
  end if;
  select n.id into rejected from pgmem.node n
  where n.label = 'Card' and n.scope_key = p_node.scope_key and n.tenant || '' = p_node.tenant
    and n.content_hash = v_identity and n.status = 'rejected'
  order by n.seq desc limit 1;
  select f.* into v_file from pgmem.card_file f
  where f.tenant = p_node.tenant and f.project_seq = p_node.project_seq and f.path = p_path;
  v_names := pgmem.anchor_symbols(v_file, coalesce(p_symbols, '{}'), p_statement);
  if cardinality(v_names) > 0 then
    v_evidence := (select jsonb_agg(jsonb_build_object('kind', 'code', 'ref', p_path || '#' || name,
                                                       'digest', v_file.symbols ->> name))
                   from unnest(v_names[1:5]) name);
    p_symbols := array(select distinct s from unnest(p_symbols || array(
      select v_file.module || '.' || name from unnest(v_names) name where v_file.module is not null)) s
      where not s = any (v_names));
  elsif v_file.digest is not null then
    v_evidence := v_evidence || jsonb_build_array(jsonb_build_object('ref', p_path, 'digest', v_file.digest, 'kind',
      case when p_path ~ '(^|/)(tests?/|test_[^/]*$)' then 'test' when p_path ~* '\.(md|rst|txt)$' then 'doc'
           else 'code' end));
  end if;
  if v_file.last_commit is not null then
    v_evidence := v_evidence || jsonb_build_array(jsonb_build_object('kind', 'git_commit', 'ref', v_file.last_commit));
  end if;
  p_node.status := 'draft';
  p_node.props := jsonb_build_object('record_type', p_record_type, 'statement', p_statement, 'confidence', 'inferred',
    'origin', case when p_by = 'agent' or p_ingest_source <> 'human' then 'agent' else 'human' end,
    'ingest_source', p_ingest_source, 'path', p_path) || p_where;
  node := pgmem.insert_card(p_node, v_identity, pgmem.path_subjects(p_path, v_file.module, p_symbols),
    v_evidence || coalesce(p_evidence, '[]'), 'recorded', p_by);
end;
$$;
comment on function pgmem.store_candidate is
  'Store a draft, or return the live card that says the same. The caller has placed the node and holds its scope lock.';


create or replace function pgmem.require_known_file(p_place pgmem.node, p_path text) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  -- A folder of known files is known, too; before the first run nothing is. For kinds that a scan does not list, such as
  -- images, no file is.
  if exists (select from pgmem.card_file f
             where f.tenant = p_place.tenant and f.project_seq = p_place.project_seq
               and (p_path !~ '\.\w+$' or substring(f.path from '\.\w+$') = substring(p_path from '\.\w+$')))
      and not exists (
        select from pgmem.card_file f
        where f.tenant = p_place.tenant and f.project_seq = p_place.project_seq
          and (f.path = p_path or starts_with(f.path, p_path || '/') or p_path in ('', '.'))) then
    raise exception using errcode = 'PM010', message = format('%s is not a file of the repository as it was last seen; '
      'send a path that is there; a person brings a new file in by pgmem cards refresh.', quote_literal(left(p_path, 200)));
  end if;
end;
$$;
comment on function pgmem.require_known_file is
  'An error for a path that is not among the files of a project, where a run has seen files of its kind.';


-- One fact a card, and no transcript. Rewordings are found by their words: half of them in common.
create or replace function pgmem.wording_warnings(p_place pgmem.node, p_statement text, p_branch text) returns text[]
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_warnings text[] := '{}';
  v_words    text[] := pgmem.tokens(p_statement);
begin
  if p_statement ~* '(^|\n|[.!?]\s+)(user|assistant|human|system|ai)\s*:' then
    v_warnings := v_warnings || 'It reads like a transcript: state the fact, not the conversation.'::text;
  end if;
  if (select count(*) from regexp_split_to_table(p_statement, '[.!?]+(\s+|$)') s where s ~ '\w') > 2 then
    v_warnings := v_warnings || 'It holds several sentences: one fact a card.'::text;
  end if;
  return v_warnings || coalesce((
    select array_agg(format('Card %s says nearly the same: %s', n.id, left(n.props ->> 'statement', 120))
                     order by n.seq)
    from (select n.* from pgmem.node n
          where n.scope_key = p_place.scope_key and n.tenant || '' = p_place.tenant and n.label = 'Card'
            and n.status in ('draft', 'active', 'stale')
            and pgmem.jaccard(v_words, pgmem.tokens(n.props ->> 'statement')) >= 0.5
            and (not n.props ? 'branch' or n.props ->> 'branch' = p_branch)
          order by n.seq limit 3) n), '{}');
end;
$$;
comment on function pgmem.wording_warnings is
  'The remarks on a statement: a transcript, several facts, or a rewording of cards of the same scope.';


select pgmem.declare_answer('candidate', $$
A drafted card, and remarks about it.

card_id uuid, status text, identity_key text, statement_length integer, warnings text[] = {}
previously_rejected uuid?, message text?, next_step text?
$$);

create or replace function pgmem.record_candidate(
  p_record_type text,
  p_statement text,
  p_subject_path text,
  p_project_id text,
  p_symbols text[] default '{}',
  p_evidence pgmem.card_evidence_list default '[]',
  p_share pgmem.sharing default null,
  p_branch text default null,
  p_branch_commit text default null
) returns pgmem.candidate
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.candidate;
  v_caller pgmem.caller := pgmem.require_writer();
  v_by     text := pgmem.card_writer(v_caller);
  v_scope  pgmem.scope_state;
  v_node   pgmem.node;
  v_text   text;
  v_path   text;
  v_made   record;
begin
  perform pgmem.require_record_type(p_record_type);
  select c.statement, c.warnings into v_text, v_answer.warnings from pgmem.check_statement(p_statement) c;
  if btrim(coalesce(p_subject_path, '')) = '' then
    raise exception using errcode = 'PM010',
      message = 'record_candidate requires subject_path linking the observation to a repo file.';
  end if;
  v_path := pgmem.clean_path(p_subject_path);
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  v_node := pgmem.place_card(v_scope, v_caller, p_share);
  perform pgmem.require_known_file(v_node, v_path);
  perform pgmem.lock_scope(v_node.scope_key);
  perform pgmem.require_draft_room(v_node, 1);
  v_answer.warnings := v_answer.warnings || pgmem.wording_warnings(v_node, v_text, p_branch);
  v_made := pgmem.store_candidate(v_node, v_text, v_path, p_record_type, p_symbols, p_evidence,
    case v_by when 'human' then 'human' else 'agent' end, v_by, pgmem.written_on(p_branch, p_branch_commit));
  if v_made.existing is not null then
    raise exception using errcode = 'PM010', message = format('Candidate already exists for identity_key=%s (card %s).',
      v_made.identity_key, v_made.existing);
  end if;
  v_answer.card_id := (v_made.node).id;
  v_answer.status := (v_made.node).status;
  v_answer.identity_key := v_made.identity_key;
  v_answer.statement_length := length(v_text);
  v_answer.previously_rejected := v_made.rejected;
  v_answer.message := case when (v_made.node).version > 1 then 'The card of another branch says the same; it is shared now.'
    when v_made.rejected is null then 'Recorded as a draft.' else
    format('Recorded as a draft again: the same card was rejected before (%s). '
      'Say what has changed when you ask for its approval.', v_made.rejected) end;
  v_answer.next_step := 'A person approves or rejects it: pgmem cards review.';
  return v_answer;
end;
$$;
comment on function pgmem.record_candidate is $$
Draft a card: one fact about one file of the repository.

A person approves or rejects it. If the same card was rejected before, `previously_rejected` is its
id.

record_type: The type of card, such as risk_note or contract_note; docs/explanation/engineering-memory.md
  lists the twelve.
statement: One fact, 1 to 1000 characters; 300 is the target.
subject_path: The file it is about, relative to the repository.
symbols: Dotted names that it is about too; default none.
evidence: Objects with kind (such as code, test or doc), ref and, for a file, digest; default none.
branch: The branch that it is written on, if that is not the default one; default that of the repository.
branch_commit: The last commit of the branch; ^ID: the branch begins at ID and has no commits yet.

ContractError: the type is unknown, the statement empty or too long, the path not in the repository,
  the evidence invalid, or the same card is there already; no such project.
CapacityReached: the project has max_candidates drafts or max_records cards.
$$;
select pgmem.declare_verb('record_candidate', p_rights => 'writer', p_effect => 'write', p_answer => 'Candidate');


create or replace function pgmem.receipt_paths(p_receipt jsonb, p_intent pgmem.card_intent) returns text[]
language sql immutable set search_path = pgmem, pg_temp as $$
  select array(
    select pgmem.clean_path(path)
    from jsonb_array_elements_text(case
        when jsonb_typeof(p_receipt -> 'scope') = 'array' then p_receipt -> 'scope'
        when cardinality((p_intent).changed_paths) > 0 then to_jsonb((p_intent).changed_paths)
        when (p_intent).id is not null then to_jsonb((p_intent).paths)
        when jsonb_typeof(p_receipt -> 'changed_paths') = 'array' then p_receipt -> 'changed_paths'
        else '[]' end) with ordinality as e(path, place)
    -- Claims are filed under the first path: one that was declared comes before those changed on the way.
    order by not coalesce((select bool_or(path = declared or starts_with(path, declared || '/'))
                           from unnest((p_intent).paths) declared), true), place);
$$;
comment on function pgmem.receipt_paths is
  'The paths of a receipt: its scope, else those of its intent, else changed_paths; those declared before others.';


create or replace function pgmem.receipt_drafts(
  p_receipt jsonb,
  p_intent pgmem.card_intent,
  p_place pgmem.node,
  p_paths text[]
) returns table (
  place integer,
  record_type text,
  path text,
  statement text
)
language sql stable set search_path = pgmem, pg_temp as $$
  select 0, 'module_role', p,
    coalesce(f.module, replace(substr(pgmem.module_match(p), 2), '/', '.')) || ' was part of a finished change'
      || coalesce(': ' || left(regexp_replace(
           coalesce(p_receipt ->> 'description', (p_intent).description), '\s+', ' ', 'g'), 200), '') || '.'
  from unnest(p_paths[1:10]) as p
  left join pgmem.card_file f on f.tenant = (p_place).tenant and f.project_seq = (p_place).project_seq and f.path = p
  where p like '%.py' and not exists (
    -- A module whose role a card states already needs no other.
    select from pgmem.card_subject s join pgmem.node n on n.seq = s.node_seq
    where s.scope_key = (p_place).scope_key and s.tenant = (p_place).tenant and s.match = p collate "C"
      and s.relation = 'about' and s.status in ('active', 'draft', 'stale')
      and n.props ->> 'record_type' = 'module_role')
  union all
  select 1, 'change_rationale', p_paths[1], claim
  from jsonb_array_elements_text(coalesce(nullif(p_receipt -> 'claims', 'null'), '[]')) claim
  union all
  select 2, 'architecture_decision', p_paths[1], p_receipt ->> 'review'
  where btrim(coalesce(p_receipt ->> 'review', '')) <> ''
$$;
comment on function pgmem.receipt_drafts is
  'The drafts of a receipt: a role for each of its first 10 modules, a rationale for each claim, a decision.';


create or replace function pgmem.draft_receipt(
  p_receipt jsonb,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller,
  p_share text,
  p_where jsonb
) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node     pgmem.node := pgmem.place_card(p_scope, p_caller, p_share);
  v_intent   pgmem.card_intent;
  v_paths    text[];
  v_draft    record;
  v_made     record;
  v_checked  record;
  v_evidence jsonb := '[]';
  v_drafted  jsonb := '[]';
  v_existing jsonb := '[]';
  v_notes    jsonb := '[]';
  v_warnings jsonb := '[]';
begin
  if jsonb_typeof(p_receipt) <> 'object' or exists (
      select from unnest(array['scope', 'changed_paths', 'claims', 'contract_notes']) as name
      where jsonb_typeof(coalesce(p_receipt -> name, '[]')) not in ('array', 'null')) then
    raise exception using errcode = 'PM010',
      message = 'A receipt is an object: {"intent_id": "…"} or {"scope": ["path"]}, and changed_paths, claims, '
        'contract_notes (lists of texts), review, description (texts).';
  end if;
  if lower(p_receipt ->> 'status') in ('rejected', 'failed', 'error', 'aborted', 'cancelled')
      or lower(p_receipt ->> 'verify') in ('failed', 'rejected', 'error') then
    return jsonb_build_object('drafted', '[]'::jsonb, 'existing', '[]'::jsonb, 'proposal_only', '[]'::jsonb,
      'warnings', jsonb_build_array('The receipt says that the change was not accepted: nothing is drafted from it.'),
      'next_step', 'Send the receipt of a change that was verified.');
  end if;
  perform pgmem.lock_scope(v_node.scope_key);
  if p_receipt ? 'intent_id' then
    select i.* into v_intent from pgmem.card_intent i
    where i.id = (p_receipt ->> 'intent_id')::uuid and i.tenant = p_caller.tenant
      and i.project_seq = p_scope.project_seq;
    if v_intent.finished_at is null then
      raise exception using errcode = 'PM010',
        message = format('Intent %s is not finished in this project; call finish_intent first.',
          p_receipt ->> 'intent_id');
    end if;
    v_evidence := jsonb_build_array(jsonb_build_object('kind', 'receipt', 'ref', 'intent:' || v_intent.id));
  end if;
  v_paths := pgmem.receipt_paths(p_receipt, v_intent);
  if cardinality(v_paths) = 0 then
    raise exception using errcode = 'PM010',
      message = 'A receipt needs paths: a finished intent_id, scope or changed_paths.';
  end if;
  for v_draft in
    select * from pgmem.receipt_drafts(p_receipt, v_intent, v_node, v_paths) order by place, path, statement
  loop
    v_checked := pgmem.check_statement(v_draft.statement);
    perform pgmem.require_draft_room(v_node, 1);
    v_node.id := gen_random_uuid();
    v_made := pgmem.store_candidate(v_node, v_checked.statement, v_draft.path, v_draft.record_type, '{}', v_evidence,
      'receipt', pgmem.card_writer(p_caller), p_where);
    v_warnings := v_warnings || to_jsonb(v_checked.warnings);
    if v_made.existing is not null then
      v_existing := v_existing || jsonb_build_object('id', v_made.existing, 'type', v_draft.record_type,
        'path', v_draft.path);
    else
      v_drafted := v_drafted || jsonb_strip_nulls(jsonb_build_object('id', (v_made.node).id,
        'type', v_draft.record_type, 'path', v_draft.path, 'previously_rejected', v_made.rejected));
    end if;
  end loop;
  select coalesce(jsonb_agg(jsonb_build_object('type', 'contract_note', 'path', v_paths[1],
           'statement', (pgmem.check_statement(note)).statement, 'proposal_only', true)), '[]')
  into v_notes from jsonb_array_elements_text(coalesce(nullif(p_receipt -> 'contract_notes', 'null'), '[]')) note;
  return jsonb_build_object('drafted', v_drafted, 'existing', v_existing, 'proposal_only', v_notes,
    'warnings', v_warnings, 'next_step', 'A person approves or rejects the drafts: pgmem cards review. '
      'Contract notes are not stored: record them by record_candidate.');
end;
$$;
comment on function pgmem.draft_receipt is
  'Store the drafts of a receipt, all or none, and name the cards that are there already.';


select pgmem.declare_answer('drafted_card', $$
A card that was drafted, existed already, or is only proposed (then it has no id).

type text, path text?, id uuid?, statement text?, warnings text[]?, proposal_only boolean = false
$$);

select pgmem.declare_answer('proposal', $$
The cards from a receipt: drafted, existing and only proposed ones.

drafted drafted_card[] = {}, existing drafted_card[] = {}, proposal_only drafted_card[] = {}, warnings [text] = {}
next_step text?
$$);

create or replace function pgmem.propose_from_receipt(
  p_receipt jsonb,
  p_project_id text,
  p_share pgmem.sharing default null,
  p_branch text default null,
  p_branch_commit text default null
) returns pgmem.proposal
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
begin
  return jsonb_populate_record(null::pgmem.proposal, pgmem.draft_receipt(
    coalesce(p_receipt, '{}'), pgmem.card_scope(v_caller, p_project_id), v_caller, p_share,
    pgmem.written_on(p_branch, p_branch_commit)));
end;
$$;
comment on function pgmem.propose_from_receipt is $$
Draft cards from the receipt of a finished change, all of them or none.

The first ten modules give module_role cards, each claim a change_rationale, the review an
architecture_decision. Contract notes come back as proposals and are not stored.

receipt: An object with intent_id (of a finished intent), scope or changed_paths, and claims,
  contract_notes (lists of texts), review, description (texts).
branch: The branch that they are written on, if that is not the default one; default that of the repository.
branch_commit: The last commit of the branch; ^ID: the branch begins at ID and has no commits yet.

ContractError: the receipt names no paths or an unfinished intent, or a text does not fit; no such
  project.
CapacityReached: not all drafts fit.
$$;
select pgmem.declare_verb('propose_from_receipt', p_rights => 'writer', p_effect => 'write', p_answer => 'Proposal');
