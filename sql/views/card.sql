create or replace view pgmem.card with (security_invoker = true) as
select n.id, n.props ->> 'record_type' as record_type, n.props ->> 'statement' as statement, n.status, n.props ->> 'confidence' as confidence,
       n.props ->> 'origin' as origin, n.props ->> 'ingest_source' as ingest_source, n.props ->> 'path' as path, n.project,
       n.props ->> 'stale_reason' as stale_reason, n.props ->> 'approved_by' as approved_by, (n.props ->> 'approved_at')::timestamptz as approved_at,
       (select count(*) from pgmem.card_evidence e where e.node_seq = n.seq) as evidence_count,
       n.agent_id, n.org_id, n.user_id, n.created_at, n.updated_at
from pgmem.node n where n.label = 'Card';
comment on view pgmem.card is 'Engineering memory: every card in whatever state; status = ''active'' is what agents see.';
