create or replace function pgmem.outdated_decisions(p_project_seq bigint, p_scope text) returns table (seq bigint)
language sql stable
set search_path = pgmem, pg_temp
as $$
  select n.seq from pgmem.hygiene_node n
  where n.label = 'Decision' and (p_project_seq is null or n.project_seq = p_project_seq) and (p_scope is null or n.scope = p_scope)
    and coalesce((n.props ->> 'date')::date, n.created_at::date) < (pgmem.now()::date - pgmem.setting_int('hygiene_decision_days'))
    and not exists (select from pgmem.edge e where e.src = n.seq and e.rel = 'SUPERSEDES');
$$;
comment on function pgmem.outdated_decisions(bigint, text) is
  'Live decisions dated before the last 180 days (a setting) that superseded nothing.';
