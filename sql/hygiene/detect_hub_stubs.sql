create or replace function pgmem.detect_hub_stubs()
returns table (title text, summary text, confidence float8, sources bigint[])
language sql stable
set search_path = pgmem, pg_temp
as $$
  select format('%s is mentioned often, and nothing is kept of it', pgmem.short_name(n.title)),
         format('A %s by name only; remember what it is.', n.label), 0.6,
         array[n.seq] || (select array_agg(distinct l.other) from pgmem.reflected_link l where l.seq = n.seq)
  from pgmem.reflected_node n
  where n.status = 'stub' and (select count(distinct l.other) from pgmem.reflected_link l where l.seq = n.seq) >= 3
  order by n.seq desc limit 25;
$$;
comment on function pgmem.detect_hub_stubs() is 'A name that three or more memories mention and of which nothing is kept.';
