create or replace function pgmem.detect_tag_without_edge()
returns table (title text, summary text, confidence float8, sources bigint[])
language sql stable
set search_path = pgmem, pg_temp
as $$
  select format('%s carries the tag %s and is not joined to it', pgmem.short_name(n.title), pgmem.short_name(m.title)),
         format('%s exists as a %s: relate the two.', pgmem.short_name(m.title), m.label), 0.7, array[n.seq, m.seq]
  from pgmem.reflected_node n
  cross join lateral jsonb_array_elements_text(case jsonb_typeof(n.props -> 'tags') when 'array' then n.props -> 'tags' else '[]' end) as tag(name)
  join pgmem.reflected_node m on hashtextextended(lower(translate(coalesce(m.key, m.title), '-_', '  ')), 0) = pgmem.name_hash(tag.name)
    and m.key is not null and m.seq <> n.seq and (m.project_seq is null or m.project_seq is not distinct from n.project_seq)
  where n.props ? 'tags' and not exists (select from pgmem.reflected_link l where l.seq = n.seq and l.other = m.seq)
  group by n.seq, n.title, m.seq, m.title, m.label
  order by n.seq desc, m.seq limit 25;
$$;
comment on function pgmem.detect_tag_without_edge() is 'A tag that is the name of a memory it is not joined to.';
