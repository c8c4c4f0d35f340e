-- As context_items and context_items_on_topic, for what was true at a date, or known at one, or both.
create or replace function pgmem.context_items_at(p_places text[], p_limits integer[], p_labels text[], p_topic tsquery,
  p_as_of timestamptz, p_known_at timestamptz)
returns table (place_number bigint, state pgmem.recorded_state)
language sql stable
set search_path = pgmem, pg_temp
as $$
  select p.number, found.state
  from unnest(p_places, p_limits) with ordinality as p(place, most, number)
  cross join lateral (
    select s as state from pgmem.recorded_state s
    where s.place = p.place and s.scope is not null and s.label <> 'Card'
      and case when p_known_at is null then s.replaced_at = 'infinity'
               else s.ingested_at <= p_known_at and s.replaced_at > p_known_at end
      and pgmem.is_true_at(s.status, s.valid_from, s.valid_to, s.created_at, p_as_of)
      and (p_topic is null or s.tsv @@ p_topic)
      and (p_labels is null or s.label = any (p_labels))
    order by s.created_at desc, s.seq desc limit p.most + 1) found
  order by p.number, (found.state).created_at desc, (found.state).seq desc;
$$;
comment on function pgmem.context_items_at(text[], integer[], text[], tsquery, timestamptz, timestamptz) is
  'The newest memories of some places as they were true or known at a date.';
