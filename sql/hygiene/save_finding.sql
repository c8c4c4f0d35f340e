create or replace function pgmem.save_finding(p_attempt pgmem.save_attempt) returns jsonb
language sql stable
set search_path = pgmem, pg_temp
as $$
  select jsonb_build_object('check', 'unresolved_saves', 'ids', array[p_attempt.save_id], 'label', p_attempt.verb,
      'titles', array_remove(array[pgmem.excerpt(coalesce(p_attempt.arguments ->> 'title', p_attempt.arguments ->> 'objective',
        p_attempt.arguments ->> 'trigger', p_attempt.arguments ->> 'entity_name', p_attempt.arguments ->> 'topic',
        p_attempt.arguments ->> 'content', p_attempt.message))], null),
      'project', p_attempt.project)
    || case
      when p_attempt.verb = 'store_session_with_learnings' then jsonb_build_object('verb', p_attempt.verb,
        'what', 'A batch that was not saved: send it again with this save_id.',
        'arguments', jsonb_build_object('save_id', p_attempt.save_id))
      when p_attempt.dedup_outcome = 'manual_review' then jsonb_build_object('verb', 'resolve_review',
        'what', 'It resembles a memory too much to be new: a person decides (new, supersede or drop).',
        'arguments', jsonb_build_object('save_id', p_attempt.save_id))
      else jsonb_build_object('verb', 'retry_save', 'what', 'Not saved: ' || coalesce(p_attempt.message, p_attempt.status),
        'arguments', jsonb_build_object('save_id', p_attempt.save_id)) end;
$$;
comment on function pgmem.save_finding(pgmem.save_attempt) is 'A save that is not saved as a report shows it.';
