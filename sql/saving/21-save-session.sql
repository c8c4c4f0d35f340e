-- Sessions
--
-- A session is the account of a piece of work: what it did, what it decided, what is open and what comes next. Every call
-- stores a new one; nothing is compared with earlier sessions. save_session is also the only save that creates its
-- project, so that a mistyped project name does not open one by accident.
--
-- Locks: those of 20-saving.


select pgmem.declare_kind('Session', 'save_session',
  p_comment => $$
Save what a session did and what is open; this save alone creates its project.

A refused save is not an error; its status is `failed` or `blocked_scope`, and next_step says what to do.
$$,
  p_description => 'At the end of work: what was done, decided, is open, comes next. Only this save creates a project.',
  p_fields => array[
    pgmem.field('objective', 'text', 'Its aim; one text.', p_required => true),
    pgmem.field('actions_taken', 'texts', 'What was done, in order.', p_option => 'did'),
    pgmem.field('decisions_made', 'texts', 'What was decided; a few words each: save_decision keeps the reasons.',
      p_option => 'decided'),
    pgmem.field('open_items', 'texts', 'What is not finished.', p_option => 'open'),
    pgmem.field('next_actions', 'texts', 'What comes next.', p_option => 'next'),
    pgmem.field('produced', 'integer', 'How many memories were saved in the session.', p_kept => 'view', p_query =>
      $$(select count(*) from pgmem.visible_edge e where e.src = n.seq and e.rel = 'PRODUCED')$$)],
  p_searched => '{objective,actions_taken,decisions_made,open_items,next_actions}',
  p_titled_by => '{objective}',
  p_order => '{objective,project_id,actions_taken,decisions_made,open_items,next_actions,focus,scope}',
  p_opens_project => true);
