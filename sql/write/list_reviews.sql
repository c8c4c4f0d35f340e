-- security definer: clients hold no rights on tables.
create or replace function pgmem.list_reviews(p_project_id text default null, p_limit integer default 100)
returns table (save_id uuid, project text, title text, rationale text, candidate_id uuid, candidate_title text,
               candidate_rationale text, score float8, created_at timestamptz)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  if coalesce(p_limit, 0) not between 1 and 1000 then
    raise exception using errcode = 'PM001', message = 'limit is a whole number from 1 to 1000.';
  end if;
  return query
  select a.save_id, a.project, a.arguments ->> 'title', a.arguments ->> 'rationale', a.candidate_id, n.title::text,
         n.props ->> 'rationale', pgmem.jaccard(pgmem.tokens(a.arguments ->> 'title'), n.title_tokens), a.created_at
  from pgmem.visible_attempt a
  left join pgmem.visible_node n on n.id = a.candidate_id
  where a.status = 'failed' and a.dedup_outcome = 'manual_review'
    and (p_project_id is null or a.project = p_project_id)
  order by a.created_at limit p_limit;
end;
$$;
comment on function pgmem.list_reviews(text, integer) is 'The saves that wait for a person, each beside the memory it resembles.';
