-- Extraction: memories out of turns
--
-- A model reads turns and names the memories to keep; this chapter decides which of them are stored. begin_extraction shows
-- the turns of a conversation that were not looked at yet, and memories that they may touch, numbered, with no ids to
-- mix up. apply_extraction takes the model's answer in one transaction. Each item quotes a turn, and
-- 78-extraction-proof refuses one that the quote does not support. Duplicates and supersession are those of the save
-- verbs. A memory that the model did not see in its present version it cannot have meant: such a change waits for a person.
--
-- An extracted memory has the trust of the turn or of the caller, whichever is lower, so it never takes the place of
-- a memory that an agent saved on purpose; it keeps its quote and the id of its turn as properties. A call sent again answers
-- as the first one did.
--
-- A worker may ask a model of the operator's. The cost of a tenant's questions in a day is counted in extraction_day,
-- whichever process asks, and spend_extraction_tokens refuses a question beyond the setting extraction_tokens.
--
-- Locks: the row of the extraction; then the scopes of decisions, entities and notes of the project, sorted. The row of
-- the tenant's day.


select pgmem.declare_answer('extraction_turn', $$
A turn that an extraction shows, by its number.

turn integer, role text, content text, at timestamptz?
$$);

select pgmem.declare_answer('extraction_candidate', $$
A memory that the turns may touch, by its number.

n integer, kind text, title text, text text?, version integer
by person|agent?: Who said it; agent: also a program or a file.
$$);

select pgmem.declare_answer('extraction_answer', $$
Turns that no extraction has looked at, and memories that they may touch; without an id there are none.

class Extraction
extraction_id uuid?, session_id text?, project_id text?, turns extraction_turn[], candidates extraction_candidate[]
remaining integer, shape object?, next_step text?
$$);

create or replace function pgmem.begin_extraction(
  p_session_id text default null,
  p_project_id text default null
) returns pgmem.extraction_answer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.extraction_answer;
  v_caller pgmem.caller := pgmem.require_writer();
  v_scope  pgmem.scope_state;
  v_first  pgmem.node;
  v_shown  bigint[];
  v_beside bigint[];
begin
  v_answer.turns := '[]';
  v_answer.candidates := '[]';
  v_answer.remaining := 0;
  v_first := pgmem.next_turn(v_caller, p_session_id, pgmem.clean_key(p_project_id, 'project_id'));
  if v_first.seq is null then
    v_answer.next_step := 'No unprocessed turns.';
    return v_answer;
  end if;
  v_answer.session_id := v_first.session_id;
  v_scope := pgmem.resolve_scope(v_caller, coalesce(v_first.project, p_project_id), null);
  if not v_scope.write_permitted then
    raise exception using errcode = 'PM001',
      message = 'These turns belong to no project: send project_id, the name of a project that exists.';
  end if;
  v_answer.project_id := v_scope.project_id;
  v_shown := pgmem.turns_to_show(v_caller, v_answer.session_id, v_first.seq);
  v_beside := pgmem.extraction_candidates(v_scope, v_shown);
  select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
           'turn', s.place, 'role', n.props ->> 'role', 'at', n.valid_from,
           'content', left(n.props ->> 'content', pgmem.setting_int('extraction_chars')))) order by s.place), '[]')
  into v_answer.turns from unnest(v_shown) with ordinality as s(seq, place) join pgmem.visible_node n on n.seq = s.seq;
  select coalesce(jsonb_agg(jsonb_build_object('n', s.place, 'kind', pgmem.extracted_kind(n.label), 'title', n.title,
           'text', left(coalesce(n.props ->> 'rationale', n.props ->> 'fact', n.props ->> 'content'), 500),
           'version', n.version, 'by', pgmem.said_by(n.source, n.trust_level)) order by s.place), '[]')
  into v_answer.candidates
  from unnest(v_beside) with ordinality as s(seq, place) join pgmem.visible_node n on n.seq = s.seq;
  v_answer.remaining := (select count(*) from pgmem.visible_node n
                where n.session_id = v_first.session_id and n.status = 'captured' and n.tenant = v_caller.tenant
                  and n.props ->> 'role' in ('user', 'assistant') and n.seq > v_shown[cardinality(v_shown)]);
  v_answer.shape := '{"add": [{"kind": "decision | fact | note", "title": "…", "text": "…", "turn": 1, "quote": "…"}],
             "update": [{"n": 1, "text": "…", "turn": 1, "quote": "…"}],
             "invalidate": [{"n": 1, "turn": 1, "quote": "…"}]}';
  v_answer.next_step :=
    'Answer once with apply_extraction. A quote is copied from its turn and holds the names and numbers of '
    'its text; the text keeps the words of the quote. Empty lists where nothing should last.';
  insert into pgmem.extraction as e
    (org_id, user_id, session_id, project_seq, turns, last_seq, candidates, begun_at)
  values (v_caller.org_id, v_caller.user_id, v_answer.session_id, v_scope.project_seq,
    array(select n.id from unnest(v_shown) with ordinality as s(seq, place)
          join pgmem.visible_node n on n.seq = s.seq order by s.place),
    v_shown[cardinality(v_shown)],
    coalesce((select jsonb_agg(jsonb_build_object('id', n.id, 'version', n.version) order by s.place)
              from unnest(v_beside) with ordinality as s(seq, place)
              join pgmem.visible_node n on n.seq = s.seq), '[]'),
    pgmem.clock())
  returning e.id into v_answer.extraction_id;
  return v_answer;
end;
$$;
comment on function pgmem.begin_extraction is $$
Show the turns of a conversation that no extraction has looked at, and memories that they may touch.

`turns` and `candidates` are numbered; `shape` is the answer that apply_extraction takes; `remaining` counts the turns
after these. Without unprocessed turns extraction_id is null. Turns count as looked at once the answer is applied.

session_id: client:session, as capture_turns answers; unset: the conversation that waits longest.
project_id: Project name; for turns that belong to none, and where session_id is unset, only turns of it.

InvalidArgument: the turns belong to no project, and none that exists is sent.
$$;
select pgmem.declare_verb('begin_extraction', p_rights => 'writer', p_effect => 'write', p_answer => 'Extraction',
  p_toolset => 'extraction',
  p_description => 'Get turns that were not looked at, to say what of them should last.');


create or replace function pgmem.next_turn(
  p_caller pgmem.caller,
  p_session_id text,
  p_project_id text
) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node;
begin
  -- The tenant's own turns: turns of others in a shared project are not the caller's to extract.
  if p_session_id is not null then
    select n.* into v_node from pgmem.visible_node n
    where n.session_id = p_session_id and n.status = 'captured' and n.tenant = p_caller.tenant
      and n.props ->> 'role' in ('user', 'assistant')
      and n.seq > coalesce((select max(e.last_seq) from pgmem.extraction e
                            where e.tenant = p_caller.tenant and e.session_id = p_session_id
                              and e.applied_at is not null), 0)
    order by n.seq limit 1;
  else
    select n.* into v_node from pgmem.visible_node n
    where n.status = 'captured' and n.tenant = p_caller.tenant and n.props ->> 'role' in ('user', 'assistant')
      and (p_project_id is null or n.project = p_project_id) and (p_project_id is not null or n.project is not null)
      and not exists (select from pgmem.extraction e
                      where e.tenant = p_caller.tenant and e.session_id = n.session_id and e.last_seq >= n.seq
                        and e.applied_at is not null)
    order by n.created_at, n.seq limit 1;
  end if;
  return v_node;
end;
$$;
comment on function pgmem.next_turn is
  'The first turn of a person or an agent that no applied extraction has looked at, of a conversation or of all.';


create or replace function pgmem.turns_to_show(
  p_caller pgmem.caller,
  p_session_id text,
  p_first_seq bigint
) returns bigint[]
language sql stable set search_path = pgmem, pg_temp as $$
  select array_agg(t.seq order by t.seq) from (
    select n.seq, row_number() over (order by n.seq) as place,
           sum(length(n.props ->> 'content')) over (order by n.seq) as chars
    from (select * from pgmem.visible_node
          where session_id = p_session_id and status = 'captured' and tenant = p_caller.tenant and seq >= p_first_seq
            and props ->> 'role' in ('user', 'assistant') order by seq limit 100) n) t
  where t.place = 1 or t.chars <= pgmem.setting_int('extraction_chars');
$$;
comment on function pgmem.turns_to_show is
  'Turns of a conversation from one on: at most 100, and no more than extraction_chars, but at least one.';


create or replace function pgmem.extraction_candidates(p_scope pgmem.scope_state, p_turns bigint[]) returns bigint[]
language sql stable set search_path = pgmem, pg_temp as $$
  select coalesce(array_agg(c.seq order by c.rank desc, c.seq), '{}') from (
    select n.seq, pgmem.word_rank(n.tsv, words.query) as rank
    from (select left(string_agg(left(t.props ->> 'content', 2000), ' ' order by t.seq), 8000) as text
          from pgmem.visible_node t where t.seq = any (p_turns)) said
    cross join lateral pgmem.any_word(said.text, (p_scope).text_config) as words(query)
    join pgmem.live_node n on n.project_seq = (p_scope).project_seq and n.tsv @@ words.query
      and n.label in ('Decision', 'EntityFact', 'Context')
    order by 2 desc, 1 limit 20) c;
$$;
comment on function pgmem.extraction_candidates is
  'The live decisions, entities and notes of a project that hold most words of these turns, 20 at most.';


create or replace function pgmem.extracted_kind(p_label text) returns text
language sql immutable parallel safe
begin atomic
  select case p_label when 'Decision' then 'decision' when 'EntityFact' then 'fact' when 'Context' then 'note' end;
end;
comment on function pgmem.extracted_kind is 'How an extraction names the memories of a label.';


select pgmem.declare_answer('extracted_item', $$
The outcome of one item of an answer: its list and place, and the outcome.

item text, outcome new|supersede|duplicate_skip|archived|manual_review|rejected, artifact_id uuid?, candidate_id uuid?
save_id uuid?, reason text?
$$);

select pgmem.declare_answer('applied_extraction', $$
The outcome of a model's answer: how many items were stored, wait for a person, or were rejected.

extraction_id uuid, stored integer, for_review integer, rejected integer, results extracted_item[], next_step text?
$$);

create or replace function pgmem.apply_extraction(
  p_extraction_id uuid,
  p_answer jsonb
) returns pgmem.applied_extraction
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer     pgmem.applied_extraction;
  v_caller     pgmem.caller := pgmem.require_writer();
  v_hash       bytea := sha256(convert_to(coalesce(p_answer, 'null')::text, 'UTF8'));
  v_extraction pgmem.extraction;
  v_scope      pgmem.scope_state;
  v_item       record;
begin
  perform pgmem.require_extraction_answer(p_answer);
  select e.* into v_extraction from pgmem.extraction e
  where e.id = p_extraction_id and e.tenant = v_caller.tenant for update;
  if v_extraction.id is null then
    raise exception using errcode = 'PM002', message = format(
      'No extraction %s found: begin_extraction gives the id.', p_extraction_id);
  elsif v_extraction.answer_hash is distinct from v_hash and v_extraction.applied_at is not null then
    raise exception using errcode = 'PM007',
      message = format('Extraction %s was applied with another answer; call begin_extraction again.', p_extraction_id);
  end if;
  v_answer.results := v_extraction.result;
  if v_answer.results is null then
    v_scope := pgmem.resolve_scope(v_caller,
      (select n.key from pgmem.visible_node n where n.seq = v_extraction.project_seq), null);
    perform pgmem.lock_scopes(array(
      select (pgmem.place_node(label, '{}', v_scope, v_caller)).scope_key
      from unnest('{Decision,EntityFact,Context}'::text[]) as label));
    v_answer.results := '[]';
    for v_item in
      select part.name as part, i.place, i.value as item
      from unnest('{add,update,invalidate}'::text[]) with ordinality as part(name, place)
      cross join lateral jsonb_array_elements(coalesce(nullif(p_answer -> part.name, 'null'), '[]'))
        with ordinality as i(value, place)
      order by part.place, i.place
    loop
      v_answer.results := v_answer.results || jsonb_strip_nulls(jsonb_build_object(
        'item', v_item.part || ' ' || v_item.place)
        || pgmem.apply_item(v_item.part, v_item.item, v_item.place::integer, v_extraction, v_scope, v_caller));
    end loop;
    update pgmem.extraction e set applied_at = pgmem.clock(), answer_hash = v_hash, result = v_answer.results
    where e.id = v_extraction.id;
  end if;
  v_answer.extraction_id := v_extraction.id;
  select count(*) filter (where r ->> 'outcome' in ('new', 'supersede', 'duplicate_skip', 'archived')),
         count(*) filter (where r ->> 'outcome' = 'manual_review'),
         count(*) filter (where r ->> 'outcome' = 'rejected')
  into v_answer.stored, v_answer.for_review, v_answer.rejected from jsonb_array_elements(v_answer.results) r;
  v_answer.next_step := case when v_answer.for_review > 0 then pgmem.review_step() end;
  return v_answer;
end;
$$;
comment on function pgmem.apply_extraction is $$
Store the items of a model's answer that their quotes support; the rest is rejected with its reason.

An item is `new`, `supersede`, `duplicate_skip`, `archived` (of invalidate), `manual_review` or `rejected`. An item
about a memory that has changed since begin_extraction, that it did not show, or that has more trust than the turn, waits for
a person. The same call again answers the same and changes nothing.

extraction_id: The id from begin_extraction.
answer: Empty lists where nothing lasts; an object with the lists add (kind decision, fact or note; title, text, turn,
  quote), update (n, the number of a candidate; text, turn, quote) and invalidate (n, turn, quote).

InvalidArgument: the answer is not such an object.
MemoryNotFound: the caller has no such extraction.
SaveIdReused: the extraction was applied with another answer.
$$;
select pgmem.declare_verb('apply_extraction', p_rights => 'writer', p_effect => 'repeat',
  p_answer => 'AppliedExtraction', p_toolset => 'extraction',
  p_description =>
    'Store what should last. A quote is copied from its turn and holds the names and numbers of its text.');


create or replace function pgmem.require_extraction_answer(p_answer jsonb) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_parts constant text[] := '{add,update,invalidate}';
begin
  if jsonb_typeof(p_answer) is distinct from 'object'
      or exists (select from jsonb_each(p_answer) part
                 where part.key <> all (v_parts)
                   or jsonb_typeof(part.value) not in ('array', 'null')
                   or jsonb_typeof(part.value) = 'array' and exists (
                     select from jsonb_array_elements(part.value) i where jsonb_typeof(i) <> 'object')) then
    raise exception using errcode = 'PM001', message = 'answer must be an object of the lists add, update and '
      'invalidate; send {"add": [{"kind": "decision", "title": "…", "text": "…", "turn": 1, "quote": "…"}]}.';
  end if;
  perform pgmem.require_length(p_answer);
  perform pgmem.require_count((select sum(jsonb_array_length(part.value)) from jsonb_each(p_answer) part
                               where jsonb_typeof(part.value) = 'array')::bigint, 'answer', 'max_list_limit');
end;
$$;
comment on function pgmem.require_extraction_answer is 'An error unless an answer is an object of the three lists.';


create or replace function pgmem.apply_item(
  p_part text,
  p_item jsonb,
  p_place integer,
  p_extraction pgmem.extraction,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller
) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_turn      pgmem.node;
  v_shown     jsonb;
  v_candidate pgmem.node;
  v_change    record;
  v_reason    text;
begin
  select n.* into v_turn from pgmem.visible_node n
  where n.id = p_extraction.turns[pgmem.item_number(p_item, 'turn')] and n.status = 'captured';
  if v_turn.seq is null then
    return pgmem.rejected('turn names no turn that was shown, or the turn was deleted.');
  end if;
  if p_part <> 'add' then
    v_shown := p_extraction.candidates -> (pgmem.item_number(p_item, 'n') - 1);
    select n.* into v_candidate from pgmem.live_node n where n.id = (v_shown ->> 'id')::uuid;
    if v_candidate.seq is null then
      return pgmem.rejected('n names no candidate that was shown, or the candidate was deleted.');
    end if;
  end if;
  v_change := pgmem.extracted_change(p_part, p_item, v_candidate);
  v_reason := coalesce(v_change.reason, pgmem.unsupported(v_change.claim, v_change.name, p_item ->> 'quote',
    v_turn.props ->> 'content', p_scope.text_config),
    case when p_part <> 'invalidate' then
      pgmem.misread(v_change.claim, p_item ->> 'quote', v_turn.props ->> 'content') end);
  if v_reason is not null then
    return pgmem.rejected(v_reason);
  end if;
  -- A model speaks here: it has no more trust than its source, and decides nothing as a person at a terminal does.
  p_caller.trust_level := least(p_caller.trust_level, v_turn.trust_level);
  p_caller.source := case when p_caller.source in ('cli', 'sql') then 'sync' else p_caller.source end;
  v_change.arguments := jsonb_strip_nulls(v_change.arguments || jsonb_build_object('project_id', p_scope.project_id,
    'quote', btrim(p_item ->> 'quote'), 'turn', v_turn.id,
    'date', case when v_change.verb = 'save_decision' then coalesce(v_turn.valid_from, v_turn.created_at)::date end));
  return pgmem.make_extracted(v_change.verb, v_change.arguments, v_candidate, (v_shown ->> 'version')::integer,
    md5(p_extraction.id || p_part || p_place)::uuid, p_extraction, p_scope, p_caller);
end;
$$;
comment on function pgmem.apply_item is 'Store one item of an answer if its quote bears it out; its outcome.';


create or replace function pgmem.rejected(p_reason text) returns jsonb
language sql immutable parallel safe
begin atomic
  select jsonb_build_object('outcome', 'rejected', 'reason', p_reason);
end;
comment on function pgmem.rejected is 'The outcome of an item that is not stored.';


create or replace function pgmem.item_number(p_item jsonb, p_name text) returns integer
language sql immutable parallel safe
begin atomic
  select case when jsonb_typeof(p_item -> p_name) = 'number' and (p_item ->> p_name) ~ '^[1-9][0-9]{0,3}$'
    then (p_item ->> p_name)::integer else 0 end;
end;
comment on function pgmem.item_number is 'A number from 1 on of an item; 0, which nothing has, for anything else.';


create or replace function pgmem.extracted_change(
  p_part text,
  p_item jsonb,
  p_candidate pgmem.node,
  out verb text,
  out arguments jsonb,
  out claim text,
  out name text,
  out reason text
)
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_kind  text := case p_part when 'add' then p_item ->> 'kind' else pgmem.extracted_kind(p_candidate.label) end;
  v_title text := btrim(case when p_part = 'add' then p_item ->> 'title' else p_candidate.title::text end);
  v_text  text := btrim(p_item ->> 'text');
begin
  if v_kind not in ('decision', 'fact', 'note') or v_kind is null then
    reason := 'kind is decision, fact or note.';
  elsif coalesce(v_title, '') = '' or p_part <> 'invalidate' and coalesce(v_text, '') = '' then
    reason := 'title and text must not be empty.';
  elsif p_part = 'invalidate' then
    verb := 'forget';
    arguments := jsonb_build_object('label', p_candidate.label, 'key', p_candidate.id, 'title', p_candidate.title,
      'purge', false);
    claim := v_title;
  elsif v_kind = 'decision' then
    verb := 'save_decision';
    arguments := jsonb_build_object('title', v_title, 'rationale', v_text);
    claim := case p_part when 'add' then v_title || '. ' end || v_text;
  elsif v_kind = 'fact' then
    verb := 'upsert_entity';
    arguments := jsonb_build_object('entity_name', coalesce(p_candidate.key::text, v_title), 'fact', v_text);
    claim := v_text;
    name := v_title;
  elsif p_part = 'update' then
    reason := 'A note is not updated: add another, and invalidate this one.';
  else
    verb := 'save_context';
    arguments := jsonb_build_object('topic', v_title, 'content', v_text);
    claim := v_title || '. ' || v_text;
  end if;
  claim := coalesce(claim, v_text);
end;
$$;
comment on function pgmem.extracted_change is
  'The save that an item stands for, the text that its quote must support, and the name that it must hold whole.';


create or replace function pgmem.make_extracted(
  p_verb text,
  p_arguments jsonb,
  p_candidate pgmem.node,
  p_version integer,
  p_save_id uuid,
  p_extraction pgmem.extraction,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller
) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_target pgmem.node := p_candidate;
  v_result pgmem.save_result;
  v_detail text;
begin
  begin
    if v_target.seq is null then
      v_target := pgmem.extraction_target(p_verb, p_arguments, p_scope, p_caller);
      p_version := (select (c ->> 'version')::integer from jsonb_array_elements(p_extraction.candidates) c
                    where c ->> 'id' = v_target.id::text);
    end if;
    if v_target.seq is not null and (v_target.version is distinct from p_version
                                     or pgmem.outranked(v_target.trust_level, p_caller)) then
      perform pgmem.refuse('failed', case when v_target.version is distinct from p_version
          then format('%s %s is not as the model saw it: a person decides. Review candidate: %s', v_target.label,
                      quote_literal(left(v_target.title, 80)), v_target.id)
          else pgmem.review_message(v_target, p_caller) end,
        pgmem.review_step(), 'manual_review', v_target.id);
    end if;
    if p_verb = 'forget' then
      perform pgmem.require_own(v_target, p_caller);
      perform pgmem.forget_node(v_target, p_caller, false);
      return jsonb_build_object('outcome', 'archived', 'artifact_id', v_target.id);
    elsif p_verb = 'save_decision' and p_candidate.seq is not null then
      v_result := pgmem.store(p_verb, p_arguments, p_scope, p_caller, null, 'supersede', p_candidate.id);
    else
      v_result := pgmem.store(p_verb, p_arguments, p_scope, p_caller);
    end if;
  exception when others then
    get stacked diagnostics v_detail = pg_exception_detail;
    v_result := pgmem.save_error(sqlstate, sqlerrm, v_detail);
    if v_result.status is null then
      if sqlstate like 'PM%' then
        return pgmem.rejected(sqlerrm);
      end if;
      raise;
    end if;
  end;
  v_result.save_id := p_save_id;
  v_result := pgmem.record_attempt(p_caller, p_verb, p_arguments,
    sha256(convert_to(p_verb || p_arguments::text, 'UTF8')), v_result);
  return jsonb_build_object('outcome', coalesce(v_result.dedup_outcome,
      case v_result.status when 'saved' then 'new' else 'rejected' end),
    'artifact_id', v_result.artifact_id, 'candidate_id', v_result.candidate_id,
    'save_id', case when v_result.status <> 'saved' then v_result.save_id end,
    'reason', case when v_result.status <> 'saved' then v_result.message end);
end;
$$;
comment on function pgmem.make_extracted is
  'Make an extracted change by the function of its save verb, or put it under review; its outcome.';


-- Under the locks of the scopes, so the save finds the same rows.
create or replace function pgmem.extraction_target(
  p_verb text,
  p_arguments jsonb,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller
) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_place pgmem.node;
  v_node  pgmem.node;
  v_check record;
begin
  if p_verb = 'upsert_entity' then
    v_place := pgmem.place_node('EntityFact', '{}', p_scope, p_caller);
    select n.* into v_node from pgmem.visible_node n
    where n.scope_key = v_place.scope_key and n.tenant || '' = v_place.tenant
      and pgmem.folded(n.key) = pgmem.folded(pgmem.clean_key(p_arguments ->> 'entity_name', 'title'))
      and n.props ->> 'fact' is distinct from pgmem.clean_text(p_arguments ->> 'fact', 'text')
    order by n.key = p_arguments ->> 'entity_name' desc, n.seq limit 1;
  elsif p_verb = 'save_decision' then
    v_check := pgmem.check_duplicate(p_arguments ->> 'title', p_arguments ->> 'rationale', p_scope.project_id);
    if v_check.dedup_outcome = 'supersede' then
      select n.* into v_node from pgmem.visible_node n where n.id = v_check.candidate_id;
    end if;
  end if;
  return v_node;
end;
$$;
comment on function pgmem.extraction_target is
  'The memory whose place a save would take: an entity with another fact, or a decision with a near title; null: none.';


select pgmem.declare_answer('extraction_budget', $$
Whether tokens were granted, and how many of the day's budget are spent, reserved ones included.

granted boolean, day date, spent bigint, budget bigint
$$);

create or replace function pgmem.spend_extraction_tokens(
  p_tokens integer,
  p_reserved integer default 0,
  p_day date default null
) returns pgmem.extraction_budget
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.extraction_budget;
  v_caller pgmem.caller := pgmem.require_writer();
  v_day    date := coalesce(p_day, (pgmem.now() at time zone 'UTC')::date);
begin
  if p_tokens is null or p_reserved is null or least(p_tokens, p_reserved) < 0
      or (p_reserved > 0) <> (p_day is not null) then
    raise exception using errcode = 'PM001', message =
      'Send tokens from 0 on; and of a question that was asked, reserved and day as its reservation answered them.';
  end if;
  v_answer.budget := pgmem.setting_int('extraction_tokens');
  v_answer.day := v_day;
  if p_reserved > 0 then
    perform from pgmem.extraction_day d where d.tenant = v_caller.tenant and d.day = v_day and d.tokens >= p_reserved;
    if not found then
      raise exception using errcode = 'PM001',
        message = format('On %s fewer tokens than %s are reserved; send reserved and day as they were answered.',
                         v_day, p_reserved);
    end if;
  else
    insert into pgmem.extraction_day as d (org_id, user_id, day, tokens)
    values (v_caller.org_id, v_caller.user_id, v_day, 0)
    on conflict on constraint extraction_day_pkey do nothing;
  end if;
  -- The cost of a question is counted even where it exceeds its reservation: it is spent.
  update pgmem.extraction_day d set tokens = greatest(d.tokens - p_reserved, 0) + p_tokens
  where d.tenant = v_caller.tenant and d.day = v_day
    and (p_reserved > 0 or d.tokens + p_tokens <= v_answer.budget);
  v_answer.granted := found;
  select d.tokens into v_answer.spent from pgmem.extraction_day d
  where d.tenant = v_caller.tenant and d.day = v_day;
  return v_answer;
end;
$$;
comment on function pgmem.spend_extraction_tokens is $$
Reserve tokens of the day for a question to a model, or write its cost in their place.

The day is that of UTC, and the tokens are counted for the caller's tenant, whichever process asks. `granted` is false
where the tokens would exceed the setting extraction_tokens; then nothing is reserved.

tokens: The most that a question may cost; or, with reserved, its cost.
reserved: The tokens that were reserved for it; 0: it is not asked yet.
day: The day on which they were reserved.

InvalidArgument: a number is below 0, reserved is sent without day, or that many are not reserved on that day.
$$;
select pgmem.declare_verb('spend_extraction_tokens', p_rights => 'worker', p_effect => 'write',
  p_answer => 'ExtractionBudget', p_reach => 'caller');
