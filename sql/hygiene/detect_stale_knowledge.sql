create or replace function pgmem.detect_stale_knowledge()
returns table (title text, summary text, confidence float8, sources bigint[])
language sql stable
set search_path = pgmem, pg_temp
as $$
  select format('Does %s still hold?', pgmem.short_name(n.title)),
         format('%s %s was last told on %s; its confidence is %s by now.', n.label, pgmem.short_name(n.title), n.updated_at::date,
                round(pgmem.confidence(n.initial_confidence, n.updated_at)::numeric, 2)),
         0.5, array[n.seq]
  from pgmem.reflected_node n
  where n.status <> 'stub' and n.label not in ('Session', 'Context')
    and (n.updated_at <= pgmem.now() - interval '90 days' or pgmem.confidence(n.initial_confidence, n.updated_at) < 0.3)
  order by n.updated_at, n.seq limit 15;
$$;
comment on function pgmem.detect_stale_knowledge() is 'What was not touched for 90 days, or is hardly believed any more.';
