create or replace view pgmem.decision with (security_invoker = true) as
select n.id, n.title, n.props ->> 'rationale' as rationale, n.props ->> 'owner' as owner, (n.props ->> 'date')::date as date,
       n.project, n.scope, n.focus, n.status, pgmem.confidence(n.initial_confidence, n.updated_at) as confidence,
       (select newer.id from pgmem.edge e join pgmem.node newer on newer.seq = e.src
        where e.dst = n.seq and e.rel = 'SUPERSEDES' order by e.seq desc limit 1) as superseded_by,
       n.valid_from, n.valid_to, n.source, n.trust_level, n.agent_id, n.org_id, n.user_id, n.created_at, n.updated_at
from pgmem.node n where n.label = 'Decision';
comment on view pgmem.decision is 'Decisions with their rationale, whatever their status; status = ''active'' is what agents see.';
comment on column pgmem.decision.superseded_by is 'The id of the decision that took this one''s place.';
comment on column pgmem.decision.confidence is 'Confidence at this moment, after decay.';
