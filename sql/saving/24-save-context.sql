-- Contexts
--
-- A context is a free note under a topic, for what fits no other kind of memory. Nothing is compared: the same note saved
-- twice is two nodes.
--
-- Locks: those of 20-saving.


select pgmem.declare_kind('Context', 'save_context',
  p_comment => $$
Save a free piece of context under a topic; every call stores a new memory.

A refused save is not an error; its status is `failed` or `blocked_scope`, and next_step says what to do.
$$,
  p_description => 'Keep a note that is not a decision, pattern or fact.',
  p_fields => array[
    pgmem.field('content', 'text', 'The text of the note.', p_required => true),
    pgmem.field('topic', 'text', 'Its title.'),
    pgmem.field('relevance_score', 'relevance',
      '0 to 1; how relevant it is: kept with the note, and no part of a ranking.', p_starts => '1.0')],
  p_searched => '{topic,content}',
  p_titled_by => '{topic,content}',
  p_order => '{content,project_id,topic,scope,focus,relevance_score,governance_token,save_id,share}');
