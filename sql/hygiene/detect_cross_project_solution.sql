create or replace function pgmem.detect_cross_project_solution()
returns table (title text, summary text, confidence float8, sources bigint[])
language sql stable
set search_path = pgmem, pg_temp
as $$
  select format('%s (%s) may solve %s (%s)', pgmem.short_name(s.title), q.project, pgmem.short_name(p.title), p.project),
         format('%s was solved by %s; %s has %s in common with it and is not solved.', pgmem.short_name(q.title), pgmem.short_name(s.title),
                pgmem.short_name(p.title), string_agg(distinct pgmem.short_name(shared.title), ', ')),
         0.85, array[p.seq, q.seq, s.seq] || array_agg(distinct shared.seq)
  from pgmem.reflected_node p
  join pgmem.reflected_link a on a.seq = p.seq
  join pgmem.reflected_node shared on shared.seq = a.other and shared.label in ('Concept', 'Technology', 'Technique', 'Tool', 'Domain')
  join pgmem.reflected_link b on b.other = shared.seq
  join pgmem.reflected_node q on q.seq = b.seq and q.label = 'Problem' and q.project_seq <> p.project_seq
  join pgmem.edge solved on solved.src = q.seq and solved.rel = 'SOLVED_BY'
  join pgmem.reflected_node s on s.seq = solved.dst
  where p.label = 'Problem' and not exists (select from pgmem.edge e where e.src = p.seq and e.rel = 'SOLVED_BY')
  group by p.seq, p.title, p.project, q.seq, q.title, q.project, s.seq, s.title
  order by count(distinct shared.seq) desc, p.seq desc limit 25;
$$;
comment on function pgmem.detect_cross_project_solution() is 'A solved problem of one project beside an unsolved one of another, with something in common.';
