create or replace view pgmem.save with (security_invoker = true) as
select a.save_id, a.verb, a.project, a.status, a.dedup_outcome, a.artifact_id, a.candidate_id, a.message, a.attempts,
       a.resolved_by, a.org_id, a.user_id, a.created_at, a.updated_at
from pgmem.save_attempt a;
comment on view pgmem.save is 'Every save and what became of it; those not saved can be run again with retry_save or resolve_review.';
