-- The balance: the cost of the memory, its results, and whether it pays
--
-- The hooks record which rules came before a command, whether the command ran all the same, and which errors came
-- (record_act); the record of recall holds the memories brought and the verdicts on them. sum_balance puts them side by side.
-- None of its counts says that a memory was the cause: who has many memories works otherwise than who has few. So a
-- person may switch on a trial (the setting memory_trial): a coin gives each session its memories or none, shows it at its
-- beginning, and the sessions are compared as they were assigned, whatever their agents did (intention to treat).
--
-- The difference of two means comes with its interval of 95 % by Welch's method, whose variances may differ, and with the
-- number of sessions of each arm. With fewer than ten sessions in an arm, or an interval that holds 0, it says nothing
-- ("too few to say"): four measures are compared, so one in five trials without any effect would show one by chance if each
-- were read alone; the intervals are therefore those of 98.75 % (Bonferroni), which hold together with 95 %.
--
-- Locks: none.

select pgmem.declare_table('act_event', 'tenant', p_shown_to => 'tenant', p_adopted => 'all');
select pgmem.declare_table('trial_session', 'tenant', p_shown_to => 'tenant', p_adopted => 'all');


create or replace function pgmem.prune_acts(p_limit integer) returns integer
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_gone integer;
begin
  delete from pgmem.act_event a where a.seq in (
    select e.seq from pgmem.act_event e where e.at < pgmem.now() - make_interval(days => pgmem.setting_int('recall_days'))
    order by e.at limit p_limit);
  get diagnostics v_gone = row_count;
  return v_gone;
end;
$$;
comment on function pgmem.prune_acts is
  'Remove records of acts older than recall_days; how many rows. Sessions of a trial '
  'stay.';
select pgmem.declare_step('sweep', 'prune_acts');


create or replace function pgmem.record_act(
  p_act text,
  p_key text,
  p_memory_ids text[] default '{}',
  p_project_id text default null,
  p_client text default null,
  p_session_id text default null
) returns boolean
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller  pgmem.caller;
  v_session text;
  v_again   boolean;
begin
  perform pgmem.one_of('act', coalesce(p_act, 'nothing'), '{met,done,failed}');
  if pgmem.setting_int('recall_days') = 0 then
    return false;
  end if;
  v_caller := pgmem.require_writer();
  v_session := case when p_session_id is null then v_caller.session_id when p_client is null then pgmem.clean_key(p_session_id, 'session_id')
    else pgmem.conversation(p_client, p_session_id) end;
  v_again := exists (
    select from pgmem.act_event e
    where e.tenant = v_caller.tenant and e.act = p_act and e.key = left(p_key, 64) and e.session_id is distinct from v_session
      and pgmem.folded(e.project) is not distinct from pgmem.folded(p_project_id));
  insert into pgmem.act_event (at, act, key, memory_ids, project, session_id, agent_id, tenant)
  values (pgmem.now(), p_act, pgmem.require_key(left(p_key, 64), 'key'),
    array(select n.id from unnest(p_memory_ids[:20]) as m(id) cross join lateral pgmem.nodes_by_id(m.id, v_caller.tenants) n),
    pgmem.clean_key(p_project_id, 'project_id'), v_session, v_caller.agent_id, v_caller.tenant);
  if p_act = 'failed' then
    update pgmem.trial_session t set failed = t.failed + 1, repeated = t.repeated + v_again::integer
    where t.tenant = v_caller.tenant and t.session_id = v_session;
  end if;
  return v_again;
end;
$$;
comment on function pgmem.record_act is $$
Record that rules met a command, that it ran all the same, or that it failed; whether again.

act: met, done or failed.
key: A digest of the command, or of the error.
memory_ids: The rules that it met, or the memories that came with the error.
project_id: The project of the session.
client: The program that the conversation is held in, such as claude-code.
session_id: The id of the conversation in that program.

InvalidArgument: the key is empty, or act is another word.
$$;
select pgmem.declare_verb('record_act', p_rights => 'writer', p_effect => 'write', p_answer => 'bool');


create or replace function pgmem.begin_trial(
  p_client text,
  p_session_id text,
  p_project_id text default null
) returns text
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller  pgmem.caller;
  v_session text := pgmem.conversation(p_client, p_session_id);
begin
  if pgmem.setting_text('memory_trial') <> 'on' then
    return 'none';
  end if;
  v_caller := pgmem.require_writer();
  insert into pgmem.trial_session (tenant, session_id, project, arm, begun_at)
  values (v_caller.tenant, v_session, pgmem.clean_key(p_project_id, 'project_id'),
          case when random() < 0.5 then 'with' else 'without' end, pgmem.now())
  on conflict do nothing;
  return (select t.arm from pgmem.trial_session t where t.tenant = v_caller.tenant and t.session_id = v_session);
end;
$$;
comment on function pgmem.begin_trial is $$
Toss the coin of a session once: with or without memory; none where the setting memory_trial is off.

client: The program that the conversation is held in, such as claude-code.
session_id: The id of the conversation in that program.
project_id: The project of the session.
$$;
select pgmem.declare_verb('begin_trial', p_rights => 'writer', p_effect => 'write', p_answer => 'str');


create or replace function pgmem.record_trial(
  p_client text,
  p_session_id text,
  p_prompts integer default 0,
  p_tokens bigint default null
) returns boolean
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller  pgmem.caller := pgmem.require_writer();
begin
  perform pgmem.integer_between('prompts', p_prompts, 0, 1000);
  update pgmem.trial_session t
  set prompts = t.prompts + p_prompts, tokens = greatest(t.tokens, p_tokens)
  where t.tenant = v_caller.tenant and t.session_id = pgmem.conversation(p_client, p_session_id);
  return found;
end;
$$;
comment on function pgmem.record_trial is $$
Count prompts and tokens of a session of the trial; false where it is none.

client: The program that the conversation is held in, such as claude-code.
session_id: The id of the conversation in that program.
prompts: How many prompts a person has sent since the last count.
tokens: How many tokens the session has taken so far.

InvalidArgument: prompts is below 0.
$$;
select pgmem.declare_verb('record_trial', p_rights => 'writer', p_effect => 'write', p_answer => 'bool');


-- The quantile of Student's t by the expansion of Cornish and Fisher: from 4 degrees of freedom on within 0.6 % at 99.375 %.
create or replace function pgmem.t_quantile(p_z float8, p_degrees float8) returns float8
language sql immutable parallel safe
begin atomic
  select p_z + (p_z ^ 3 + p_z) / (4 * p_degrees) + (5 * p_z ^ 5 + 16 * p_z ^ 3 + 3 * p_z) / (96 * p_degrees ^ 2)
    + (3 * p_z ^ 7 + 19 * p_z ^ 5 + 17 * p_z ^ 3 - 15 * p_z) / (384 * p_degrees ^ 3);
end;
comment on function pgmem.t_quantile is 'The quantile of Student''s t for a quantile of the normal distribution and degrees of freedom.';


select pgmem.declare_answer('trial_measure', $$
A measure of the sessions of a trial: its means, and their difference with its interval.

Where says is too few to say, nothing follows from the difference; else it is fewer or more with memory.

name text, with_n integer, without_n integer, with_mean float8?, without_mean float8?, difference float8?, low float8?, high float8?
says text
$$);

create or replace function pgmem.compare_arms(p_name text, p_with float8[], p_without float8[]) returns pgmem.trial_measure
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.trial_measure;
  v_a      record;
  v_b      record;
  v_error  float8;
  v_degrees float8;
begin
  select count(*)::integer as n, avg(x) as mean, var_samp(x) as var into v_a from unnest(p_with) x;
  select count(*)::integer as n, avg(x) as mean, var_samp(x) as var into v_b from unnest(p_without) x;
  v_answer.name := p_name;
  v_answer.with_n := v_a.n;
  v_answer.without_n := v_b.n;
  v_answer.with_mean := v_a.mean;
  v_answer.without_mean := v_b.mean;
  v_answer.difference := v_a.mean - v_b.mean;
  v_answer.says := 'too few to say';
  if least(v_a.n, v_b.n) >= 2 then
    v_error := v_a.var / v_a.n + v_b.var / v_b.n;
    v_degrees := case when v_error = 0 then 1000 else v_error ^ 2 / (
      (v_a.var / v_a.n) ^ 2 / (v_a.n - 1) + (v_b.var / v_b.n) ^ 2 / (v_b.n - 1)) end;
    -- 2.4977 leaves 0.625 % above: four intervals of 98.75 % hold together with 95 %.
    v_answer.low := v_answer.difference - pgmem.t_quantile(2.4977, v_degrees) * sqrt(v_error);
    v_answer.high := v_answer.difference + pgmem.t_quantile(2.4977, v_degrees) * sqrt(v_error);
    if least(v_a.n, v_b.n) >= 10 and v_error > 0 then
      v_answer.says := case when v_answer.high < 0 then 'fewer with memory' when v_answer.low > 0 then 'more with memory'
        else 'too few to say' end;
    end if;
  end if;
  return v_answer;
end;
$$;
comment on function pgmem.compare_arms is
  'The means of a measure in both arms of a trial, and their difference with its interval by Welch''s method.';


select pgmem.declare_answer('event_tokens', $$
The lines that an event of a hook, or a tool, brought: how often, in how many tokens.

by text, answers bigint, tokens bigint
$$);

select pgmem.declare_answer('errors_again', $$
Errors that came, and how many of them came again in a later session.

with_memory bigint: Errors with which a memory came.
again_with_memory bigint: Those among them that came again after that.
without_memory bigint: Errors with which no memory came.
again_without_memory bigint: Those among them that came again.
$$);

select pgmem.declare_answer('balance', $$
Cost and outcome of memory in the last days; outside the trial no count says why.

days integer, sessions bigint, tokens bigint, brought event_tokens[]
memories_brought bigint: Different memories that were brought.
used bigint: How often one was named as used.
noise bigint: How often one was named as noise.
wrong bigint: How often one was named as wrong or outdated.
corrected bigint: Memories that were brought and then replaced, changed or forgotten.
met bigint: Commands that a rule met before they ran.
changed bigint: Those among them that did not run in their session.
done bigint: Those among them that ran all the same.
errors errors_again
trial boolean: Whether a trial is on.
measures trial_measure[]: Sums over all sessions of the trial so far; empty: none was held.
$$);

create or replace function pgmem.sum_balance(
  p_project_id text default null,
  p_days integer default 30
) returns pgmem.balance
language plpgsql stable security definer set search_path = pgmem, pg_temp
set plan_cache_mode = force_custom_plan as $$
declare
  v_answer  pgmem.balance;
  v_tenants text[] := pgmem.visible_tenants();
  v_project text := pgmem.folded((select p.title from pgmem.visible_node p where p.seq = pgmem.find_project(p_project_id)));
  v_since   timestamptz;
begin
  perform pgmem.integer_between('days', p_days, 1, 3650);
  v_since := pgmem.now() - make_interval(days => p_days);
  v_answer.days := p_days;
  v_answer.trial := pgmem.setting_text('memory_trial') = 'on';
  select count(distinct e.session_id), coalesce(sum(e.tokens), 0), count(*) filter (where e.act = 'used'),
         count(*) filter (where e.act = 'noise'), count(*) filter (where e.act in ('wrong', 'outdated'))
  into v_answer.sessions, v_answer.tokens, v_answer.used, v_answer.noise, v_answer.wrong
  from pgmem.recall_event e
  where e.tenant = any (v_tenants) and e.at >= v_since and (v_project is null or pgmem.folded(e.project) = v_project);
  select coalesce(jsonb_agg(jsonb_build_object('by', b.by, 'answers', b.answers, 'tokens', b.tokens) order by b.tokens desc, b.by), '[]')
  into v_answer.brought
  from (select e.by, count(*) as answers, sum(e.tokens) as tokens from pgmem.recall_event e
        where e.tenant = any (v_tenants) and e.at >= v_since and e.tokens is not null and e.memory_ids <> '{}'
          and (v_project is null or pgmem.folded(e.project) = v_project)
        group by e.by) b;
  with brought as materialized (
    select m.id, min(e.at) as at from pgmem.recall_event e cross join lateral unnest(e.memory_ids) as m(id)
    where e.tenant = any (v_tenants) and e.at >= v_since and e.tokens is not null
      and (v_project is null or pgmem.folded(e.project) = v_project)
    group by m.id
  )
  select count(*), count(*) filter (where n.seq is null or not pgmem.is_live_status(n.status) or n.updated_at > b.at)
  into v_answer.memories_brought, v_answer.corrected
  from brought b left join pgmem.visible_node n on n.id = b.id;
  -- A command of a session counts once, however often it was tried.
  select count(*), count(*) filter (where a.done), count(*) filter (where not a.done)
  into v_answer.met, v_answer.done, v_answer.changed
  from (select bool_or(e.act = 'done') as done, bool_or(e.act = 'met') as met from pgmem.act_event e
        where e.tenant = any (v_tenants) and e.at >= v_since and e.act in ('met', 'done')
          and (v_project is null or pgmem.folded(e.project) = v_project)
        group by e.tenant, e.session_id, e.key) a
  where a.met;
  with failed as materialized (
    select e.tenant, pgmem.folded(e.project) as project, e.key, e.session_id, min(e.at) as at, bool_or(e.memory_ids <> '{}') as helped
    from pgmem.act_event e
    where e.tenant = any (v_tenants) and e.at >= v_since and e.act = 'failed' and (v_project is null or pgmem.folded(e.project) = v_project)
    group by 1, 2, 3, 4
  ), first as (
    -- With memory: from the first session in which one came; without: where none ever came.
    select f.tenant, f.project, f.key, min(f.at) filter (where f.helped) as helped_at, min(f.at) as at, max(f.at) as last_at
    from failed f group by 1, 2, 3
  )
  select jsonb_build_object('with_memory', count(*) filter (where f.helped_at is not null),
    'again_with_memory', count(*) filter (where f.last_at > f.helped_at),
    'without_memory', count(*) filter (where f.helped_at is null),
    'again_without_memory', count(*) filter (where f.helped_at is null and f.last_at > f.at))
  into v_answer.errors from first f;
  select case when count(*) = 0 then '[]' else jsonb_build_array(
    to_jsonb(pgmem.compare_arms('prompts', array_agg(t.prompts::float8) filter (where t.arm = 'with'), array_agg(t.prompts::float8) filter (where t.arm = 'without'))),
    to_jsonb(pgmem.compare_arms('tokens', array_agg(t.tokens::float8) filter (where t.arm = 'with' and t.tokens is not null),
      array_agg(t.tokens::float8) filter (where t.arm = 'without' and t.tokens is not null))),
    to_jsonb(pgmem.compare_arms('failed commands', array_agg(t.failed::float8) filter (where t.arm = 'with'), array_agg(t.failed::float8) filter (where t.arm = 'without'))),
    to_jsonb(pgmem.compare_arms('repeated errors', array_agg(t.repeated::float8) filter (where t.arm = 'with'), array_agg(t.repeated::float8) filter (where t.arm = 'without')))) end
  into v_answer.measures
  from pgmem.trial_session t
  where t.tenant = any (v_tenants) and (v_project is null or pgmem.folded(t.project) = v_project) and t.prompts > 0;
  return v_answer;
end;
$$;
comment on function pgmem.sum_balance is $$
Sum the cost of the memory and its results: tokens, words of agents, rules, errors, and the trial.

A trial is switched on by the setting memory_trial. Its sessions count from the first prompt on, and stay when recall_days are over.

project_id: Only this project; unset: everything.
days: The number of days, 1 to 3650; of the trial all sessions count.

InvalidArgument: days is another number.
$$;
select pgmem.declare_verb('sum_balance', p_rights => 'reader', p_effect => 'look', p_answer => 'Balance',
  p_reads_all => 'It sums the record of some days.');
