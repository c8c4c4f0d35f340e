-- Items still open, by session.
select created_at::date as day, objective, unnest(open_items) as open from session
where project = 'shop' order by created_at desc;

-- Projects, their focus areas and how much is kept of each.
select name, memories, focus_areas from project order by memories desc;

-- Facts about named things, and how often it has changed.
select entity_name, fact, version from entity_fact where status = 'active';
