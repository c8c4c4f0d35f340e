-- security definer: clients hold no rights on tables.
create or replace function pgmem.search_memory(p_query text, p_limit integer default 10, p_project_id text default null,
  p_scope text default null, p_labels text[] default null)
returns table (id uuid, label text, key text, title text, summary text, project text, scope text, score float8,
               fulltext float8, created_at timestamptz, mode text, degraded boolean, reason text)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_scope pgmem.scope_state;
  v_query tsquery;
begin
  if pgmem.clean_text(p_query, 'query') is null then
    raise exception using errcode = 'PM001', message = 'query must not be empty; send words or a question.';
  end if;
  if coalesce(p_limit, 0) not between 1 and 1000 then
    raise exception using errcode = 'PM001', message = 'limit is a whole number from 1 to 1000.';
  end if;
  perform pgmem.require_label(label) from unnest(p_labels) label;
  if p_scope not in ('global', 'project', 'focus') then
    raise exception using errcode = 'PM001', message = format('scope is global, project or focus, not %s.', p_scope);
  end if;
  v_scope := pgmem.resolve_scope(pgmem.caller(), p_project_id, null);
  v_query := pgmem.any_word(p_query, coalesce(v_scope.text_config, pgmem.setting_text('text_config')));
  if v_query is null or v_scope.scope_state = 'uncertain' then
    return;
  end if;
  return query
  select n.id, n.label, n.key, n.title, pgmem.excerpt(pgmem.search_text(n.label, n.title, n.props)), n.project, n.scope,
         n.rank, n.rank, n.created_at, 'fulltext_only', false, 'this release ranks by full text'
  from (select n.*, ts_rank(n.tsv, v_query, 1)::float8 as rank from pgmem.live_node n
        where n.tsv @@ v_query
          and (v_scope.project_seq is null or n.project_seq = v_scope.project_seq or n.scope = 'global')
          and (p_scope is null or n.scope = p_scope)
          and (p_labels is null or n.label = any (p_labels))
        order by rank desc, n.seq desc limit p_limit) n
  order by n.rank desc, n.seq desc;
end;
$$;
comment on function pgmem.search_memory is 'Live memories that hold words of the query, best first.';
