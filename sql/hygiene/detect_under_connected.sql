create or replace function pgmem.detect_under_connected()
returns table (title text, summary text, confidence float8, sources bigint[])
language sql stable
set search_path = pgmem, pg_temp
as $$
  with thing as materialized (
    select n.seq, n.title, n.label, (select count(*) from pgmem.reflected_link l where l.seq = n.seq) as relations, count(*) over () as things
    from pgmem.reflected_node n
    where n.status <> 'stub' and n.label in (select l.name from pgmem.label l where l.vocabulary = 'engrama' and l.verb is null)
  )
  select format('%s is hardly connected', pgmem.short_name(t.title)),
         format('%s %s has fewer than two relations: what does it belong to?', t.label, pgmem.short_name(t.title)), 0.4, array[t.seq]
  from thing t where t.relations < 2 and t.things >= 5
  order by t.seq desc limit 25;
$$;
comment on function pgmem.detect_under_connected() is 'A named thing with fewer than two relations, where there are five or more.';
