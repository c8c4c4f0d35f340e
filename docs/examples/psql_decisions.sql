-- Decisions that agents go by now, newest first.
select title, rationale, owner, date, confidence from decision
where project = 'shop' and status = 'active' order by created_at desc;

-- Who writes what, and how much of it.
select source, agent_id, count(*) from decision group by 1, 2 order by 3 desc;

-- How often a decision was changed: age 0 is the present one.
select newest_title, max(age) as changes from lineage group by 1 order by 2 desc;

-- Contradictions nobody has settled.
select title, with_title from conflict where status = 'active' and with_status = 'active';
