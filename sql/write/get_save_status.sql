-- security definer: clients hold no rights on tables.
create or replace function pgmem.get_save_status(p_project_id text, p_session_id text default null, p_save_id uuid default null,
  out status text, out count integer, out oldest_pending_at timestamptz, out artifact_ids uuid[], out saves jsonb)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_project text := pgmem.clean_key(p_project_id, 'project_id');
begin
  if p_save_id is not null then
    select a.status, 1, case when a.status <> 'saved' then a.created_at end, array_remove(array[a.artifact_id], null),
           jsonb_build_array(to_jsonb(pgmem.attempt_result(row(a.*)::pgmem.save_attempt)))
    into status, count, oldest_pending_at, artifact_ids, saves
    from pgmem.visible_attempt a where a.save_id = p_save_id
    order by a.tenant = (pgmem.caller()).tenant desc limit 1;
    if status is null then
      status := 'not_started';
      count := 0;
      artifact_ids := '{}';
      saves := '[]';
    end if;
    return;
  end if;
  select count(*), min(a.created_at), coalesce(array_agg(distinct a.artifact_id) filter (where a.artifact_id is not null), '{}'),
         coalesce(jsonb_agg(to_jsonb(pgmem.attempt_result(row(a.*)::pgmem.save_attempt)) || jsonb_build_object('verb', a.verb, 'created_at', a.created_at) order by a.created_at), '[]')
  into count, oldest_pending_at, artifact_ids, saves
  from pgmem.visible_attempt a
  -- A batch saved in part needs no more than its children, which have rows of their own.
  where a.status not in ('saved', 'dropped', 'partial') and a.project = v_project
    and (p_session_id is null or a.session_id = p_session_id);
  status := case when count = 0 then 'saved'
    when exists (select from jsonb_array_elements(saves) s where s ->> 'status' = 'pending_retry') then 'pending_retry'
    else 'failed' end;
end;
$$;
comment on function pgmem.get_save_status(text, text, uuid) is
  'The saves of a project that are not saved (failed, blocked, pending, waiting for review), or what became of one save_id.';
