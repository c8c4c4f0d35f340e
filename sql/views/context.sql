create or replace view pgmem.context with (security_invoker = true) as
select n.id, n.props ->> 'topic' as topic, n.props ->> 'content' as content, (n.props ->> 'relevance_score')::float8 as relevance_score,
       n.project, n.scope, n.focus, n.status, n.source, n.trust_level, n.org_id, n.user_id, n.created_at, n.updated_at
from pgmem.node n where n.label = 'Context';
comment on view pgmem.context is 'Free notes with their topic.';
