create or replace view pgmem.graph_edge with (security_invoker = true) as
select s.id as from_id, s.label as from_label, s.title as from_title, e.rel, d.id as to_id, d.label as to_label, d.title as to_title,
       e.created_at
from pgmem.edge e join pgmem.node s on s.seq = e.src join pgmem.node d on d.seq = e.dst
union all
select n.id, n.label, n.title, 'BELONGS_TO', p.id, p.label, p.title, n.created_at
from pgmem.node n join pgmem.node p on p.seq = case n.scope when 'global' then 1 else n.project_seq end
union all
select n.id, n.label, n.title, 'HAS_FOCUS', f.id, f.label, f.title, n.created_at
from pgmem.node n join pgmem.node f on f.seq = n.focus_seq;
comment on view pgmem.graph_edge is 'Every edge of the graph, BELONGS_TO and HAS_FOCUS included.';
