-- Routing: how to reason about a task
--
-- route_analysis recommends one of three ways to reason by the keywords in a task's description: debate for trade-offs,
-- socratic for unclear requirements, else sequential. A hint that names a way, or holds one of its keywords, decides
-- alone. Keywords are matched as words, not as substrings: "advs rollout" holds no "vs". A plural counts as its word.
--
-- Locks: none.


create or replace function pgmem.ways_to_reason() returns table (
  place integer,
  mode text,
  keywords text[],
  steps text[]
)
language sql immutable set search_path = pgmem, pg_temp as $$
  values
    (1, 'sequential',
     '{strategic,strategy,multi-factor,planning,roadmap,prioritize}'::text[],
     array['Define the problem statement and success criteria.',
           'Gather relevant context from memory (retrieve_context).',
           'Break the problem into sequential steps or phases.',
           'Analyze each step for dependencies and risks.',
           'Synthesize conclusions and save durable decisions.']),
    (2, 'debate',
     '{trade-off,tradeoff,compare,versus,vs,debate,alternatives,option,choose,decision between}',
     array['Enumerate the competing options or trade-offs.',
           'Retrieve prior decisions on similar trade-offs.',
           'Evaluate each option against criteria (cost, risk, fit).',
           'State the recommended option with rationale.',
           'Save the final decision with confidence score.']),
    (3, 'socratic',
     '{unclear,requirements,discovery,explore,what do you mean,clarify,understand,not sure,ambiguous}',
     array['Identify what is unclear or ambiguous in the request.',
           'Ask targeted clarifying questions (one at a time).',
           'Confirm understanding before proceeding.',
           'Restate requirements in your own words for validation.',
           'Proceed with analysis only after requirements are resolved.']);
$$;
comment on function pgmem.ways_to_reason is
  'The ways to reason, with their keywords and steps; scripts/generate writes them for agents without a server.';


select pgmem.declare_answer('route', $$
How to reason about a task.

mode sequential|debate|socratic, rationale text, suggested_steps text[]
$$);

create or replace function pgmem.route_analysis(
  p_task_description text,
  p_task_type_hint text default null
) returns pgmem.route
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.route;
  v_hint   text := lower(coalesce(pgmem.clean_text(p_task_type_hint, 'task_type_hint'), ''));
  v_text   text := lower(coalesce(pgmem.clean_text(p_task_description, 'task_description'), '')) || ' ' || v_hint;
  v_counts integer[];
  v_hinted text;
begin
  with keyword as (
    select w.place, w.mode, format('\m%ss?\M', replace(word, ' ', '\s+')) as pattern
    from pgmem.ways_to_reason() w cross join unnest(w.keywords) as word
  )
  select array(select count(*) filter (where v_text ~ k.pattern)::integer
               from keyword k group by k.place order by k.place),
         (select k.mode from keyword k where v_hint ~ k.pattern or v_hint = k.mode order by k.place limit 1)
  into v_counts, v_hinted;
  v_answer.mode := case
    when v_hinted is not null then v_hinted
    when v_counts[2] > greatest(v_counts[1], v_counts[3]) then 'debate'
    when v_counts[3] > greatest(v_counts[1], v_counts[2]) then 'socratic'
    else 'sequential' end;
  v_answer.rationale := case
    when v_hinted is not null then format('task_type_hint matched %s keywords', v_hinted)
    when v_answer.mode = 'debate' then 'task description suggests trade-off evaluation'
    when v_answer.mode = 'socratic' then 'task description suggests requirements discovery'
    else 'default: structured multi-step analysis' end;
  v_answer.suggested_steps := (select w.steps from pgmem.ways_to_reason() w where w.mode = v_answer.mode);
  return v_answer;
end;
$$;
comment on function pgmem.route_analysis is $$
Recommend how to reason about a task: sequential, debate or socratic, with its five steps.

Debate is for trade-offs, socratic for unclear requirements, sequential for everything else.

task_description: The task, in words.
task_type_hint: sequential, debate, socratic or a keyword; it decides alone. Unset: the description decides.

InvalidArgument: the description or the hint is too long.
$$;
select pgmem.declare_verb('route_analysis', p_rights => 'reader', p_effect => 'read', p_answer => 'Route',
  p_toolset => 'quality', p_description => 'Call this to learn how to reason about a task: sequential, debate or socratic, with steps.');
