-- security definer: clients hold no rights on tables.
create or replace function pgmem.memory_health(p_project_id text default null, p_limit integer default 20, out project_id text,
  out checked_at timestamptz, out memories jsonb, out statuses jsonb, out timeline jsonb, out confidence jsonb, out orphans jsonb,
  out hubs jsonb, out stubs jsonb, out archived_bridges jsonb, out conflicts jsonb, out lineage jsonb, out without_text integer,
  out insights jsonb, out saves_open integer)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_seq bigint := pgmem.find_project(p_project_id);
begin
  if coalesce(p_limit, 0) not between 1 and 1000 then
    raise exception using errcode = 'PM001', message = 'limit is a whole number from 1 to 1000.';
  end if;
  project_id := pgmem.clean_key(p_project_id, 'project_id');
  checked_at := pgmem.now();
  select coalesce(jsonb_object_agg(m.label, m.count), '{}') into memories
  from (select n.label, count(*) from pgmem.hygiene_node n where v_seq is null or n.project_seq = v_seq group by n.label) m;
  select coalesce(jsonb_object_agg(m.status, m.count), '{}') into statuses
  from (select n.status, count(*) from pgmem.visible_node n
        where pgmem.is_memory(n.label) and n.label <> 'Insight' and (v_seq is null or n.project_seq = v_seq) group by n.status) m;
  -- By day, week or month, so that the picture has at most about sixty steps whatever the age of the store.
  select coalesce(jsonb_agg(jsonb_build_object('at', t.at::date, 'label', t.label, 'count', t.count) order by t.at, t.label), '[]') into timeline
  from (select date_trunc(case when span.age < interval '60 days' then 'day' when span.age < interval '400 days' then 'week' else 'month' end,
                          n.created_at) as at, n.label, count(*)
        from pgmem.visible_node n, (select pgmem.now() - min(o.created_at) as age from pgmem.visible_node o
                                    where pgmem.is_memory(o.label) and (v_seq is null or o.project_seq = v_seq)) span
        where pgmem.is_memory(n.label) and n.label <> 'Insight' and (v_seq is null or n.project_seq = v_seq) group by 1, 2) t;
  select jsonb_agg(coalesce(h.count, 0) order by bin) into confidence
  from generate_series(0, 9) bin
  left join (select least(floor(pgmem.confidence(n.initial_confidence, n.updated_at) * 10)::integer, 9) as bin, count(*)
             from pgmem.hygiene_node n where v_seq is null or n.project_seq = v_seq group by 1) h using (bin);
  with joined as materialized (
    select n.seq, n.id, n.label, n.title, n.status,
           (select count(*) from pgmem.edge e where e.src = n.seq) + (select count(*) from pgmem.edge e where e.dst = n.seq) as relations
    from pgmem.visible_node n
    where pgmem.is_memory(n.label) and n.label <> 'Insight' and (v_seq is null or n.project_seq = v_seq)
      and n.status in ('active', 'approved', 'stub', 'archived')
  ), kinds as (
    select 'orphans' as kind, j.* from joined j where j.relations = 0 and j.status in ('active', 'approved')
    union all select 'hubs', j.* from joined j where j.relations >= 3 and j.status in ('active', 'approved')
    union all select 'stubs', j.* from joined j where j.relations >= 3 and j.status = 'stub'
    union all select 'archived_bridges', j.* from joined j where j.relations >= 2 and j.status = 'archived'
  ), counted as (
    select k.kind, count(*) as count, jsonb_agg(jsonb_build_object('id', k.id, 'label', k.label, 'title', k.title, 'relations', k.relations)
             order by k.relations desc, k.seq) filter (where k.place <= p_limit) as items
    from (select k.*, row_number() over (partition by k.kind order by k.relations desc, k.seq) as place from kinds k) k
    group by k.kind
  ), whole as (
    select kind, jsonb_build_object('count', coalesce(c.count, 0), 'items', coalesce(c.items, '[]')) as found
    from unnest(array['orphans', 'hubs', 'stubs', 'archived_bridges']) as kind left join counted c using (kind)
  )
  select max(w.found::text) filter (where w.kind = 'orphans'), max(w.found::text) filter (where w.kind = 'hubs'),
         max(w.found::text) filter (where w.kind = 'stubs'), max(w.found::text) filter (where w.kind = 'archived_bridges')
  into orphans, hubs, stubs, archived_bridges from whole w;
  select jsonb_build_object('count', count(*), 'items', coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'title', c.title,
           'with_id', c.with_id, 'with_title', c.with_title) order by c.seq) filter (where c.place <= p_limit), '[]')) into conflicts
  from (select e.seq, a.id, a.title, b.id as with_id, b.title as with_title, row_number() over (order by e.seq) as place
        from pgmem.edge e join pgmem.live_node a on a.seq = e.src join pgmem.live_node b on b.seq = e.dst
        where e.rel = 'CONFLICTS_WITH' and (v_seq is null or v_seq in (a.project_seq, b.project_seq))) c;
  -- Each decision that took the place of others, with those before it, longest lines first.
  with recursive line as (
    select n.seq as newest, n.seq, 0 as age, array[n.seq] as path from pgmem.visible_node n
    where n.label = 'Decision' and (v_seq is null or n.project_seq = v_seq)
      and exists (select from pgmem.edge e where e.src = n.seq and e.rel = 'SUPERSEDES')
      and not exists (select from pgmem.edge e where e.dst = n.seq and e.rel = 'SUPERSEDES')
    union all
    select line.newest, e.dst, line.age + 1, line.path || e.dst from line
    join pgmem.edge e on e.src = line.seq and e.rel = 'SUPERSEDES' and e.dst <> all (line.path)
    where line.age < 50
  ), lines as (
    select l.newest, count(*) as length, jsonb_agg(jsonb_build_object('id', n.id, 'title', n.title, 'status', n.status, 'age', l.age,
             'created_at', n.created_at) order by l.age, n.seq) as decisions
    from line l join pgmem.visible_node n on n.seq = l.seq group by l.newest
  )
  select jsonb_build_object('count', count(*), 'items', coalesce(jsonb_agg(l.decisions order by l.length desc, l.newest desc)
           filter (where l.place <= p_limit), '[]')) into lineage
  from (select lines.*, row_number() over (order by lines.length desc, lines.newest desc) as place from lines) l;
  without_text := (select count(*) from pgmem.hygiene_node n where (v_seq is null or n.project_seq = v_seq) and n.text_length <= 1
                   and n.label in (select name from pgmem.label where vocabulary = 'engrama'));
  insights := (select coalesce(jsonb_object_agg(i.status, i.count), '{}')
               from (select n.status, count(*) from pgmem.visible_node n where n.label = 'Insight' group by n.status) i);
  saves_open := (select count(*) from pgmem.unresolved_saves(project_id, null));
end;
$$;
comment on function pgmem.memory_health is
  'The state of the memory in numbers: memories and their growth, confidence, orphans, hubs, stubs, conflicts, lineage of decisions.';
