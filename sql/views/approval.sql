create or replace view pgmem.approval with (security_invoker = true) as
select t.id, t.preview, t.org_id, t.user_id, t.issued_to, t.issued_at, t.expires_at, t.used_at, t.used_by, t.spent_by
from pgmem.governance_token t;
comment on view pgmem.approval is 'Approvals of global writes: who asked, what for, when, which save or memory spent it, and by which agent.';
