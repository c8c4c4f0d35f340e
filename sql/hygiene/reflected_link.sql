-- Provenance (what a session produced, what took the place of what) says nothing about the things themselves.
create or replace view pgmem.reflected_link as
select e.src as seq, e.rel, e.dst as other from pgmem.edge e
join pgmem.reflected_node s on s.seq = e.src join pgmem.reflected_node d on d.seq = e.dst
where e.rel not in ('PRODUCED', 'SUPERSEDES', 'MERGES_INTO')
union all
select e.dst, e.rel, e.src from pgmem.edge e
join pgmem.reflected_node s on s.seq = e.src join pgmem.reflected_node d on d.seq = e.dst
where e.rel not in ('PRODUCED', 'SUPERSEDES', 'MERGES_INTO');
comment on view pgmem.reflected_link is 'Every relation between memories that reflection looks at, seen from both ends.';
