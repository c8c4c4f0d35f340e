-- Skills: what a person wants done, and what has held, as Agent Skills
--
-- A skill is text that a program follows, so only the words of a person become one: what was last written at the command
-- line or on the page, with the trust of that way in. Trust is lower where a text was merged out of an agent's.
--
-- The standing instructions of a project are one skill. A pattern is one once it has held: named used at least three
-- times more often than wrong or outdated, where one agent's word on it counts once in feedback_cooldown_hours. A
-- pattern that an agent saved waits, approved false, until a person takes it over by edit_memory; from then on no agent
-- changes it, and what is changed at the command line is a person's again.
--
-- Locks: none.


create or replace function pgmem.is_of_a_person(p_source text, p_trust_level float8) returns boolean
language sql stable
begin atomic
  select coalesce(p_source in ('cli', 'ui') and p_trust_level >= pgmem.setting_float('trust_' || p_source), false);
end;
comment on function pgmem.is_of_a_person is
  'Whether the state of a memory was written by a person, at the command line or on the page, and out of nothing else.';


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
          'instructions', s.project, 'What is always to be done' || coalesce(' in ' || s.project, ''),
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

Only the words of a person are skills. A pattern of an agent has approved false, until a person takes it over.

project_id: Only of this project, and what is global; unset: of all.
$$;
select pgmem.declare_verb('list_skills', p_rights => 'reader', p_effect => 'look', p_answer => 'list[SkillEntry]');
