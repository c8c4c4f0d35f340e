-- Recall: memories brought to agents, and their verdicts
--
-- A program that has brought memories to an agent (a tool of the MCP server, a hook) records it by record_recall, after
-- its answer is out and in a separate transaction: a read stays a read, and a replica can answer it. Reads of an
-- analyst in SQL are not recorded.
--
-- feedback names one memory as used, wrong or outdated. Only that changes the ranking: how often a memory is found says
-- how often it is asked for. Within feedback_cooldown_hours the last word of one agent on one memory counts, so saying
-- it again adds nothing. (used - wrong - outdated) / (all of them + 2) is between -1 and 1; a search adds it with
-- hybrid_usefulness_weight. A memory that is not the caller's own is judged for its searches alone.
--
-- Locks: record_recall none; feedback the row of usefulness.


create or replace function pgmem.record_recall(
  p_by text,
  p_memory_ids text[],
  p_act text default 'retrieved',
  p_tokens integer default null,
  p_project_id text default null,
  p_client text default null,
  p_session_id text default null
) returns integer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller;
  v_ids    uuid[];
begin
  perform pgmem.one_of('act', coalesce(p_act, 'nothing'), '{retrieved,injected}');
  if p_memory_ids is null or pgmem.setting_int('recall_days') = 0 or p_memory_ids = '{}' and p_act = 'retrieved' then
    return 0;
  end if;
  v_caller := pgmem.require_writer();
  -- A digest of cards shows the first 8 digits of an id.
  v_ids := array(
    select n.id from unnest(p_memory_ids[:1000]) with ordinality as m(id, place)
    cross join lateral (
      select n.id from pgmem.node n
      where n.id between case when m.id ~ '^[0-9a-f]{8}$' then m.id || '-0000-0000-0000-000000000000' else m.id end::uuid
                     and case when m.id ~ '^[0-9a-f]{8}$' then m.id || '-ffff-ffff-ffff-ffffffffffff' else m.id end::uuid
        and n.tenant = any (v_caller.tenants) limit 1) n
    where m.id ~ '^[0-9a-f]{8}$' or pgmem.is_uuid(m.id) order by m.place);
  if v_ids = '{}' and p_memory_ids <> '{}' then
    return 0;
  end if;
  insert into pgmem.recall_event (at, act, by, memory_ids, tokens, project, session_id, agent_id, tenant)
  values (pgmem.now(), p_act, pgmem.require_key(p_by, 'by'), v_ids, coalesce(p_tokens, 0), pgmem.clean_key(p_project_id, 'project_id'), case when p_session_id is null then v_caller.session_id
      when p_client is null then pgmem.clean_key(p_session_id, 'session_id')
      else pgmem.conversation(p_client, p_session_id) end, v_caller.agent_id, v_caller.tenant);
  return cardinality(v_ids);
end;
$$;
comment on function pgmem.record_recall is $$
Record that memories were brought to an agent; how many, 0 where recall_days is 0.

by: The tool or the event of a hook that brought them.
memory_ids: Their ids, in the order of the answer, of a card the first 8 digits; none where a hook found nothing to bring.
act: retrieved or injected.
tokens: How many tokens the answer has.
project_id: The project that was asked about.
client: The program that the conversation is held in, such as claude-code.
session_id: The id of the conversation in that program.

InvalidArgument: by is empty, or act is another word.
$$;
select pgmem.declare_verb('record_recall', p_rights => 'writer', p_effect => 'write', p_answer => 'int');


create or replace function pgmem.prune_recall(p_limit integer) returns integer
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_gone integer;
begin
  -- A word that would still be replaced by the next one stays.
  delete from pgmem.recall_event r where r.seq in (
    select e.seq from pgmem.recall_event e
    where e.at < pgmem.now() - make_interval(days => pgmem.setting_int('recall_days'))
      and (e.act in ('retrieved', 'injected')
           or e.at < pgmem.now() - make_interval(hours => pgmem.setting_int('feedback_cooldown_hours')))
    order by e.at limit p_limit);
  get diagnostics v_gone = row_count;
  return v_gone;
end;
$$;
comment on function pgmem.prune_recall is 'Remove records of recall older than recall_days; how many rows.';


select pgmem.declare_argument_type('verdict', 'text', $$pgmem.one_of('verdict', coalesce(value, 'nothing'), '{used,noise,wrong,outdated}')$$);

select pgmem.declare_answer('feedback_answer', $$
How often a memory was named as used, wrong or outdated.

class Feedback
used integer, wrong integer, outdated integer, next_step text?
noise integer = 0: How often it was brought where it did not help.
same said_again[] = {}: Beside a wrong or outdated memory, others that say the same; those in also got the same verdict.
rests resting_memory[] = {}: Those that rest on it.
$$);

create or replace function pgmem.judge_memory(
  p_node pgmem.node,
  p_verdict text,
  p_caller pgmem.caller
) returns pgmem.usefulness
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_tenant text := case when p_node.tenant in (p_caller.tenant, pgmem.tenant_of(p_caller.org_id)) then p_node.tenant
             else p_caller.tenant end;
  v_counts pgmem.usefulness;
  v_last   pgmem.recall_event;
begin
  insert into pgmem.usefulness (node_seq, tenant) values (p_node.seq, v_tenant) on conflict do nothing;
  perform from pgmem.usefulness u where u.node_seq = p_node.seq and u.tenant = v_tenant for update;
  select e.* into v_last from pgmem.recall_event e
  where e.memory_ids[1] = p_node.id and e.tenant = p_caller.tenant and e.act in ('used', 'noise', 'wrong', 'outdated')
    and e.agent_id is not distinct from p_caller.agent_id
    and e.at > pgmem.now() - make_interval(hours => pgmem.setting_int('feedback_cooldown_hours'))
  order by e.at desc, e.seq desc limit 1;
  if v_last.seq is null then
    insert into pgmem.recall_event (at, act, by, memory_ids, project, session_id, agent_id, tenant)
    values (pgmem.now(), p_verdict, 'feedback', array[p_node.id], p_node.project, p_caller.session_id, p_caller.agent_id,
      p_caller.tenant);
  else
    update pgmem.recall_event e set act = p_verdict where e.seq = v_last.seq;
  end if;
  update pgmem.usefulness u
  set used = u.used + (p_verdict = 'used')::integer - coalesce(v_last.act = 'used', false)::integer,
      noise = u.noise + (p_verdict = 'noise')::integer - coalesce(v_last.act = 'noise', false)::integer,
      wrong = u.wrong + (p_verdict = 'wrong')::integer - coalesce(v_last.act = 'wrong', false)::integer,
      outdated = u.outdated + (p_verdict = 'outdated')::integer - coalesce(v_last.act = 'outdated', false)::integer
  where u.node_seq = p_node.seq and u.tenant = v_tenant
  returning u.* into v_counts;
  return v_counts;
end;
$$;
comment on function pgmem.judge_memory is
  'Record the verdict of a caller on a memory, or change the last one of the last hours; the counts after it.';

create or replace function pgmem.feedback(
  p_id text,
  p_verdict pgmem.verdict,
  p_also text[] default '{}'
) returns pgmem.feedback_answer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.feedback_answer;
  v_caller pgmem.caller := pgmem.require_writer();
  v_node   pgmem.node := pgmem.named_memory(p_id);
  v_counts pgmem.usefulness;
begin
  v_counts := pgmem.judge_memory(v_node, p_verdict, v_caller);
  v_answer.used := v_counts.used;
  v_answer.wrong := v_counts.wrong;
  v_answer.outdated := v_counts.outdated;
  v_answer.noise := v_counts.noise;
  v_answer.same := '[]';
  v_answer.rests := '[]';
  perform pgmem.judge_memory(pgmem.named_memory(a.id), p_verdict, v_caller) from unnest(p_also) as a(id) order by a.id;
  if p_verdict in ('wrong', 'outdated') then
    v_answer.same := (select coalesce(jsonb_agg(to_jsonb(s)), '[]') from pgmem.said_again(v_node, v_caller) s);
    v_answer.rests := (select coalesce(jsonb_agg(to_jsonb(r)), '[]') from pgmem.resting_on(v_node, v_caller) r);
    v_answer.next_step := 'Save what holds instead.' || case when v_answer.same <> '[]' and p_also = '{}'
      then ' Others say the same: give their ids as also to judge them too.' else '' end;
  end if;
  return v_answer;
end;
$$;
comment on function pgmem.feedback is $$
Name a memory as used, wrong or outdated, which places it higher or lower in searches, or as noise.

A memory named wrong or outdated more often than used is marked (wrong_at) in every answer, and comes after the others.
Noise is true and did not help: a hook brings a memory named so more often than used only to a question that it answers.

The memory itself does not change. The verdict of one agent on one memory counts once in feedback_cooldown_hours: the last
word. The setting hybrid_usefulness_weight is how much it counts in searches.

id: Its id or title; of an id the first 8 digits, as a session is shown them, are enough.
verdict: The outcome; used, noise, wrong or outdated.
also: Ids judged alike; memories that say the same, as `same` of an answer names them.

MemoryNotFound: no such memory is visible here.
AmbiguousName: a title is of several memories; the message lists their ids.
InvalidArgument: the verdict is another word.
$$;
select pgmem.declare_verb('feedback', p_rights => 'writer', p_effect => 'repeat', p_answer => 'Feedback',
  p_reads_all => 'For a wrong memory it looks at all insights, and for the statement in the whole store.',
  p_toolset => 'core,entry', p_description => 'Call this when a memory was used, or proved wrong, outdated or noise.');


select pgmem.declare_answer('recalled_memory', $$
A memory that was brought to an agent; verdict: used, noise, wrong or outdated, the last word on it since.

id uuid, label text?, title text?, status text?, verdict text?
by person|agent?: Who said it; agent: also a program or a file.
$$);

select pgmem.declare_answer('recall_entry', $$
An answer that brought memories to an agent, or a word on one; tokens is None where it is a word.

A memory without a title was purged, or is not visible any more.

seq bigint, at timestamptz, act text, by text, project text?, session_id text?, agent_id text?, tokens integer?
memories recalled_memory[]
$$);

create or replace function pgmem.list_recall(
  p_project_id text default null,
  p_session_id text default null,
  p_after bigint default null,
  p_limit pgmem.row_limit default 100
) returns setof pgmem.recall_entry
language plpgsql stable security definer set search_path = pgmem, pg_temp
set plan_cache_mode = force_custom_plan as $$
declare
  v_tenants text[] := pgmem.visible_tenants();
  v_project text := (select p.title from pgmem.visible_node p where p.seq = pgmem.find_project(p_project_id));
  v_before  timestamptz := (select e.at from pgmem.recall_event e where e.seq = p_after and e.tenant = any (v_tenants));
begin
  return query
  select r.seq, r.at::timestamptz, r.act, r.by, r.project, r.session_id, r.agent_id, r.tokens,
    (select coalesce(jsonb_agg(jsonb_build_object('id', m.id, 'label', n.label, 'title', pgmem.list_title(n.label, n.title, n.props), 'status', n.status,
              'verdict', said.act, 'by', case when n.id is not null then pgmem.said_by(n.source, n.trust_level) end) order by m.place), '[]')
     from unnest(r.memory_ids) with ordinality as m(id, place)
     left join pgmem.visible_node n on n.id = m.id
     left join lateral (
       select e.act from pgmem.recall_event e
       where e.memory_ids[1] = m.id and e.tenant = r.tenant and e.act in ('used', 'noise', 'wrong', 'outdated') and e.at >= r.at
       order by e.at desc, e.seq desc limit 1) said on true)
  from (
    select found.* from unnest(v_tenants) as t(tenant)
    cross join lateral (
      select e.* from pgmem.recall_event e
      where e.tenant = t.tenant and (p_session_id is null or e.session_id = p_session_id)
        and (v_project is null or pgmem.folded(e.project) = pgmem.folded(v_project))
        and (v_before is null or e.at <= v_before and (e.at, e.seq) < (v_before, p_after))
      order by e.at desc, e.seq desc limit p_limit) found
    order by found.at desc, found.seq desc limit p_limit) r
  order by r.at desc, r.seq desc;
end;
$$;
comment on function pgmem.list_recall is $$
List the memories that tools and hooks brought to agents, and the words on it, the latest first.

A word is used, noise, wrong or outdated. All of it is kept for recall_days.

project_id: Only questions about this project; unset: everything.
session_id: Only memories brought to this conversation or session.
after: The seq of the last entry of the page before; unset: the first page.
$$;
select pgmem.declare_verb('list_recall', p_rights => 'reader', p_effect => 'look', p_answer => 'list[RecallEntry]');


create or replace function pgmem.is_prompt(p_by text) returns boolean
language sql immutable parallel safe
begin atomic
  select p_by in ('UserPromptSubmit', 'BeforeAgent', 'beforeSubmitPrompt');
end;
comment on function pgmem.is_prompt is
  'Whether memories were brought by the event of a hook at which a person sends a '
  'prompt.';


create or replace function pgmem.is_noise(p_seq bigint, p_tenants text[]) returns boolean
language sql stable set search_path = pgmem, pg_temp as $$
  select coalesce(sum(u.noise) > sum(u.used), false) from pgmem.usefulness u
  where u.node_seq = p_seq and u.tenant = any (p_tenants);
$$;
comment on function pgmem.is_noise is 'Whether a memory was named as noise more often than as used.';


select pgmem.declare_answer('recalled_count', $$
A memory and how often it was brought; verdict is the last word on it.

id uuid, label text?, title text?, status text?, times bigint, verdict text?
by person|agent?: Who said it; agent: also a program or a file.
$$);

select pgmem.declare_answer('recall_sums', $$
How often memories were brought to agents, and what was said of them.

prompts are those for which a hook looked, silent those of them that got nothing; most are the memories that were brought
most often.

days integer, sessions bigint, answers bigint, tokens bigint, prompts bigint, silent bigint, used bigint, noise bigint
wrong bigint, outdated bigint, most recalled_count[]
$$);

create or replace function pgmem.sum_recall(
  p_project_id text default null,
  p_days integer default 7
) returns pgmem.recall_sums
language plpgsql stable security definer set search_path = pgmem, pg_temp
set plan_cache_mode = force_custom_plan as $$
declare
  v_answer  pgmem.recall_sums;
  v_tenants text[] := pgmem.visible_tenants();
  v_project text := (select p.title from pgmem.visible_node p where p.seq = pgmem.find_project(p_project_id));
  v_since   timestamptz;
begin
  if p_days is null or p_days not between 1 and 3650 then
    raise exception using errcode = 'PM001', message = 'days is a whole number from 1 to 3650.';
  end if;
  v_since := pgmem.now() - make_interval(days => p_days);
  v_answer.days := p_days;
  select count(distinct e.session_id), count(*) filter (where e.tokens is not null and e.memory_ids <> '{}'),
         coalesce(sum(e.tokens), 0), count(*) filter (where pgmem.is_prompt(e.by)),
         count(*) filter (where pgmem.is_prompt(e.by) and e.memory_ids = '{}'), count(*) filter (where e.act = 'used'),
         count(*) filter (where e.act = 'noise'), count(*) filter (where e.act = 'wrong'),
         count(*) filter (where e.act = 'outdated')
  into v_answer.sessions, v_answer.answers, v_answer.tokens, v_answer.prompts, v_answer.silent, v_answer.used,
    v_answer.noise, v_answer.wrong, v_answer.outdated
  from pgmem.recall_event e
  where e.tenant = any (v_tenants) and e.at >= v_since
    and (v_project is null or pgmem.folded(e.project) = pgmem.folded(v_project));
  select coalesce(jsonb_agg(jsonb_build_object('id', m.id, 'label', n.label, 'status', n.status, 'times', m.times,
           'title', pgmem.list_title(n.label, n.title, n.props),
           'by', case when n.id is not null then pgmem.said_by(n.source, n.trust_level) end,
           'verdict', (select w.act from pgmem.recall_event w
                       where w.memory_ids[1] = m.id and w.tenant = any (v_tenants)
                         and w.act in ('used', 'noise', 'wrong', 'outdated') order by w.at desc, w.seq desc limit 1))
         order by m.times desc, m.id), '[]')
  into v_answer.most
  from (
    select b.id, count(*) as times
    from pgmem.recall_event e cross join lateral unnest(e.memory_ids) as b(id)
    where e.tenant = any (v_tenants) and e.at >= v_since and e.tokens is not null
      and (v_project is null or pgmem.folded(e.project) = pgmem.folded(v_project))
    group by b.id order by 2 desc, 1 limit 8) m
  left join pgmem.visible_node n on n.id = m.id;
  return v_answer;
end;
$$;
comment on function pgmem.sum_recall is $$
Sum the memories that tools and hooks brought to agents in the last days, and the words on it.

project_id: Only questions about this project; unset: everything.
days: The number of days, 1 to 3650.

InvalidArgument: days is another number.
$$;
select pgmem.declare_verb('sum_recall', p_rights => 'reader', p_effect => 'look', p_answer => 'RecallSums',
  p_reads_all => 'It sums the record of some days.');
