create or replace function pgmem.unresolved_saves(p_project text, p_scope text) returns setof pgmem.save_attempt
language sql stable
set search_path = pgmem, pg_temp
as $$
  select a.* from pgmem.visible_attempt a
  where a.status in ('pending_retry', 'failed') and (p_project is null or a.project = p_project)
    and (p_scope is null or coalesce(a.arguments ->> 'scope', 'project') = p_scope);
$$;
comment on function pgmem.unresolved_saves(text, text) is 'Saves that failed or wait for another try; those that a person dropped are resolved.';
