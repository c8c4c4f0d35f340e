-- The full-text arm over what was recorded at a moment. Nobody keeps the word statistics of the past, so it ranks by ts_rank.
create or replace function pgmem.known_search(p_query tsquery, p_known_at timestamptz, p_as_of timestamptz default null,
  p_project_seq bigint default null, p_scopes text[] default null, p_focus text default null, p_labels text[] default null,
  p_tags text[] default null, p_limit integer default 10)
returns table (seq bigint, id uuid, label text, key text, title text, props jsonb, project text, scope text, focus text, status text,
  score float8, trust_level float8, confidence float8, version integer, created_at timestamptz)
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  select s.seq, s.id, s.label, s.key, s.title, s.props, s.project, s.scope, s.focus, s.status, ts_rank(s.tsv, p_query, 1)::float8,
         s.trust_level, pgmem.confidence(s.initial_confidence, s.updated_at), s.version, s.created_at
  from pgmem.recorded_state s
  where s.tsv @@ p_query and s.ingested_at <= p_known_at and s.replaced_at > p_known_at
    and pgmem.is_true_at(s.status, s.valid_from, s.valid_to, s.created_at, p_as_of)
    and (p_project_seq is null or s.project_seq = p_project_seq or s.scope = 'global')
    and (p_scopes is null or s.scope = any (p_scopes)) and (p_focus is null or s.focus = p_focus)
    and (p_labels is null or s.label = any (p_labels)) and (p_tags is null or s.props -> 'tags' ?& p_tags)
  order by 11 desc, s.seq desc limit p_limit;
end;
$$;
comment on function pgmem.known_search is 'What was recorded at a moment and holds words of a query, best first; with as_of, what was true then.';
