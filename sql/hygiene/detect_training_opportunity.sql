create or replace function pgmem.detect_training_opportunity()
returns table (title text, summary text, confidence float8, sources bigint[])
language sql stable
set search_path = pgmem, pg_temp
as $$
  select format('%s may help with %s', pgmem.short_name(c.title), pgmem.short_name(p.title)),
         format('It covers %s.', string_agg(distinct pgmem.short_name(x.title), ', ')), 0.65,
         array[c.seq, p.seq] || array_agg(distinct x.seq)
  from pgmem.reflected_node c
  join pgmem.reflected_link covers on covers.seq = c.seq
    and covers.rel in ('COVERS', 'TEACHES', 'PRACTICES', 'DOCUMENTS', 'INCLUDES', 'ABOUT')
  join pgmem.reflected_node x on x.seq = covers.other
  join pgmem.reflected_link l on l.seq = x.seq
  join pgmem.reflected_node p on p.seq = l.other and p.label in ('Problem', 'Vulnerability')
  where c.label in ('Course', 'Exercise', 'Material', 'CTF')
    and not exists (select from pgmem.edge e where e.src = p.seq and e.rel = 'SOLVED_BY')
    and not exists (select from pgmem.reflected_link direct where direct.seq = c.seq and direct.other = p.seq)
  group by c.seq, c.title, p.seq, p.title
  order by count(distinct x.seq) desc, p.seq desc limit 25;
$$;
comment on function pgmem.detect_training_opportunity() is 'Teaching that covers what an unsolved problem or a vulnerability is about.';
