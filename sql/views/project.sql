create or replace view pgmem.project with (security_invoker = true) as
select p.id, p.key as name, (p.props ->> 'last_hygiene_at')::timestamptz as last_hygiene_at,
       (select count(*) from pgmem.node n where n.project_seq = p.seq and n.scope is not null and n.status = 'active') as memories,
       array(select f.key from pgmem.node f where f.project_seq = p.seq and f.label = 'FocusArea' order by f.key) as focus_areas,
       p.org_id, p.user_id, p.created_at
from pgmem.node p where p.label = 'Project' and p.status = 'active';
comment on view pgmem.project is 'Projects with their focus areas and the number of memories in each.';
