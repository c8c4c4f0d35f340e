create or replace view pgmem.visible_edge as
select e.* from pgmem.edge e
join pgmem.visible_node s on s.seq = e.src
join pgmem.visible_node d on d.seq = e.dst;
comment on view pgmem.visible_edge is 'Edges both of whose ends the caller may see.';
