create or replace function pgmem.detect_concept_clustering()
returns table (title text, summary text, confidence float8, sources bigint[])
language sql stable
set search_path = pgmem, pg_temp
as $$
  select format('Several memories meet in %s', pgmem.short_name(c.title)),
         format('Joined to it: %s.', string_agg(pgmem.short_name(m.title), ', ' order by m.seq) filter (where m.place <= 10)),
         least(0.5 + 0.05 * count(*), 0.9), array[c.seq] || array_agg(m.seq order by m.seq)
  from pgmem.reflected_node c
  join lateral (
    select n.seq, n.title, row_number() over (order by n.seq) as place
    from pgmem.reflected_node n where n.seq in (select l.other from pgmem.reflected_link l where l.seq = c.seq)) m on true
  where c.label = 'Concept' and c.status <> 'stub'
  group by c.seq, c.title having count(*) >= 3
  order by count(*) desc, c.seq desc limit 25;
$$;
comment on function pgmem.detect_concept_clustering() is 'A concept that three or more memories meet in.';
