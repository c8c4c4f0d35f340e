-- Detectors: findings of several memories together
--
-- A detector is a query over the graph that proposes insights: a solution of one project that fits a problem of
-- another, a concept that many memories share, a memory that agents named wrong. Each returns a title, a
-- summary, a confidence, and the seqs of the memories that it was seen in; reflect stores new ones. The title is the
-- key by which reflect knows an insight again: a new wording would propose a judged insight again.
--
-- Detectors read reflected_node and reflected_link (09-visible): live memories and stubs, and their relations from both
-- ends; those that propose a change of a memory read the caller's own (reflected_own). Each returns at most 25
-- rows, the strongest first, so that one reflection stays readable.
--
-- Locks: none.


-- Ten of those joined are named.
create or replace function pgmem.reflected_hubs(
  p_labels text[],
  out seq bigint,
  out title text,
  out status text,
  out summary text,
  out members bigint[],
  out projects bigint
) returns setof record
language sql stable set search_path = pgmem, pg_temp as $$
  select c.seq, c.title, c.status, format('Joined to it: %s.',
           string_agg(pgmem.short_name(m.title), ', ' order by m.seq) filter (where m.place <= 10)),
         array_agg(m.seq order by m.seq), count(distinct m.project_seq)
  from pgmem.reflected_node c
  join lateral (
    select n.seq, n.title, n.project_seq, row_number() over (order by n.seq) as place
    from pgmem.reflected_node n
    where n.seq in (select l.other from pgmem.reflected_link l where l.seq = c.seq)) m on true
  where c.label = any (p_labels)
  group by c.seq, c.title, c.status having count(*) >= 3;
$$;
comment on function pgmem.reflected_hubs is 'The nodes of some labels that three or more memories are joined to.';


create or replace function pgmem.detect_concept_clustering() returns setof pgmem.detected
language sql stable set search_path = pgmem, pg_temp as $$
  select format('Several memories meet in %s', pgmem.short_name(h.title)), h.summary,
         least(0.5 + 0.05 * cardinality(h.members), 0.9), h.seq || h.members
  from pgmem.reflected_hubs('{Concept}') h where h.status <> 'stub'
  order by cardinality(h.members) desc, h.seq desc limit 25;
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
  select format('%s is shared by several: keep what is known of it in one place', pgmem.short_name(h.title)), h.summary,
         case when h.projects > 1 then 0.75 else 0.6 end, h.seq || h.members
  from pgmem.reflected_hubs('{Technology,Tool}') h
  order by cardinality(h.members) desc, h.seq desc limit 25;
$$;
comment on function pgmem.detect_shared_technology is
  'Technologies and tools that three or more memories are joined to.';


-- Proposals to forget: review_insight archives their sources when one is approved. They cost no tokens: the signals are
-- the verdicts of agents (54-recall), and that nothing was brought to anyone for as long as the record is kept.
create or replace function pgmem.detect_named_wrong() returns setof pgmem.detected
language sql stable set search_path = pgmem, pg_temp as $$
  select format('Forget %s, which was named wrong?', pgmem.short_name(n.title)),
         format('%s %s was named %s times as wrong, %s as outdated and %s as used.', n.label, pgmem.short_name(n.title),
                sum(u.wrong), sum(u.outdated), sum(u.used)),
         0.8, array[n.seq]
  from pgmem.reflected_own n
  join pgmem.usefulness u on u.node_seq = n.seq and u.tenant = any ((select pgmem.visible_tenants())::text[])
  group by n.seq, n.label, n.title having sum(u.wrong + u.outdated) > sum(u.used)
  order by sum(u.wrong + u.outdated - u.used) desc, n.seq limit 15;
$$;
comment on function pgmem.detect_named_wrong is
  'Own memories that were named as wrong or outdated more often than as used.';


create or replace function pgmem.detect_never_used() returns setof pgmem.detected
language sql stable set search_path = pgmem, pg_temp as $$
  with recorded as materialized (
    select m.id, min(r.at) as since from pgmem.recall_event r cross join lateral unnest(r.memory_ids) as m(id)
    where r.tenant = any ((select pgmem.visible_tenants())::text[]) group by m.id
  )
  select format('Forget %s, which nobody used?', pgmem.short_name(n.title)),
         format('%s %s was last changed on %s and brought to nobody since the record of recall begins, on %s.', n.label,
                pgmem.short_name(n.title), n.updated_at::date, k.since::date),
         0.4, array[n.seq]
  from (select min(r.since) as since from recorded r) k
  join pgmem.reflected_own n on n.updated_at < k.since - interval '60 days'
  -- A record of some weeks; a shorter one says nothing of use.
  where k.since < pgmem.now() - interval '21 days' and not n.instructs and n.label not in ('Session', 'Decision')
    and not exists (select from recorded r where r.id = n.id)
    and not exists (select from pgmem.usefulness u where u.node_seq = n.seq and u.tenant = n.tenant and u.used > 0)
    and not exists (select from pgmem.reflected_link l where l.seq = n.seq)
  order by n.updated_at, n.seq limit 15;
$$;
comment on function pgmem.detect_never_used is
  'Own memories that are old, joined to nothing and brought to nobody in a record of recall of three weeks or more.';


create or replace function pgmem.detect_doubles() returns setof pgmem.detected
language sql stable set search_path = pgmem, pg_temp as $$
  select format('Forget all copies but one of %s?', pgmem.short_name(n.title)),
         format('%s %s says the same in the same words, %s times in all; the first one stays.', n.label,
                pgmem.short_name(n.title), cardinality(d.first_seqs)),
         0.7, d.first_seqs[2:] || n.seq
  from pgmem.near_duplicates(null, null) d join pgmem.reflected_own n on n.seq = d.first_seqs[1]
  where d.second_seqs is null and n.label not in ('Session', 'EntityFact')
  order by cardinality(d.first_seqs) desc, n.seq limit 15;
$$;
comment on function pgmem.detect_doubles is
  'Own memories of one scope that hold the same words; the last of the sources is the first one, which stays.';


create or replace function pgmem.detect_source_gone() returns setof pgmem.detected
language sql stable set search_path = pgmem, pg_temp as $$
  select format('Forget %s, whose source no longer exists?', pgmem.short_name(n.title)),
         format('%s %s rests on %s, which was not found on %s.', n.label, pgmem.short_name(n.title),
                string_agg(k.target, ', ' order by k.target), max(k.checked_at)::date),
         0.5, array[n.seq]
  from pgmem.reflected_own n
  join pgmem.source_check k on k.node_seq = n.seq and k.target in (select c.target from pgmem.cited(n.props) c)
  -- A turn may expire: the memory learned from it stays.
  where not n.props ? 'turn'
  group by n.seq, n.label, n.title, n.props
  having bool_and(k.state = 'GONE') and count(*) = (select count(distinct c.target) from pgmem.cited(n.props) c)
  order by n.seq limit 15;
$$;
comment on function pgmem.detect_source_gone is 'Own memories all of whose sources were checked and no longer exist.';


create or replace function pgmem.detect_oversize() returns setof pgmem.detected
language sql stable set search_path = pgmem, pg_temp as $$
  select format('%s is longer than a session begins with: split it', pgmem.short_name(n.title)),
         format('%s %s has %s characters; all that a session begins with has 4 800 (PGMEM_HOOK_TOKENS).', n.label,
                pgmem.short_name(n.title), l.length),
         0.4, array[n.seq]
  from pgmem.reflected_own n
  -- Few are long, and only for those is the text built, which is never longer than its parts.
  cross join lateral (select case when length(n.title) + length(n.props::text) > 4800
    then length(pgmem.search_text(n.label, n.title, n.props)) end as length offset 0) l
  where l.length > 4800 and n.label <> 'Session'
  order by l.length desc, n.seq limit 15;
$$;
comment on function pgmem.detect_oversize is 'Own memories that alone are longer than the context of a new session.';


-- Only where naming a source is usual: in a store without any, each memory would be proposed.
create or replace function pgmem.detect_no_source() returns setof pgmem.detected
language sql stable set search_path = pgmem, pg_temp as $$
  select format('Decisions and facts of %s name no source', pgmem.short_name(p.title)),
         format('%s of %s name none, as the others do: give them a citation.',
                count(*) filter (where not s.cites), count(*)),
         0.4, (array_agg(n.seq order by n.seq desc) filter (where not s.cites))[:15]
  from pgmem.reflected_own n join pgmem.visible_node p on p.seq = n.project_seq
  cross join lateral (select exists (select from pgmem.cited(n.props)) as cites) s
  where n.label in ('Decision', 'EntityFact')
  group by p.seq, p.title
  having count(*) filter (where not s.cites) between 1 and count(*) filter (where s.cites)
  order by p.seq limit 15;
$$;
comment on function pgmem.detect_no_source is
  'Own decisions and facts that name no source, by project, where at least half of them do.';


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
  'Courses and exercises that cover the subject of an unsolved problem or a vulnerability.';
