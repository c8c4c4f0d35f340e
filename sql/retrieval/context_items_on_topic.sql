-- As context_items, for those that hold a word of the topic: the full-text index finds them, project lexeme and words at once.
create or replace function pgmem.context_items_on_topic(p_places text[], p_limits integer[], p_labels text[],
  p_topic tsquery, p_project_seq bigint, p_recent timestamptz, p_stale timestamptz)
returns table (place_number bigint, in_place bigint, seq bigint, item jsonb)
language sql stable
set search_path = pgmem, pg_temp
as $$
  select p.number, row_number() over (partition by p.number order by found.created_at desc, found.seq desc), found.seq, found.item
  from unnest(p_places, p_limits) with ordinality as p(place, most, number)
  cross join lateral (
    select n.seq, n.created_at, pgmem.context_item(row(n.*)::pgmem.node, p_recent, p_stale) as item from pgmem.live_node n
    where n.place = p.place and n.scope is not null and n.label <> 'Card'
      and n.tsv @@ (p_topic && pgmem.lexeme_query('@p' || case p.place when 'global' then 0 else p_project_seq end))
      and (p_labels is null or n.label = any (p_labels))
    order by n.created_at desc, n.seq desc limit p.most + 1) found
  order by p.number, found.created_at desc, found.seq desc;
$$;
comment on function pgmem.context_items_on_topic(text[], integer[], text[], tsquery, bigint, timestamptz, timestamptz) is
  'The newest live memories of some places that hold a word of a topic, numbered as by context_items.';
