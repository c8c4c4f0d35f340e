-- Every state a visible node was ever recorded in, the present one with replaced_at = infinity.
create or replace view pgmem.recorded_state as
select n.seq, n.id, n.label, n.key, n.title, n.props, n.status, n.scope, n.project, n.project_seq, n.focus, n.place, n.tenant,
       n.source, n.trust_level, n.initial_confidence, n.valid_from, n.valid_to, n.tsv, n.version, n.created_at, n.updated_at,
       n.recorded_at as ingested_at, 'infinity'::timestamptz as replaced_at
from pgmem.visible_node n
union all
select v.node_seq, n.id, v.label, v.key, v.title, v.props, v.status, v.scope, v.project, v.project_seq, v.focus, v.place, v.tenant,
       v.source, v.trust_level, v.initial_confidence, v.valid_from, v.valid_to, v.tsv, v.version, v.created_at, v.ingested_at,
       v.ingested_at, v.replaced_at
from pgmem.visible_version v join pgmem.visible_node n on n.seq = v.node_seq;
comment on view pgmem.recorded_state is
  'Every recorded state of the nodes a caller may see. What was known at t: ingested_at <= t and replaced_at > t.';
