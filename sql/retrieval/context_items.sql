-- The newest live memories of each place, places in the order given. Each visible tenant is read through the index, newest
-- first, so that the cost grows neither with the number of memories nor with that of other tenants.
create or replace function pgmem.context_items(p_tenants text[], p_places text[], p_limits integer[], p_labels text[])
returns table (place_number bigint, node pgmem.node)
language sql stable
set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan
as $$
  select p.number, found.node
  from unnest(p_places, p_limits) with ordinality as p(place, most, number)
  cross join lateral (
    select newest.node from unnest(p_tenants) as t(tenant)
    cross join lateral (
      select n as node from pgmem.node n
      where n.place = p.place and n.tenant = t.tenant and n.scope is not null and n.status in ('active', 'approved') and n.label <> 'Card'
        and (n.valid_to is null or n.valid_to >= pgmem.now()) and (n.valid_from is null or n.valid_from <= pgmem.now())
        and (p_labels is null or n.label = any (p_labels))
      order by n.created_at desc, n.seq desc limit p.most + 1) newest
    order by (newest.node).created_at desc, (newest.node).seq desc limit p.most + 1) found
  order by p.number, (found.node).created_at desc, (found.node).seq desc;
$$;
comment on function pgmem.context_items(text[], text[], integer[], text[]) is
  'The newest live memories of some places, at most one more of each than its limit.';
