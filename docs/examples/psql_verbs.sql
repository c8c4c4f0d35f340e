-- The same verbs as an agent's, with the same rules.
select status from save_session('Look at the numbers', 'shop');

select status, dedup_outcome, message from save_decision(
  p_title => 'Report revenue by week', p_rationale => 'Days are too noisy.', p_project_id => 'shop',
  p_owner => 'Ada', p_confidence => 0.8);

select status from upsert_entity('Stripe', 'Takes the payments.', 'shop');

select retrieval_status, jsonb_array_length(items) as items from retrieve_context('shop', 'project');

select created from relate('Decision', 'Report revenue by week', 'RELATED_TO', 'EntityFact', 'Stripe', 'shop');

select label, title, depth, path from neighbours('Decision', 'Report revenue by week', p_project_id => 'shop');
