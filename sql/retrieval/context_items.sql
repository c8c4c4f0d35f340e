-- The newest live memories of each place, places in the order given. Each visible tenant is read through the index, newest
-- first, so that the cost grows neither with the number of memories nor with that of other tenants.
create or replace function pgmem.context_items(p_tenants text[], p_places text[], p_limits integer[], p_labels text[],
  p_recent timestamptz, p_stale timestamptz)
returns table (place_number bigint, in_place bigint, seq bigint, item jsonb)
language sql stable
begin atomic
  select p.number, row_number() over (partition by p.number order by found.created_at desc, found.seq desc), found.seq, found.item
  from unnest(p_places, p_limits) with ordinality as p(place, most, number)
  cross join lateral (
    select newest.seq, newest.created_at, newest.item from unnest(p_tenants) as t(tenant)
    cross join lateral (
      select n.seq, n.created_at, pgmem.context_item(n, p_recent, p_stale) as item from pgmem.node n
      where n.place = p.place and n.tenant = t.tenant and n.scope is not null and n.status in ('active', 'approved') and n.label <> 'Card'
        and (n.valid_to is null or n.valid_to >= pgmem.now()) and (n.valid_from is null or n.valid_from <= pgmem.now())
        and (p_labels is null or n.label = any (p_labels))
      order by n.created_at desc, n.seq desc limit p.most + 1) newest
    order by newest.created_at desc, newest.seq desc limit p.most + 1) found
  order by p.number, found.created_at desc, found.seq desc;
end;
comment on function pgmem.context_items(text[], text[], integer[], text[], timestamptz, timestamptz) is
  'The newest live memories of some places, in that order, numbered in each from 1 on, at most one more than its limit.';
