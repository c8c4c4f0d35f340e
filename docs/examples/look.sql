-- Every decision, the superseded one too.
select title, status, superseded_by is not null as replaced from decision order by created_at;

-- Decisions with those that they replaced.
select newest_title, age, title from lineage order by newest_title, age;

-- Pairs that contradict each other.
select title, with_title from conflict;
