-- The vector arm. Scopes up to vector_exact_limit are compared one by one (recall 1.0 at 0.6 microseconds a row); larger ones by
-- HNSW over the indexed rows and one by one over those that are not indexed yet. Filters stand inside, so that they cost no recall.
create or replace function pgmem.vector_candidates(p_embedding real[], p_model pgmem.embedding_model, p_kind text, p_tenants text[], p_project_seq bigint,
  p_memories bigint, p_labels text[], p_scopes text[], p_focus text, p_tags text[], p_as_of timestamptz, p_limit integer)
returns table (seq bigint, score float8)
language plpgsql stable
set search_path = pgmem, public, pg_temp
as $$
#variable_conflict use_column
declare
  v_index   boolean := p_memories > pgmem.setting_int('vector_exact_limit')
              and to_regclass(format('pgmem.embedding_hnsw_%s_%s', p_model.id, p_kind)) is not null;
  v_filters text := '';
  v_seqs    bigint[];
  v_scores  float8[];
  v_found   bigint;
begin
  if p_embedding is null or not pgmem.has_vectors() then
    return;
  end if;
  if p_project_seq is not null then
    v_filters := ' and e.project_seq in ($4, 0) and (n.project_seq = $4 or n.scope = ''global'')';
  end if;
  v_filters := v_filters || ' and pgmem.is_true_at(n.status, n.valid_from, n.valid_to, n.created_at, $9)'
    || case when p_labels is not null then ' and n.label = any ($5)' else '' end
    || case when p_scopes is not null then ' and n.scope = any ($6)' else '' end
    || case when p_focus is not null then ' and n.focus = $7' else '' end
    || case when p_tags is not null then ' and n.props -> ''tags'' ?& $8' else '' end;
  if v_index then
    perform set_config('hnsw.ef_search', (1.2 * p_limit)::integer::text, true), set_config('hnsw.iterative_scan', 'relaxed_order', true);
    execute format($q$
      select (array_agg(f.seq order by f.score desc))[1 : $10], (array_agg(f.score order by f.score desc))[1 : $10],
             count(*) filter (where f.indexed) from (
      (select e.node_seq as seq, 1 - (e.vector::halfvec(%1$s) <=> $1::halfvec(%1$s)) as score, e.indexed from pgmem.embedding e join pgmem.node n on n.seq = e.node_seq
       where e.indexed and e.model_id = %2$s and e.kind = %4$L and e.tenant = any ($3) %3$s
       order by e.vector::halfvec(%1$s) <=> $1::halfvec(%1$s) limit $10)
      union all
      (select e.node_seq, 1 - (e.vector <=> $1::halfvec), e.indexed from pgmem.embedding e join pgmem.node n on n.seq = e.node_seq
       where not e.indexed and e.model_id = %2$s and e.kind = %4$L and e.tenant = any ($3) %3$s
       order by (e.vector <=> $1::halfvec) + 0 limit $10)) f$q$, p_model.dimensions, p_model.id, v_filters, p_kind)
    into v_seqs, v_scores, v_found
    using p_embedding, p_model.id, p_tenants, p_project_seq, p_labels, p_scopes, p_focus, p_tags, p_as_of, p_limit;
    -- Fewer than asked for: the filters leave so few that the index may have missed some.
    if v_found >= p_limit then
      return query select f.seq, f.score from unnest(v_seqs, v_scores) as f(seq, score);
      return;
    end if;
  end if;
  return query execute format($q$
    select e.node_seq, 1 - (e.vector <=> $1::halfvec) from pgmem.embedding e join pgmem.node n on n.seq = e.node_seq
    where e.model_id = %1$s and e.kind = %3$L and e.tenant = any ($3) %2$s
    order by (e.vector <=> $1::halfvec) + 0 limit $10$q$, p_model.id, v_filters, p_kind)
  using p_embedding, p_model.id, p_tenants, p_project_seq, p_labels, p_scopes, p_focus, p_tags, p_as_of, p_limit;
end;
$$;
comment on function pgmem.vector_candidates is 'The memories of a scope nearest to a vector by cosine, over their own texts or their windows.';
