-- Hygiene: the report of possible repairs
--
-- run_hygiene is a report and repairs nothing: each finding names the verb that repairs it, and a person decides. Its
-- counts are of all findings; the findings of one page are cut from the whole in one order, that of the checks. A pair
-- of duplicates is written out only if it lies on the page: a set of 668 copies holds 222 778 of them.
--
-- Locks: the rows of the projects that a whole report marks, by seq.


-- The one change that a report makes. record_version makes no version for a change of last_hygiene_at alone, and
-- updated_at stays, because nothing about the project itself has changed.
create or replace function pgmem.mark_hygiene(p_project_seq bigint, p_caller pgmem.caller) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  update pgmem.node n set props = n.props || jsonb_build_object('last_hygiene_at', pgmem.now())
  from (select p.seq from pgmem.node p
        where p.label = 'Project' and p.status = 'active'
          and p.tenant in (p_caller.tenant, pgmem.tenant_of(p_caller.org_id))
          and (p_project_seq is null or p.seq = p_project_seq)
        order by p.seq for no key update) project
  where n.seq = project.seq;
end;
$$;
comment on function pgmem.mark_hygiene is
  'Set last_hygiene_at of a project, or of all projects of the caller and its organisation.';


create or replace function pgmem.duplicate_findings(
  p_project_seq bigint,
  p_scope text,
  p_limit integer,
  p_offset integer,
  out found bigint,
  out findings jsonb
)
language sql stable set search_path = pgmem, pg_temp as $$
  with joined as materialized (
    select d.*,
           sum(d.pairs) over (order by d.first_seqs[1], d.second_seqs[1] nulls first, d.first_seqs[2])
             - d.pairs as before
    from pgmem.near_duplicates(p_project_seq, p_scope) d
  ), page as (
    select j.before + p.place as number,
           pgmem.hygiene_finding('duplicates', least(p.a, p.b), greatest(p.a, p.b), j.similarity) as finding
    from (select j.* from joined j where j.before < p_offset + p_limit and j.before + j.pairs > p_offset) j
    cross join lateral (
      -- Every two of a set, or each of the first set with each of the second.
      select a.seq as a, b.seq as b, row_number() over () as place
      from unnest(j.first_seqs) with ordinality as a(seq, position)
      cross join lateral unnest(coalesce(j.second_seqs, j.first_seqs[a.position + 1 :])) as b(seq)
      limit p_offset + p_limit - j.before) p
    where j.before + p.place > p_offset
  )
  select coalesce((select sum(j.pairs) from joined j), 0),
         coalesce((select jsonb_agg(p.finding order by p.number) from page p), '[]');
$$;
comment on function pgmem.duplicate_findings is 'The number of pairs of duplicates, and those of a page as findings.';


create or replace function pgmem.other_findings(
  p_project text,
  p_project_seq bigint,
  p_scope text,
  p_pending_only boolean,
  p_duplicates bigint,
  p_limit integer,
  p_offset integer,
  out outdated_decisions bigint,
  out obsolete_patterns bigint,
  out entity_drift_count bigint,
  out unresolved_saves bigint,
  out findings jsonb
)
language sql stable set search_path = pgmem, pg_temp as $$
  with found as materialized (
    select 2 as check_number, o.seq, null::bigint as second_seq, null::uuid as save_id
    from pgmem.outdated_decisions(p_project_seq, p_scope) o where not p_pending_only
    union all
    select 3, o.seq, null, null from pgmem.obsolete_patterns(p_project_seq, p_scope) o where not p_pending_only
    union all
    select 4, d.into_seq, d.seq, null from pgmem.entity_drift(p_project_seq, p_scope) d where not p_pending_only
    union all
    select 5, (extract(epoch from u.created_at) * 1000000)::bigint, null, u.save_id
    from pgmem.unresolved_saves(p_project, p_scope) u
  ), numbered as (
    select f.*, p_duplicates + row_number() over (order by f.check_number, f.seq, f.second_seq, f.save_id) as number
    from found f
  ), page as (
    select n.number, case n.check_number
        when 5 then (select pgmem.save_finding(u) from pgmem.unresolved_saves(p_project, p_scope) u
                     where u.save_id = n.save_id limit 1)
        else pgmem.hygiene_finding(
          (array['', 'outdated_decisions', 'obsolete_patterns', 'entity_drift'])[n.check_number],
          n.seq, n.second_seq, null) end as finding
    from numbered n where n.number > p_offset and n.number <= p_offset + p_limit
  )
  select count(*) filter (where f.check_number = 2), count(*) filter (where f.check_number = 3),
         count(*) filter (where f.check_number = 4), count(*) filter (where f.check_number = 5),
         coalesce((select jsonb_agg(p.finding order by p.number) from page p), '[]')
  from found f;
$$;
comment on function pgmem.other_findings is
  'The numbers of findings of the checks other than duplicates, and those of a page; they come after the duplicates.';


create or replace function pgmem.finding_ids(p_findings jsonb) returns jsonb
language sql immutable set search_path = pgmem, pg_temp as $$
  select jsonb_object_agg(c.name, coalesce((
    select jsonb_agg((
        select string_agg(i.id, '+' order by i.place)
        from jsonb_array_elements_text(f.finding -> 'ids') with ordinality as i(id, place)) order by f.place)
    from jsonb_array_elements(p_findings) with ordinality as f(finding, place)
    where f.finding ->> 'check' = c.check_name), '[]'))
  from (values ('duplicate_decisions', 'duplicates'), ('outdated_decisions', 'outdated_decisions'),
               ('obsolete_patterns', 'obsolete_patterns'), ('entity_drift', 'entity_drift'),
               ('unresolved_saves', 'unresolved_saves')) as c(name, check_name);
$$;
comment on function pgmem.finding_ids is 'The ids of the findings of a page by check; those of a pair are joined by +.';


select pgmem.declare_answer('finding', $$
A finding of hygiene: the memories, and the verb that repairs them with its arguments.

check text, ids uuid[], label text?, titles text[] = {}, project text?, verb text, what text, arguments object = {}
similarity float8?
by [text] = {}: Who said each, person or agent, in the order of titles.
$$);

select pgmem.declare_answer('hygiene_report', $$
The counts of all findings, and the findings of this page.

project_id text?, scope text?, duplicates_found bigint, outdated_decisions bigint, obsolete_patterns bigint
entity_drift_count bigint, unresolved_saves bigint, candidate_ids {text[]}, findings finding[], total bigint
next_offset integer?, checked_at timestamptz, next_step text, oldest_pending_at timestamptz?
pending_artifact_ids uuid[] = {}, pending_only boolean, proactive_hint text?
$$);

create or replace function pgmem.run_hygiene(
  p_project_id text default null,
  p_scope pgmem.scope_name default null,
  p_check_pending_only boolean default false,
  p_limit pgmem.row_limit default 20,
  p_offset integer default 0
) returns pgmem.hygiene_report
language plpgsql security definer set search_path = pgmem, pg_temp set jit = off as $$
declare
  v_answer      pgmem.hygiene_report;
  v_caller      pgmem.caller := pgmem.caller();
  v_project_seq bigint := pgmem.find_project(p_project_id);
  v_others      record;
begin
  if coalesce(p_offset, -1) < 0 then
    raise exception using errcode = 'PM001', message = 'offset is a whole number from 0 up.';
  end if;
  -- Global memories belong to no project, so the scope global means all of the tenant's.
  if p_scope = 'global' then
    v_project_seq := null;
  end if;
  v_answer.pending_only := coalesce(p_check_pending_only, false);
  v_answer.project_id := pgmem.clean_key(p_project_id, 'project_id');
  v_answer.scope := p_scope;
  v_answer.checked_at := pgmem.now();
  v_answer.duplicates_found := 0;
  v_answer.findings := '[]';
  if not v_answer.pending_only then
    select d.found, d.findings into v_answer.duplicates_found, v_answer.findings
    from pgmem.duplicate_findings(v_project_seq, p_scope, p_limit, p_offset) d;
  end if;
  v_others := pgmem.other_findings(v_answer.project_id, v_project_seq, p_scope, v_answer.pending_only,
    v_answer.duplicates_found,
                                   p_limit, p_offset);
  v_answer.outdated_decisions := v_others.outdated_decisions;
  v_answer.obsolete_patterns := v_others.obsolete_patterns;
  v_answer.entity_drift_count := v_others.entity_drift_count;
  v_answer.unresolved_saves := v_others.unresolved_saves;
  v_answer.findings := v_answer.findings || v_others.findings;
  v_answer.candidate_ids := pgmem.finding_ids(v_answer.findings);
  v_answer.total := v_answer.duplicates_found + v_answer.outdated_decisions + v_answer.obsolete_patterns
    + v_answer.entity_drift_count + v_answer.unresolved_saves;
  v_answer.next_offset := case when p_offset + jsonb_array_length(v_answer.findings) < v_answer.total
                   then p_offset + jsonb_array_length(v_answer.findings) end;
  select min(u.created_at), coalesce(array_agg(u.save_id order by u.created_at, u.save_id), '{}')
  into v_answer.oldest_pending_at, v_answer.pending_artifact_ids
  from pgmem.unresolved_saves(v_answer.project_id, p_scope) u;

  v_answer.proactive_hint := pgmem.reflection_hint(v_caller.tenant);
  v_answer.next_step := case
    when v_answer.next_offset is not null
      then format('%s findings: go on with offset %s.', v_answer.total, v_answer.next_offset)
    when v_answer.total > 0 then 'Show the person what to repair; each finding names the verb. Nothing was changed.'
    else 'Nothing to repair.' end;
  -- A later page, one scope, or the saves alone are not a whole report.
  if not v_answer.pending_only and p_scope is null and p_offset = 0 then
    perform pgmem.require_writer();
    perform pgmem.mark_hygiene(v_project_seq, v_caller);
  end if;
  return v_answer;
end;
$$;
comment on function pgmem.run_hygiene is $$
Report duplicates, outdated decisions, obsolete patterns, entity drift and unresolved saves.

Counts are of all findings; `limit` and `offset` cut the page of findings, and `next_offset` pages on. A whole report
(no scope, from the first finding on) is noted on the project as last_hygiene_at; nothing else changes.

project_id: Project name; unset: all projects.
scope: Only of this scope; global, project or focus. Unset: all scopes.
check_pending_only: Only open saves; records no report.

InvalidArgument: the limit is not between 1 and 1000, or the offset is negative.
$$;
select pgmem.declare_verb('run_hygiene', p_rights => 'writer', p_effect => 'repeat', p_answer => 'HygieneReport',
  p_patience => 'report', p_toolset => 'core,quality',
  p_description =>
    'Call this when hygiene is due. It reports doubles, old memories and open saves, and repairs nothing.',
  p_reads_all => 'It judges all memories of a project.');
