-- Rules and skills: a person's rules, and patterns that have held, as Agent Skills
--
-- A text becomes an order only from a person (is_of_a_person, 08-caller). So a rule that an agent saves, and a pattern
-- of an agent that has held, are offered to a person: list_rules shows them whole, and decide_rule takes one over, in the
-- version that was shown, or leaves it the ordinary note that it is and does not offer it again while its text is the same.
--
-- The standing instructions of a project are one skill. A pattern is one once it has held: named used at least three
-- times more often than wrong or outdated, where one agent's word on it counts once in feedback_cooldown_hours. No agent
-- changes a skill that a person has taken over.
--
-- Locks: the scope and the row of the memory that decide_rule decides on.


create or replace function pgmem.skill_name(p_text text, p_id uuid) returns text
language sql immutable parallel safe
begin atomic
  select case when s.name = '' then 'skill-' || right(p_id::text, 8) else s.name end
  from (select btrim(left(btrim(regexp_replace(lower(p_text), '[^a-z0-9]+', '-', 'g'), '-'), 48), '-') as name) s;
end;
comment on function pgmem.skill_name is
  'A text as the name of a skill: lower-case letters, digits and single hyphens, 48 at most; of the id if none is left.';


select pgmem.declare_answer('skill_entry', $$
A skill, or a pattern that has held and waits for a person.

held is how often it was named used rather than wrong; lines are the instructions, or the steps of a pattern in their order; ids the memories that they come from.

name text, kind instructions|pattern, project text?, title text, lines text[], exclusions text[], held integer
approved boolean, ids uuid[]
$$);

create or replace function pgmem.list_skills(
  p_project_id text default null,
  p_limit pgmem.row_limit default 100
) returns setof pgmem.skill_entry
language plpgsql stable security definer set search_path = pgmem, pg_temp
set plan_cache_mode = force_custom_plan as $$
declare
  v_tenants text[] := pgmem.visible_tenants();
  v_project bigint := pgmem.find_project(p_project_id);
begin
  return query
  with standing as (
    select n.project_seq, n.project, n.id, n.seq,
           left(n.title || coalesce(': ' || pgmem.text_under(n.label, n.title, n.props), ''), 2000) as line,
           row_number() over (partition by n.project_seq order by n.created_at, n.seq) as place
    from pgmem.live_node n
    where n.instructs and n.tenant = any (v_tenants) and pgmem.is_memory(n.label) and n.label <> 'Pattern'
      and (v_project is null or n.project_seq = v_project or n.scope = 'global')
      and pgmem.is_of_a_person(n.source, n.trust_level)
  ), pattern as (
    select n.project, n.id, n.seq, n.title::text as title, n.props, pgmem.is_of_a_person(n.source, n.trust_level) as approved,
           held.number, pgmem.skill_name(n.title, n.id) as name
    from (select u.node_seq, sum(u.used - u.wrong - u.outdated)::integer as number from pgmem.usefulness u
          where u.tenant = any (v_tenants) group by u.node_seq having sum(u.used - u.wrong - u.outdated) >= 3) held
    join pgmem.live_node n on n.seq = held.node_seq
    where n.label = 'Pattern' and n.tenant = any (v_tenants)
      and (v_project is null or n.project_seq = v_project or n.scope = 'global')
    order by approved desc, held.number desc, n.seq limit p_limit
  )
  (select case when s.project is null then 'standing-instructions'
            else pgmem.skill_name(s.project, (array_agg(s.id order by s.place))[1]) || '-instructions' end,
          'instructions', s.project, 'Rules that always hold' || coalesce(' in ' || s.project, ''),
          array_agg(s.line order by s.place), '{}'::text[], 0, true, array_agg(s.id order by s.place)
   from standing s where s.place <= 50 group by s.project order by s.project nulls first limit p_limit)
  union all
  (select p.name || case when count(*) over (partition by p.name) > 1 or p.name ~ '(^standing|-instructions$)'
            then '-' || right(p.id::text, 8) else '' end,
          'pattern', p.project, p.title,
          array(select jsonb_array_elements_text(p.props -> 'repeatable_steps')),
          array(select jsonb_array_elements_text(coalesce(nullif(p.props -> 'exclusions', 'null'), '[]'))),
          p.number, p.approved, array[p.id]
   from pattern p order by p.approved desc, p.number desc, p.seq)
  limit p_limit;
end;
$$;
comment on function pgmem.list_skills is $$
List the standing instructions and the patterns that have held three times, as skills.

Only the words of a person are skills. A pattern of an agent has approved false, until a person takes it over (decide_rule).

project_id: Only those of this project, and global ones; unset: of all.
$$;
select pgmem.declare_verb('list_skills', p_rights => 'reader', p_effect => 'look', p_answer => 'list[SkillEntry]');


select pgmem.declare_answer('waiting_rule', $$
A rule that an agent saved, or a pattern of an agent that has held: whole, as a person decides on it.

held is how often a pattern was named used rather than wrong.

id uuid, label text, kind rule|pattern, title text, properties object, project text?, scope text?, focus text?
version integer, source text, agent_id text?, held integer, created_at timestamptz
valid_from timestamptz?, valid_to timestamptz?
$$);

create or replace function pgmem.list_rules(
  p_project_id text default null,
  p_limit pgmem.row_limit default 100
) returns setof pgmem.waiting_rule
language plpgsql stable security definer set search_path = pgmem, pg_temp
set plan_cache_mode = force_custom_plan as $$
declare
  v_caller  pgmem.caller := pgmem.caller();
  v_project bigint := pgmem.find_project(p_project_id);
begin
  return query
  select n.id, n.label::text, 'rule', n.title::text, n.props, n.project, n.scope::text, n.focus, n.version, n.source,
         n.agent_id, 0, n.created_at::timestamptz, n.valid_from::timestamptz, n.valid_to::timestamptz
  from pgmem.rules_that_wait(v_caller, v_project, p_limit) n
  union all
  (select n.id, n.label::text, 'pattern', n.title::text, n.props, n.project, n.scope::text, n.focus, n.version, n.source,
          n.agent_id, s.held, n.created_at::timestamptz, n.valid_from::timestamptz, n.valid_to::timestamptz
   from pgmem.list_skills(p_project_id, p_limit) s join pgmem.live_node n on n.id = s.ids[1]
   where not s.approved and not n.instructs and not exists (
     select from pgmem.declined_rule d where d.node_seq = n.seq
       and d.text_hash = pgmem.rule_hash(n.label, n.title, n.props)))
  limit p_limit;
end;
$$;
comment on function pgmem.list_rules is $$
List the rules of agents, and their patterns that have held, that wait for a person's yes.

Until then each is an ordinary note or pattern: agents find it, and none has to follow it.

project_id: Only those of this project, and global ones; unset: of all.
$$;
select pgmem.declare_verb('list_rules', p_rights => 'reader', p_effect => 'look', p_answer => 'list[WaitingRule]');


create or replace function pgmem.decide_rule(
  p_id uuid,
  p_version integer,
  p_yes boolean,
  p_by text
) returns pgmem.edited_memory
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_by     text;
  v_node   pgmem.node;
begin
  perform pgmem.require_reviewer('decide_rule');
  if not (v_caller.source in ('cli', 'ui') and pgmem.decides(v_caller)) then
    raise exception using errcode = 'PM004',
      message = 'Only a person makes a rule, at the command line or on the page: mention to them that it waits there.';
  elsif p_yes is null then
    raise exception using errcode = 'PM001', message = 'yes is true or false; it is null here.';
  end if;
  v_by := pgmem.require_key(p_by, 'by');
  v_node := pgmem.require_memory(p_id);
  perform pgmem.require_forgettable(v_node, v_caller);
  v_node := pgmem.locked(v_node);
  if v_node.version is distinct from p_version then
    raise exception using errcode = 'PM001', message = format(
      'The memory has changed since it was shown: it is at version %s. Look at it, then decide again.', v_node.version);
  elsif not pgmem.is_live_status(v_node.status) then
    raise exception using errcode = 'PM001', message = format('The memory is %s; there is nothing to decide.', v_node.status);
  elsif pgmem.is_of_a_person(v_node.source, v_node.trust_level) then
    raise exception using errcode = 'PM001', message = case when p_yes
      then 'It is the word of a person already.' else 'It is the word of a person: forget it, or correct it.' end;
  elsif p_yes then
    v_node := pgmem.taken_over(v_node, v_caller.source, v_caller.trust_level, v_by);
  else
    insert into pgmem.declined_rule (node_seq, text_hash, declined_by, declined_at)
    values (v_node.seq, pgmem.rule_hash(v_node.label, v_node.title, v_node.props), v_by, pgmem.now())
    on conflict (node_seq) do update
    set text_hash = excluded.text_hash, declined_by = excluded.declined_by, declined_at = excluded.declined_at;
  end if;
  return row(v_node.id, v_node.label, v_node.title, v_node.status, v_node.version,
             pgmem.said_by(v_node.source, v_node.trust_level))::pgmem.edited_memory;
end;
$$;
comment on function pgmem.decide_rule is $$
Decide as a person on a rule or pattern of an agent: take it over as it is, or leave it a note.

A memory taken over is the person's from now on, a new version with the same text: a rule is an instruction, and a pattern
that has held a skill. A memory left as a note is not offered again while its text is the same.

id: The id of the memory; any live memory of an agent can be taken over.
version: The version that the person was shown; another one since is refused.
yes: True takes it over; false leaves it a note.

NotPermitted: the login is neither owner nor reviewer, or the call does not come from the command line or the page.
MemoryNotFound: no such memory is visible to the caller.
InvalidArgument: it has changed since it was shown, it is not live, or it is a person's already.
RelationNotAllowed: the memory is a card.
IdentityRequired: the store has tenants and the caller has no identity.
WrongIsolation: the transaction is not READ COMMITTED.
$$;
select pgmem.declare_verb('decide_rule', p_rights => 'reviewer', p_effect => 'write', p_answer => 'EditedMemory',
  p_reach => 'caller');
