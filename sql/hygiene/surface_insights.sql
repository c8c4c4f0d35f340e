-- security definer: clients hold no rights on tables.
create or replace function pgmem.surface_insights(p_limit integer default 10, p_query text default null)
returns table (id uuid, title text, summary text, detector text, confidence float8, trust_level float8, status text, sources uuid[],
               created_at timestamptz)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_query tsquery := case when pgmem.clean_text(p_query, 'query') is not null
    then coalesce(pgmem.any_word(p_query, pgmem.setting_text('text_config')), ''::tsquery) end;
begin
  if coalesce(p_limit, 0) not between 1 and 1000 then
    raise exception using errcode = 'PM001', message = 'limit is a whole number from 1 to 1000.';
  end if;
  return query
  select i.* from pgmem.visible_node n cross join lateral pgmem.insight(row(n.*)::pgmem.node) i
  where n.label = 'Insight' and n.status = 'pending' and (v_query is null or n.tsv @@ v_query)
  order by case when v_query is null then 0 else ts_rank(n.tsv, v_query) end desc, n.initial_confidence desc, n.trust_level desc, n.seq
  limit p_limit;
end;
$$;
comment on function pgmem.surface_insights(integer, text) is 'The insights that wait for review, surest first; with a query, those that hold one of its words.';
