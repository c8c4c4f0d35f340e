select status from save_session(p_objective => 'Set up the shop', p_project_id => 'shop');

select status, dedup_outcome from save_decision(
  p_title => 'Keep the orders in PostgreSQL 17', p_rationale => 'One system for all.', p_project_id => 'shop');

select title, rationale, status from decision where project = 'shop';

select title, score from search_memory('where do we keep orders?');
