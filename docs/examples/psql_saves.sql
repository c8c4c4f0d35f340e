-- Saves that failed, and why.
select created_at, verb, status, dedup_outcome, message from save
where status in ('failed', 'blocked_scope', 'pending_retry') order by created_at desc;

-- The decisions that wait for a person, beside what they resemble.
select save_id, title, candidate_title, score from list_reviews('shop');
