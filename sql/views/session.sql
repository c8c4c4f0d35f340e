create or replace view pgmem.session with (security_invoker = true) as
select n.id, n.props ->> 'objective' as objective,
       array(select jsonb_array_elements_text(n.props -> 'actions_taken')) as actions_taken,
       array(select jsonb_array_elements_text(n.props -> 'decisions_made')) as decisions_made,
       array(select jsonb_array_elements_text(n.props -> 'open_items')) as open_items,
       array(select jsonb_array_elements_text(n.props -> 'next_actions')) as next_actions,
       (select count(*) from pgmem.edge e where e.src = n.seq and e.rel = 'PRODUCED') as produced,
       n.project, n.scope, n.focus, n.status, n.source, n.org_id, n.user_id, n.created_at
from pgmem.node n where n.label = 'Session';
comment on view pgmem.session is 'Sessions: what was done, what is open, what comes next.';
comment on column pgmem.session.produced is 'How many memories were saved in the session.';
