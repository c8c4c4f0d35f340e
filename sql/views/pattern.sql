create or replace view pgmem.pattern with (security_invoker = true) as
select n.id, n.props ->> 'trigger' as trigger,
       array(select jsonb_array_elements_text(n.props -> 'repeatable_steps')) as repeatable_steps,
       array(select jsonb_array_elements_text(n.props -> 'exclusions')) as exclusions,
       (n.props ->> 'last_validated_at')::timestamptz as last_validated_at,
       n.project, n.scope, n.focus, n.status, n.source, n.trust_level, n.org_id, n.user_id, n.created_at, n.updated_at
from pgmem.node n where n.label = 'Pattern';
comment on view pgmem.pattern is 'Repeatable ways of working: when they apply, their steps, when they do not apply.';
