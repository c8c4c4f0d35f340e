create or replace view pgmem.conflict with (security_invoker = true) as
select a.id, a.label, a.title, b.id as with_id, b.label as with_label, b.title as with_title, a.project, b.project as with_project,
       a.status, b.status as with_status, e.created_at
from pgmem.edge e join pgmem.node a on a.seq = e.src join pgmem.node b on b.seq = e.dst
where e.rel = 'CONFLICTS_WITH';
comment on view pgmem.conflict is 'Pairs of memories that conflict.';
