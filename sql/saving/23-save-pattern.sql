-- Patterns
--
-- A pattern is a way of working that repeats: its trigger, its steps, and the cases it does not fit. The same trigger with
-- the same steps is the same pattern and is stored once in a scope; exclusions do not count. Patterns are never compared
-- by likeness, so none supersedes another. A repeat confirms the pattern, which hygiene reads beside last_validated_at.
--
-- Locks: those of 20-saving; then the scope of the pattern, unless the pattern exists (find_repeat).


select pgmem.declare_kind('Pattern', 'save_pattern',
  p_comment => $$
Save a repeatable way of working: when it applies and its steps.

A pattern with the same trigger and steps is skipped (dedup_outcome `duplicate_skip`). A refused save is not an
error; its status is `failed` or `blocked_scope`, and next_step says what to do.
$$,
  p_description => 'Keep a way of working that repeats: when it applies, its steps, when it does not.',
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
