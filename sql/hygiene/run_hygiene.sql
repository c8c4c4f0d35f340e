-- A report, never a repair. The page is cut from the whole: counts are of everything, findings of the page.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.run_hygiene(p_project_id text default null, p_scope text default null,
  p_check_pending_only boolean default false, p_limit integer default 1000, p_offset integer default 0,
  out project_id text, out scope text, out duplicates_found bigint, out outdated_decisions bigint, out obsolete_patterns bigint,
  out entity_drift_count bigint, out unresolved_saves bigint, out candidate_ids jsonb, out findings jsonb, out total bigint,
  out next_offset integer, out checked_at timestamptz, out next_step text, out oldest_pending_at timestamptz,
  out pending_artifact_ids uuid[], out pending_only boolean, out proactive_hint text)
language plpgsql security definer
set search_path = pgmem, pg_temp
set jit = off
as $$
#variable_conflict use_variable
declare
  v_caller      pgmem.caller := pgmem.caller();
  v_project     text := pgmem.clean_key(p_project_id, 'project_id');
  v_project_seq bigint := pgmem.find_project(p_project_id);
  v_page        jsonb := '[]';
begin
  if p_scope is not null and p_scope not in ('global', 'project', 'focus') then
    raise exception using errcode = 'PM001', message = format('scope is global, project or focus, not %s.', p_scope);
  end if;
  if coalesce(p_limit, 0) not between 1 and 100000 or coalesce(p_offset, -1) < 0 then
    raise exception using errcode = 'PM001', message = 'limit is a whole number from 1 to 100000, offset one from 0 up.';
  end if;
  -- Global memories belong to no project: asked for by name, they are all of the tenant's.
  if p_scope = 'global' then
    v_project_seq := null;
  end if;
  pending_only := coalesce(p_check_pending_only, false);
  project_id := v_project;
  scope := p_scope;
  checked_at := pgmem.now();
  duplicates_found := 0;
  outdated_decisions := 0;
  obsolete_patterns := 0;
  entity_drift_count := 0;

  if not pending_only then
    -- Every two of a set, or every one of the first with every one of the second; only those of the page are spelt out.
    with joined as materialized (
      select d.*, sum(d.pairs) over (order by d.first_seqs[1], d.second_seqs[1] nulls first, d.first_seqs[2]) - d.pairs as before
      from pgmem.near_duplicates(v_project_seq, p_scope) d
    ), page as (
      select j.before + p.place as number, pgmem.hygiene_finding('duplicates', least(p.a, p.b), greatest(p.a, p.b), j.similarity) as finding
      from (select j.* from joined j where j.before < p_offset + p_limit and j.before + j.pairs > p_offset) j
      cross join lateral (
        select a.seq as a, b.seq as b, row_number() over () as place
        from unnest(j.first_seqs) with ordinality as a(seq, position)
        cross join lateral unnest(coalesce(j.second_seqs, j.first_seqs[a.position + 1 :])) as b(seq)
        limit p_offset + p_limit - j.before) p
      where j.before + p.place > p_offset
    )
    select coalesce((select sum(j.pairs) from joined j), 0), coalesce((select jsonb_agg(p.finding order by p.number) from page p), '[]')
    into duplicates_found, v_page;
  end if;

  with found as materialized (
    select 2 as check_number, o.seq, null::bigint as second_seq, null::uuid as save_id
    from pgmem.outdated_decisions(v_project_seq, p_scope) o where not pending_only
    union all
    select 3, o.seq, null, null from pgmem.obsolete_patterns(v_project_seq, p_scope) o where not pending_only
    union all
    select 4, d.into_seq, d.seq, null from pgmem.entity_drift(v_project_seq, p_scope) d where not pending_only
    union all
    select 5, (extract(epoch from u.created_at) * 1000000)::bigint, null, u.save_id from pgmem.unresolved_saves(v_project, p_scope) u
  ), numbered as (
    select f.*, duplicates_found + row_number() over (order by f.check_number, f.seq, f.second_seq, f.save_id) as number from found f
  )
  select count(*) filter (where f.check_number = 2), count(*) filter (where f.check_number = 3),
         count(*) filter (where f.check_number = 4), count(*) filter (where f.check_number = 5),
         v_page || coalesce((
           select jsonb_agg(case n.check_number
               when 5 then (select pgmem.save_finding(u) from pgmem.unresolved_saves(v_project, p_scope) u where u.save_id = n.save_id limit 1)
               else pgmem.hygiene_finding((array['', 'outdated_decisions', 'obsolete_patterns', 'entity_drift'])[n.check_number],
                                          n.seq, n.second_seq, null) end order by n.number)
           from numbered n where n.number > p_offset and n.number <= p_offset + p_limit), '[]')
  into outdated_decisions, obsolete_patterns, entity_drift_count, unresolved_saves, findings
  from found f;
  total := duplicates_found + outdated_decisions + obsolete_patterns + entity_drift_count + unresolved_saves;
  next_offset := case when p_offset + jsonb_array_length(findings) < total then p_offset + jsonb_array_length(findings) end;
  candidate_ids := (
    select jsonb_object_agg(c.name, coalesce((
      select jsonb_agg((select string_agg(i.id, '+' order by i.place) from jsonb_array_elements_text(f.finding -> 'ids') with ordinality as i(id, place)) order by f.place)
      from jsonb_array_elements(findings) with ordinality as f(finding, place) where f.finding ->> 'check' = c.check_name), '[]'))
    from (values ('duplicate_decisions', 'duplicates'), ('outdated_decisions', 'outdated_decisions'), ('obsolete_patterns', 'obsolete_patterns'),
                 ('entity_drift', 'entity_drift'), ('unresolved_saves', 'unresolved_saves')) as c(name, check_name));
  select min(u.created_at), coalesce(array_agg(u.save_id order by u.created_at, u.save_id), '{}')
  into oldest_pending_at, pending_artifact_ids
  from pgmem.unresolved_saves(v_project, p_scope) u;

  proactive_hint := pgmem.reflection_hint(v_caller.tenant);
  next_step := case
    when next_offset is not null then format('%s findings: go on with offset %s.', total, next_offset)
    when total > 0 then 'Show the person what to repair; each finding names the verb. Nothing was changed.'
    else 'Nothing to repair.' end;
  -- A page of a report, one scope, or the saves alone are not the whole.
  if not pending_only and p_scope is null and p_offset = 0 then
    perform pgmem.require_writer();
    perform pgmem.mark_hygiene(v_project_seq, v_caller);
  end if;
end;
$$;
comment on function pgmem.run_hygiene is
  'A report on the memories of a project, a scope or all: duplicates (similarity above 0.9 or equal content), outdated decisions, '
  'obsolete patterns, entities under several names, saves not saved. Changes no memory; a whole report is noted on the project.';
