create or replace function pgmem.obsolete_patterns(p_project_seq bigint, p_scope text) returns table (seq bigint)
language sql stable
set search_path = pgmem, pg_temp
as $$
  select n.seq from pgmem.hygiene_node n
  where n.label = 'Pattern' and (p_project_seq is null or n.project_seq = p_project_seq) and (p_scope is null or n.scope = p_scope)
    and (n.props ->> 'last_validated_at')::timestamptz < pgmem.now() - make_interval(days => pgmem.setting_int('hygiene_pattern_days'));
$$;
comment on function pgmem.obsolete_patterns(bigint, text) is 'Live patterns that were last validated more than 90 days (a setting) ago.';
