create or replace view pgmem.entity_fact with (security_invoker = true) as
select n.id, n.key as entity_name, n.props ->> 'fact' as fact, n.version, n.project, n.scope, n.focus, n.status,
       n.source, n.trust_level, n.org_id, n.user_id, n.created_at, n.updated_at
from pgmem.node n where n.label = 'EntityFact';
comment on view pgmem.entity_fact is 'What is known of named things at present; version counts the facts so far, node_version holds the earlier ones.';
