-- The full-text arm over what was recorded at a moment. Nobody keeps the word statistics and vectors of the past, so it ranks by
-- ts_rank over node and node_version, and says so.
create or replace function pgmem.search_known(p_query text, p_limit integer, p_project_id text, p_scope text, p_labels text[],
  p_as_of timestamptz, p_known_at timestamptz)
returns table (id uuid, label text, key text, title text, summary text, project text, scope text, score float8, vector float8,
               fulltext float8, graph float8, trust float8, confidence float8, explanation jsonb, created_at timestamptz,
               mode text, degraded boolean, reason text)
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_scope pgmem.scope_state := pgmem.resolve_scope(pgmem.caller(), p_project_id, null);
  v_query tsquery := pgmem.any_word(p_query, coalesce(v_scope.text_config, pgmem.setting_text('text_config')));
begin
  if v_query is null or v_scope.scope_state = 'uncertain' then
    return;
  end if;
  return query
  select s.id, s.label, s.key, s.title, pgmem.excerpt(pgmem.search_text(s.label, s.title, s.props)), s.project, s.scope,
         s.rank, null::float8, s.rank, null::float8, s.trust_level, pgmem.confidence(s.initial_confidence, s.updated_at), null::jsonb,
         s.created_at, 'fulltext_only', false, 'what was known then is searched by full text over the record'
  from (
    select s.*, ts_rank(s.tsv, v_query, 1)::float8 as rank from pgmem.recorded_state s
    where s.tsv @@ v_query and s.ingested_at <= p_known_at and s.replaced_at > p_known_at
      and pgmem.is_true_at(s.status, s.valid_from, s.valid_to, s.created_at, p_as_of)
      and (v_scope.project_seq is null or s.project_seq = v_scope.project_seq or s.scope = 'global')
      and (p_scope is null or s.scope = p_scope) and (p_labels is null or s.label = any (p_labels))
      and s.label not in ('Project', 'GlobalScope', 'FocusArea', 'GovernanceToken')
    order by rank desc, s.seq desc limit p_limit) s
  order by s.rank desc, s.seq desc;
end;
$$;
comment on function pgmem.search_known is
  'What was recorded at a moment and holds words of a query, best first by full text; with as_of, what was true then.';
