create or replace view pgmem.lineage with (security_invoker = true) as
with recursive line as (
  select n.seq as newest, n.seq, 0 as age from pgmem.node n
  where n.label = 'Decision' and not exists (select from pgmem.edge e where e.dst = n.seq and e.rel = 'SUPERSEDES')
    and exists (select from pgmem.edge e where e.src = n.seq and e.rel = 'SUPERSEDES')
  union all
  select line.newest, e.dst, line.age + 1 from line join pgmem.edge e on e.src = line.seq and e.rel = 'SUPERSEDES'
)
select newest.id as newest_id, newest.title as newest_title, line.age, n.id, n.title, n.props ->> 'rationale' as rationale,
       n.status, n.project, n.created_at, n.valid_to
from line join pgmem.node newest on newest.seq = line.newest join pgmem.node n on n.seq = line.seq;
comment on view pgmem.lineage is 'Decisions that superseded others, each with the line of those before it (age 0 is the present one).';
