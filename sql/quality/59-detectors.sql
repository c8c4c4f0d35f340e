-- Detectors: what memories say together
--
-- A detector is a query over the graph that proposes insights: a solution of one project that fits a problem of
-- another, a concept that many memories share, knowledge that was not confirmed for long. Each returns a title, a
-- summary, a confidence, and the seqs of the memories that it was seen in; reflect stores what is new. The title is the
-- key by which reflect knows an insight again: a new wording would propose again what was judged already.
--
-- Detectors read reflected_node and reflected_link (07-visible): live memories and stubs, and their relations from both
-- ends. Each returns at most 25 rows, the strongest first, so that one reflection stays readable.
--
-- Locks: none.


create or replace function pgmem.insight(p_node pgmem.node) returns pgmem.insight_answer
language sql stable set search_path = pgmem, pg_temp as $$
  select p_node.id, p_node.title, p_node.props ->> 'summary', p_node.props ->> 'detector', p_node.initial_confidence,
         p_node.trust_level, p_node.status,
         array(select s.id::uuid from jsonb_array_elements_text(p_node.props -> 'sources') as s(id)), p_node.created_at;
$$;
comment on function pgmem.insight is 'An Insight node as the verbs of reflection return it.';


create or replace function pgmem.detect_concept_clustering() returns setof pgmem.detected
language sql stable set search_path = pgmem, pg_temp as $$
  select format('Several memories meet in %s', pgmem.short_name(c.title)),
         format('Joined to it: %s.',
                string_agg(pgmem.short_name(m.title), ', ' order by m.seq) filter (where m.place <= 10)),
         least(0.5 + 0.05 * count(*), 0.9), array[c.seq] || array_agg(m.seq order by m.seq)
  from pgmem.reflected_node c
  join lateral (
    select n.seq, n.title, row_number() over (order by n.seq) as place
    from pgmem.reflected_node n
    where n.seq in (select l.other from pgmem.reflected_link l where l.seq = c.seq)) m on true
  where c.label = 'Concept' and c.status <> 'stub'
  group by c.seq, c.title having count(*) >= 3
  order by count(*) desc, c.seq desc limit 25;
$$;
comment on function pgmem.detect_concept_clustering is 'Concepts that three or more memories are joined to.';


create or replace function pgmem.detect_cross_project_solution() returns setof pgmem.detected
language sql stable set search_path = pgmem, pg_temp as $$
  select format('%s (%s) may solve %s (%s)',
                pgmem.short_name(s.title), q.project, pgmem.short_name(p.title), p.project),
         format('%s was solved by %s; %s has %s in common with it and is not solved.', pgmem.short_name(q.title),
                pgmem.short_name(s.title), pgmem.short_name(p.title),
                string_agg(distinct pgmem.short_name(shared.title), ', ')),
         0.85, array[p.seq, q.seq, s.seq] || array_agg(distinct shared.seq)
  from pgmem.reflected_node p
  join pgmem.reflected_link a on a.seq = p.seq
  join pgmem.reflected_node shared on shared.seq = a.other
    and shared.label in ('Concept', 'Technology', 'Technique', 'Tool', 'Domain')
  join pgmem.reflected_link b on b.other = shared.seq
  join pgmem.reflected_node q on q.seq = b.seq and q.label = 'Problem' and q.project_seq <> p.project_seq
  join pgmem.edge solved on solved.src = q.seq and solved.rel = 'SOLVED_BY'
  join pgmem.reflected_node s on s.seq = solved.dst
  where p.label = 'Problem' and not exists (select from pgmem.edge e where e.src = p.seq and e.rel = 'SOLVED_BY')
  group by p.seq, p.title, p.project, q.seq, q.title, q.project, s.seq, s.title
  order by count(distinct shared.seq) desc, p.seq desc limit 25;
$$;
comment on function pgmem.detect_cross_project_solution is
  'Solved problems of one project that have something in common with an unsolved one of another.';


create or replace function pgmem.detect_hub_stubs() returns setof pgmem.detected
language sql stable set search_path = pgmem, pg_temp as $$
  select format('%s is mentioned often, and nothing is kept of it', pgmem.short_name(n.title)),
         format('A %s by name only; remember what it is.', n.label), 0.6,
         array[n.seq] || (select array_agg(distinct l.other) from pgmem.reflected_link l where l.seq = n.seq)
  from pgmem.reflected_node n
  where n.status = 'stub' and (select count(distinct l.other) from pgmem.reflected_link l where l.seq = n.seq) >= 3
  order by n.seq desc limit 25;
$$;
comment on function pgmem.detect_hub_stubs is 'Stubs that three or more memories are joined to.';


create or replace function pgmem.detect_shared_technology() returns setof pgmem.detected
language sql stable set search_path = pgmem, pg_temp as $$
  select format('%s is shared by several: keep what is known of it in one place', pgmem.short_name(t.title)),
         format('Joined to it: %s.',
                string_agg(pgmem.short_name(m.title), ', ' order by m.seq) filter (where m.place <= 10)),
         case when count(distinct m.project_seq) > 1 then 0.75 else 0.6 end,
         array[t.seq] || array_agg(m.seq order by m.seq)
  from pgmem.reflected_node t
  join lateral (
    select n.seq, n.title, n.project_seq, row_number() over (order by n.seq) as place
    from pgmem.reflected_node n
    where n.seq in (select l.other from pgmem.reflected_link l where l.seq = t.seq)) m on true
  where t.label in ('Technology', 'Tool')
  group by t.seq, t.title having count(*) >= 3
  order by count(*) desc, t.seq desc limit 25;
$$;
comment on function pgmem.detect_shared_technology is
  'Technologies and tools that three or more memories are joined to.';


create or replace function pgmem.detect_stale_knowledge() returns setof pgmem.detected
language sql stable set search_path = pgmem, pg_temp as $$
  select format('Does %s still hold?', pgmem.short_name(n.title)),
         format('%s %s was last saved on %s; its confidence is now %s.', n.label, pgmem.short_name(n.title),
                n.updated_at::date, round(pgmem.confidence(n.initial_confidence, n.updated_at)::numeric, 2)),
         0.5, array[n.seq]
  from pgmem.reflected_node n
  where n.status <> 'stub' and n.label not in ('Session', 'Context', 'Decision') and not n.instructs
    and (n.updated_at <= pgmem.now() - interval '90 days' or pgmem.confidence(n.initial_confidence, n.updated_at) < 0.3)
  order by n.updated_at, n.seq limit 15;
$$;
comment on function pgmem.detect_stale_knowledge is 'Memories unchanged for 90 days, or with a confidence below 0.3; not what holds until it is replaced.';


create or replace function pgmem.detect_tag_without_edge() returns setof pgmem.detected
language sql stable set search_path = pgmem, pg_temp as $$
  select format('%s carries the tag %s and is not joined to it', pgmem.short_name(n.title), pgmem.short_name(m.title)),
         format('%s exists as a %s: relate the two.', pgmem.short_name(m.title), m.label), 0.7, array[n.seq, m.seq]
  from pgmem.reflected_node n
  cross join lateral jsonb_array_elements_text(
    case jsonb_typeof(n.props -> 'tags') when 'array' then n.props -> 'tags' else '[]' end) as tag(name)
  join pgmem.reflected_node m
    on pgmem.name_hash(coalesce(m.key, m.title)) = pgmem.name_hash(tag.name)
    and m.key is not null and m.seq <> n.seq
    and (m.project_seq is null or m.project_seq is not distinct from n.project_seq)
  where n.props ? 'tags' and not exists (select from pgmem.reflected_link l where l.seq = n.seq and l.other = m.seq)
  group by n.seq, n.title, m.seq, m.title, m.label
  order by n.seq desc, m.seq limit 25;
$$;
comment on function pgmem.detect_tag_without_edge is
  'Memories with a tag that is the name of a memory they are not joined to.';


create or replace function pgmem.detect_technique_transfer() returns setof pgmem.detected
language sql stable set search_path = pgmem, pg_temp as $$
  select format('%s may serve in %s too', pgmem.short_name(t.title), pgmem.short_name(d.title)),
         format('Both have to do with %s.', string_agg(distinct pgmem.short_name(c.title), ', ')),
         least(0.5 + 0.1 * count(distinct c.seq), 0.9), array[t.seq, d.seq] || array_agg(distinct c.seq)
  from pgmem.reflected_node t
  join pgmem.reflected_link a on a.seq = t.seq
  join pgmem.reflected_node c on c.seq = a.other and c.label = 'Concept'
  join pgmem.reflected_link b on b.seq = c.seq
  join pgmem.reflected_node d on d.seq = b.other and d.label = 'Domain'
  where t.label = 'Technique'
    and exists (
      select from pgmem.reflected_link l
      join pgmem.reflected_node home on home.seq = l.other and home.label = 'Domain' where l.seq = t.seq)
    and not exists (select from pgmem.reflected_link l where l.seq = t.seq and l.other = d.seq)
  group by t.seq, t.title, d.seq, d.title
  order by count(distinct c.seq) desc, t.seq desc limit 25;
$$;
comment on function pgmem.detect_technique_transfer is
  'Techniques of one domain that share a concept with another domain.';


create or replace function pgmem.detect_training_opportunity() returns setof pgmem.detected
language sql stable set search_path = pgmem, pg_temp as $$
  select format('%s may help with %s', pgmem.short_name(c.title), pgmem.short_name(p.title)),
         format('It covers %s.', string_agg(distinct pgmem.short_name(x.title), ', ')), 0.65,
         array[c.seq, p.seq] || array_agg(distinct x.seq)
  from pgmem.reflected_node c
  join pgmem.reflected_link covers on covers.seq = c.seq
    and covers.rel in ('COVERS', 'TEACHES', 'PRACTICES', 'DOCUMENTS', 'INCLUDES', 'ABOUT')
  join pgmem.reflected_node x on x.seq = covers.other
  join pgmem.reflected_link l on l.seq = x.seq
  join pgmem.reflected_node p on p.seq = l.other and p.label in ('Problem', 'Vulnerability')
  where c.label in ('Course', 'Exercise', 'Material', 'CTF')
    and not exists (select from pgmem.edge e where e.src = p.seq and e.rel = 'SOLVED_BY')
    and not exists (select from pgmem.reflected_link direct where direct.seq = c.seq and direct.other = p.seq)
  group by c.seq, c.title, p.seq, p.title
  order by count(distinct x.seq) desc, p.seq desc limit 25;
$$;
comment on function pgmem.detect_training_opportunity is
  'Courses and exercises that cover what an unsolved problem or a vulnerability is about.';


create or replace function pgmem.detect_under_connected() returns setof pgmem.detected
language sql stable set search_path = pgmem, pg_temp as $$
  with thing as materialized (
    select n.seq, n.title, n.label, (select count(*) from pgmem.reflected_link l where l.seq = n.seq) as relations,
           count(*) over () as things
    from pgmem.reflected_node n
    where n.status <> 'stub'
      and n.label in (select l.name from pgmem.label l where l.vocabulary = 'engrama' and l.verb is null)
  )
  select format('%s is hardly connected', pgmem.short_name(t.title)),
         format('%s %s has fewer than two relations: what does it belong to?', t.label, pgmem.short_name(t.title)),
         0.4, array[t.seq]
  from thing t where t.relations < 2 and t.things >= 5
  -- A few: in a young store most things are hardly connected, and would bury what is worth a look.
  order by t.seq desc limit 5;
$$;
comment on function pgmem.detect_under_connected is
  'Named things with fewer than two relations, in a store of five or more of them.';
