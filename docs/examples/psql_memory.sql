-- Everything that agents see of a project, of every kind.
select label, title, version, source from memory where project = 'shop' and live order by label, title;

-- How much was saved of each kind today, and in all.
select label, saved, changed, total from memory_by_day
where project = 'shop' and day = current_date order by label;

-- The verbs of one chapter.
select name, rights, effect from verb where chapter = 'history' order by place;
