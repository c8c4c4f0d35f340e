-- The text arm by itself, for engines that fuse arms of several stores: the score is the BM25 of the memory's own text.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.fulltext_search(p_query text, p_limit integer default 10, p_project_id text default null)
returns table (id uuid, label text, key text, title text, summary text, score float8, trust float8, confidence float8)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.caller();
  v_scope  pgmem.scope_state := pgmem.resolve_scope(v_caller, p_project_id, null);
  v_size   record;
begin
  if coalesce(p_limit, 0) not between 1 and 1000 then
    raise exception using errcode = 'PM001', message = 'limit is a whole number from 1 to 1000.';
  end if;
  if v_scope.scope_state = 'uncertain' then
    return;
  end if;
  select * into v_size from pgmem.scope_size(v_caller.tenants, v_scope.project_seq);
  return query
  select n.id, n.label, n.key::text, n.title::text, pgmem.excerpt(found_by.searched_text), t.score, n.trust_level::float8,
         pgmem.confidence(n.initial_confidence, n.updated_at)
  from pgmem.text_candidates(
      pgmem.query_lexemes(coalesce(pgmem.clean_text(p_query, 'query'), ''), coalesce(v_scope.text_config, pgmem.setting_text('text_config'))),
      v_caller.tenants, v_scope.project_seq, v_size.memories, v_size.mean_length, null, null, null, null, null, p_limit) t
  cross join lateral (select * from pgmem.node n where n.seq = t.seq and n.tenant = any (v_caller.tenants) offset 0) n
  cross join lateral pgmem.searched_text(n.label, n.title, n.props) found_by
  order by t.score desc, n.seq desc;
end;
$$;
comment on function pgmem.fulltext_search(text, integer, text) is
  'Live memories by their own words alone, best BM25 first; search_memory is what ranks by meaning and graph too.';
