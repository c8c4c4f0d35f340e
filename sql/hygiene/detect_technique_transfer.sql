create or replace function pgmem.detect_technique_transfer()
returns table (title text, summary text, confidence float8, sources bigint[])
language sql stable
set search_path = pgmem, pg_temp
as $$
  select format('%s may serve in %s too', pgmem.short_name(t.title), pgmem.short_name(d.title)),
         format('Both have to do with %s.', string_agg(distinct pgmem.short_name(c.title), ', ')),
         least(0.5 + 0.1 * count(distinct c.seq), 0.9), array[t.seq, d.seq] || array_agg(distinct c.seq)
  from pgmem.reflected_node t
  join pgmem.reflected_link a on a.seq = t.seq
  join pgmem.reflected_node c on c.seq = a.other and c.label = 'Concept'
  join pgmem.reflected_link b on b.seq = c.seq
  join pgmem.reflected_node d on d.seq = b.other and d.label = 'Domain'
  where t.label = 'Technique'
    and exists (select from pgmem.reflected_link l join pgmem.reflected_node home on home.seq = l.other and home.label = 'Domain'
                where l.seq = t.seq)
    and not exists (select from pgmem.reflected_link l where l.seq = t.seq and l.other = d.seq)
  group by t.seq, t.title, d.seq, d.title
  order by count(distinct c.seq) desc, t.seq desc limit 25;
$$;
comment on function pgmem.detect_technique_transfer() is 'A technique of one domain whose concepts stand in another domain too.';
