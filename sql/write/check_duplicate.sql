-- security definer: clients hold no rights on tables.
create or replace function pgmem.check_duplicate(p_title text, p_rationale text, p_project_id text, p_scope text default 'project',
  p_focus text default null, out dedup_outcome text, out candidate_id uuid, out score float8)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
declare
  v_caller pgmem.caller := pgmem.caller();
  v_scope  pgmem.scope_state := pgmem.resolve_scope(v_caller, p_project_id, p_focus);
  v_key    bigint := pgmem.scope_key(v_caller.tenant, case p_scope when 'global' then 'global'
             when 'focus' then v_scope.project_seq::text || '/' || v_scope.focus else v_scope.project_seq::text end, 'Decision');
  v_title  text := pgmem.clean_title(p_title, 'title');
begin
  if p_scope is null or p_scope not in ('global', 'project', 'focus') then
    raise exception using errcode = 'PM001', message = format('scope is global, project or focus, not %s.', coalesce(p_scope, 'nothing'));
  end if;
  if p_scope = 'focus' and v_scope.focus is null then
    raise exception using errcode = 'PM001', message = 'scope focus needs focus: send the name of the focus area.';
  end if;
  dedup_outcome := 'new';
  select s.id, 1.0 into candidate_id, score
  from pgmem.same_content(v_key, pgmem.content_hash(array[v_title || ' ' || pgmem.clean_text(p_rationale, 'rationale', true)])) s where s.id is not null;
  if candidate_id is not null then
    dedup_outcome := 'duplicate_skip';
    return;
  end if;
  select s.id, s.score into candidate_id, score
  from pgmem.near_duplicate(v_key, v_title) s;
  dedup_outcome := case when score >= pgmem.setting_float('dedup_supersede') then 'supersede'
    when score >= pgmem.setting_float('dedup_manual_review') then 'manual_review' else 'new' end;
end;
$$;
comment on function pgmem.check_duplicate is 'What save_decision would find: the outcome, the candidate and its Jaccard. Writes nothing.';
