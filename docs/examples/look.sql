-- Every decision, the superseded one too.
select title, status, superseded_by is not null as replaced from decision order by created_at;

-- What took the place of what.
select newest_title, age, title from lineage order by newest_title, age;

-- What contradicts what.
select title, with_title from conflict;
