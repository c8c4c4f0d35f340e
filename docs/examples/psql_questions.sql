-- 1. Changes of a month, and why: each decision that was replaced, and what replaced it.
select old.title, new.title as became, new.rationale, new.created_at::date as day
from lineage old join lineage new on new.newest_id = old.newest_id and new.age = old.age - 1
where new.created_at >= date_trunc('month', now()) order by new.created_at;

-- 2. Memories that nobody was ever brought, and since when that would have been seen.
select label, title, project, watched_since from never_used order by watched_since limit 20;

-- 3. Who writes what.
select coalesce(author, source) as author, label, count(*) from memory
where label not in ('Card', 'Insight', 'Turn') group by 1, 2 order by 3 desc;

-- 4. How old what agents see is.
select project, label, percentile_disc(0.5) within group (order by now() - updated_at) as half_are_older, count(*)
from memory where live and label <> 'Card' group by 1, 2 order by 3 desc;

-- 5. Memories that held on a day.
select label, title, status from memory_at(current_date - 30) where project = 'shop' order by label, title;

-- 6. Which agent contradicts which.
select one.author as one, other.author as other, count(*) from conflict c
join memory one on one.id = c.id join memory other on other.id = c.with_id group by 1, 2 order by 3 desc;

-- 7. Who changed what since yesterday, and what it was before.
select at, agent_id, label, title, changed_from from memory_change
where kind = 'changed' and at >= current_date - 1 order by at desc;

-- 8. A search, as agents ask it.
select label, title, relevance from search_memory('where do we keep the orders?', p_project_id => 'shop');

-- 9. Memories that hooks and tools brought: tokens by day, project and event.
select at::date as day, project, act, by, count(*) as answers, sum(tokens) as tokens from recall
where tokens is not null group by 1, 2, 3, 4 order by 1 desc, 6 desc;

-- 10. Memories that are brought most.
select m.label, m.title, count(*) from recall r cross join unnest(r.memory_ids) as brought(id)
join memory m using (id) where r.tokens is not null group by m.id, m.label, m.title order by 3 desc limit 20;

-- 11. Items still open, by session.
select project, created_at::date as day, objective, unnest(open_items) as open from session
where status = 'active' order by 1, 2 desc;

-- 12. Refused saves, and why.
select created_at, verb, project, status, message from save
where status not in ('saved', 'partial') order by created_at desc;

-- 13. How a project grows.
select day, sum(total) as memories from memory_by_day where project = 'shop' group by 1 order by 1;

-- 14. The life of a decision: each state of it, and of those that it replaced.
select c.at, c.kind, c.title, c.agent_id, c.changed_from from memory_change c
join lineage l on l.id = c.id where l.newest_title = 'Keep the orders in PostgreSQL 18' order by c.at;

-- 15. Facts that had several values.
select entity_name, fact, version from entity_fact where version > 1 order by version desc;

-- 16. How often a prompt got something, and what was said of it.
select project, count(*) as prompts, count(*) filter (where memory_ids <> '{}') as helped from recall
where act = 'injected' and by = 'UserPromptSubmit' group by 1;

-- 17. Memories that are joined; with Apache AGE, run_cypher asks the same.
select from_title, rel, to_title from graph_edge where rel not in ('BELONGS_TO', 'HAS_FOCUS') order by rel, from_title;
