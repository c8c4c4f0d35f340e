-- Sessions, patterns and contexts
--
-- The kinds that are stored as they come (store_node): nothing is compared by likeness, so none supersedes another.
--
-- Locks: those of 24-saving; of a pattern then its scope, unless the pattern exists (find_repeat).


-- A session is the account of a piece of work: its results, its decisions, its open ends and the next step. Every call
-- stores a new one. save_session is also the only save that creates its project, so that a mistyped project name does not
-- open one by accident.
select pgmem.declare_kind('Session', 'save_session',
  p_comment => $$
Save what a session did and what is open; this save alone creates its project.

A refused save is not an error; its status is `failed` or `blocked_scope`, and next_step says what to do.
$$,
  p_description => 'Call this when work ends: it keeps what was done and what is open. It alone creates a project.',
  p_fields => array[
    pgmem.field('objective', 'text', 'Its aim; one text.', p_required => true),
    pgmem.field('actions_taken', 'texts', 'Actions, in order.', p_option => 'did'),
    pgmem.field('decisions_made', 'texts', 'Decisions; a few words each: save_decision keeps the reasons.',
      p_option => 'decided'),
    pgmem.field('open_items', 'texts', 'Unfinished work.', p_option => 'open'),
    pgmem.field('next_actions', 'texts', 'Next steps.', p_option => 'next'),
    pgmem.field('produced', 'integer', 'How many memories were saved in the session.', p_kept => 'view', p_query =>
      $$(select count(*) from pgmem.visible_edge e where e.src = n.seq and e.rel = 'PRODUCED')$$)],
  p_searched => '{objective,actions_taken,decisions_made,open_items,next_actions}',
  p_titled_by => '{objective}',
  p_order => '{objective,project_id,actions_taken,decisions_made,open_items,next_actions,focus,scope}',
  p_opens_project => true);


-- A pattern is a way of working that repeats: its trigger, its steps, and the cases it does not fit. The same trigger with
-- the same steps is the same pattern and is stored once in a scope; exclusions do not count. A repeat confirms the
-- pattern, which hygiene reads beside last_validated_at.
select pgmem.declare_kind('Pattern', 'save_pattern',
  p_comment => $$
Save a repeatable way of working: when it applies and its steps.

A pattern with the same trigger and steps is skipped (dedup_outcome `duplicate_skip`). A refused save is not an
error; its status is `failed` or `blocked_scope`, and next_step says what to do.
$$,
  p_description => 'Call this when a way of working has proved itself and will be needed again.',
  p_fields => array[
    pgmem.field('trigger', 'text', 'When it applies.', p_required => true),
    pgmem.field('repeatable_steps', 'texts', 'In order; at least one.', p_required => true, p_option => 'steps'),
    pgmem.field('exclusions', 'texts', 'When it does not apply.', p_option => 'exclusion'),
    pgmem.field('last_validated_at', 'time', 'When the pattern last proved right; unset: now.', p_starts => 'now',
      p_hidden => true, p_query => $$pgmem.validated_at((n.props ->> 'last_validated_at')::timestamptz, n.created_at, n.updated_at)$$)],
  p_searched => '{trigger,repeatable_steps,exclusions}',
  p_titled_by => '{trigger}',
  p_repeats => '{trigger,repeatable_steps}',
  p_order => '{trigger,repeatable_steps,project_id,exclusions,scope,last_validated_at,governance_token,save_id,focus}');


-- A context is a free note under a topic, for a text of no other kind. The same note saved twice is two nodes.
select pgmem.declare_kind('Context', 'save_context',
  p_comment => $$
Save a free piece of context under a topic; every call stores a new memory.

A refused save is not an error; its status is `failed` or `blocked_scope`, and next_step says what to do.
$$,
  p_description => 'Call this for a note that fits no other save.',
  p_fields => array[
    pgmem.field('content', 'text', 'The text of the note.', p_required => true),
    pgmem.field('topic', 'text', 'Its title.'),
    pgmem.field('relevance_score', 'relevance',
      '0 to 1; how relevant it is: kept with the note, and no part of a ranking.', p_starts => '1.0')],
  p_searched => '{topic,content}',
  p_titled_by => '{topic,content}',
  p_order => '{content,project_id,topic,scope,focus,relevance_score,governance_token,save_id,share}');
