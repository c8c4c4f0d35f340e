create or replace function pgmem.detect_shared_technology()
returns table (title text, summary text, confidence float8, sources bigint[])
language sql stable
set search_path = pgmem, pg_temp
as $$
  select format('%s is shared by several: keep what is known of it in one place', pgmem.short_name(t.title)),
         format('Joined to it: %s.', string_agg(pgmem.short_name(m.title), ', ' order by m.seq) filter (where m.place <= 10)),
         case when count(distinct m.project_seq) > 1 then 0.75 else 0.6 end, array[t.seq] || array_agg(m.seq order by m.seq)
  from pgmem.reflected_node t
  join lateral (
    select n.seq, n.title, n.project_seq, row_number() over (order by n.seq) as place
    from pgmem.reflected_node n where n.seq in (select l.other from pgmem.reflected_link l where l.seq = t.seq)) m on true
  where t.label in ('Technology', 'Tool')
  group by t.seq, t.title having count(*) >= 3
  order by count(*) desc, t.seq desc limit 25;
$$;
comment on function pgmem.detect_shared_technology() is 'A technology that three or more memories are joined to.';
