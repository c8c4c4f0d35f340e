-- The vector arm by itself, for engines that fuse arms of several stores: the score is the cosine.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.search_vectors(p_embedding real[], p_limit integer default 10, p_model text default null,
  p_project_id text default null)
returns table (id uuid, label text, key text, title text, summary text, score float8, trust float8, confidence float8)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.caller();
  v_scope  pgmem.scope_state := pgmem.resolve_scope(v_caller, p_project_id, null);
  v_model  pgmem.embedding_model;
  v_size   record;
begin
  if coalesce(p_limit, 0) not between 1 and 1000 then
    raise exception using errcode = 'PM001', message = 'limit is a whole number from 1 to 1000.';
  end if;
  select m.* into v_model from pgmem.embedding_model m where case when p_model is null then m.active else m.name = p_model end;
  if v_model.id is null or v_scope.scope_state = 'uncertain' then
    return;
  end if;
  if cardinality(p_embedding) is distinct from v_model.dimensions then
    raise exception using errcode = 'PM001', message = format('Model %s has %s dimensions, this vector has %s; send vectors of that model.',
      v_model.name, v_model.dimensions, coalesce(cardinality(p_embedding), 0));
  end if;
  select * into v_size from pgmem.scope_size(v_caller.tenants, v_scope.project_seq);
  return query
  select n.id, n.label, n.key::text, n.title::text, pgmem.excerpt(found_by.searched_text), v.score, n.trust_level::float8,
         pgmem.confidence(n.initial_confidence, n.updated_at)
  from (select c.seq, max(c.score) as score
        from pgmem.vector_candidates(p_embedding, v_model, 'self', v_caller.tenants, v_scope.project_seq, v_size.memories,
          null, null, null, null, null, p_limit) c group by c.seq) v
  cross join lateral (select * from pgmem.node n where n.seq = v.seq and n.tenant = any (v_caller.tenants) offset 0) n
  cross join lateral pgmem.searched_text(n.label, n.title, n.props) found_by
  order by v.score desc, n.seq desc limit p_limit;
end;
$$;
comment on function pgmem.search_vectors(real[], integer, text, text) is
  'Live memories by the nearness of their own vectors alone; search_memory is what ranks by words and graph too.';
