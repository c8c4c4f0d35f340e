-- Reads tables themselves: scope_key holds the tenant. One statement for all edges, so that the graph is projected once.
create or replace function pgmem.refresh_links(p_cards pgmem.report_card[], p_scope_key bigint) returns jsonb
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_gone integer;
  v_made integer;
begin
  with wanted as materialized (
    select s.seq as src, l.rel, d.seq as dst
    from unnest(p_cards) c
    join pgmem.node s on s.label = 'Card' and s.scope_key = p_scope_key and s.content_hash = c.identity and s.status in ('active', 'stale')
    cross join lateral jsonb_to_recordset(c.links) as l(rel text, path text)
    join pgmem.node d on d.label = 'Card' and d.scope_key = p_scope_key and d.content_hash = pgmem.card_identity('system:module_role', l.path, 'role')
      and d.status in ('active', 'stale') and d.seq <> s.seq
  ), gone as (
    delete from pgmem.edge e using pgmem.node n, unnest(p_cards) c
    where n.label = 'Card' and n.scope_key = p_scope_key and n.content_hash = c.identity and e.src = n.seq and e.props ->> 'by' = 'refresh'
      and not exists (select from wanted w where w.src = e.src and w.rel = e.rel and w.dst = e.dst)
    returning 1
  ), made as (
    insert into pgmem.edge (src, rel, dst, props, created_at)
    select w.src, w.rel, w.dst, '{"by": "refresh"}', pgmem.now() from wanted w
    where not exists (select from pgmem.edge e where e.src = w.src and e.rel = w.rel and e.dst = w.dst)
    order by w.src, w.dst
    on conflict (src, rel, dst) do nothing returning 1
  )
  select (select count(*) from gone), (select count(*) from made) into v_gone, v_made;
  return jsonb_build_object('links_made', v_made, 'links_removed', v_gone);
end;
$$;
comment on function pgmem.refresh_links(pgmem.report_card[], bigint) is
  'DEPENDS_ON between modules, TESTS and DOCUMENTS to them, as the report has them; links by hand are left alone.';
