-- The vector arm. One by one costs 0.7 microseconds a row of the scope (n) and misses nothing; HNSW costs 18 microseconds for each
-- candidate, times indexed rows (N) / n, as it filters afterwards. So up to n = sqrt(25 * candidates * N) a scope is compared one by
-- one, but never more than vector_exact_limit; a larger one by HNSW over the indexed rows and one by one over those that are not
-- indexed yet. Some more than asked for are taken by their vectors alone; if too few of them pass the filters, the whole scope is
-- compared with the filters inside: filters cost no recall.
create or replace function pgmem.vector_candidates(p_embedding real[], p_model pgmem.embedding_model, p_kind text, p_tenants text[], p_project_seq bigint,
  p_memories bigint, p_labels text[], p_scopes text[], p_focus text, p_tags text[], p_as_of timestamptz, p_limit integer)
returns table (seq bigint, score float8)
language plpgsql stable rows 50
set search_path = pgmem, public, pg_temp
-- Every read here is by an index of the scope; kept plans would else read all vectors where the store was small once.
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_rows   float8;
  v_most   integer := case when num_nonnulls(p_labels, p_scopes, p_focus, p_tags) = 0 then 1.5 else 3 end * p_limit;
  v_seqs   bigint[];
  v_scores float8[];
  v_more   bigint[];
  v_far    float8[];
begin
  if p_embedding is null or not pgmem.has_vectors() then
    return;
  end if;
  -- Null where there is no index.
  v_rows := (select greatest(c.reltuples, 0) from pg_class c
             where c.oid = to_regclass(format('pgmem.embedding_hnsw_%s_%s', p_model.id, p_kind)));
  if p_memories > least(pgmem.setting_int('vector_exact_limit'), sqrt(25 * p_limit * v_rows)) and v_rows is not null then
    perform set_config('hnsw.ef_search', (1.2 * p_limit)::integer::text, true), set_config('hnsw.iterative_scan', 'relaxed_order', true);
    execute format($q$
      select array_agg(f.node_seq), array_agg(f.score) from (
        select e.node_seq, 1 - (e.vector::halfvec(%1$s) <=> $1) as score from pgmem.embedding e
        where e.indexed and e.model_id = %2$s and e.kind = %3$L and e.tenant = any ($2) and ($3 is null or e.project_seq in ($3, 0))
        order by e.vector::halfvec(%1$s) <=> $1 limit $4) f$q$, p_model.dimensions, p_model.id, p_kind)
    into v_seqs, v_scores using p_embedding::halfvec, p_tenants, p_project_seq, (1.2 * p_limit)::integer;
    select array_agg(f.node_seq), array_agg(f.score) into v_more, v_far
    from (select e.node_seq, e.score
          from (select e.node_seq, 1 - (e.vector <=> (select p_embedding::halfvec)) as score from pgmem.embedding e
                where not e.indexed and e.model_id = p_model.id and e.kind = p_kind and e.tenant = any (p_tenants)
                  and (p_project_seq is null or e.project_seq in (p_project_seq, 0)) offset 0) e
          order by e.score desc limit v_most) f;
    v_seqs := v_seqs || v_more;
    v_scores := v_scores || v_far;
    v_most := null;
  elsif p_project_seq is null then
    select array_agg(f.node_seq), array_agg(f.score) into v_seqs, v_scores
    from (select e.node_seq, e.score
          from (select e.node_seq, 1 - (e.vector <=> (select p_embedding::halfvec)) as score from pgmem.embedding e
                where e.model_id = p_model.id and e.kind = p_kind and e.tenant = any (p_tenants) offset 0) e
          order by e.score desc limit v_most) f;
  else
    select array_agg(f.node_seq), array_agg(f.score) into v_seqs, v_scores
    from (select e.node_seq, e.score
          from (select e.node_seq, 1 - (e.vector <=> (select p_embedding::halfvec)) as score from pgmem.embedding e
                where e.model_id = p_model.id and e.kind = p_kind and e.tenant = any (p_tenants)
                  and e.project_seq in (p_project_seq, 0) offset 0) e
          order by e.score desc limit v_most) f;
  end if;
  -- Fewer than asked for by their vectors alone: there are no more.
  v_most := nullif(v_most, coalesce(cardinality(v_seqs), 0));
  select array_agg(f.seq), array_agg(f.score) into v_seqs, v_scores
  from (select f.seq, f.score from unnest(v_seqs, v_scores) as f(seq, score)
        cross join lateral (
          select from pgmem.node n
          where n.seq = f.seq and pgmem.is_true_at(n.status, n.valid_from, n.valid_to, n.created_at, p_as_of)
            and (p_project_seq is null or n.project_seq = p_project_seq or n.scope = 'global')
            and (p_labels is null or n.label = any (p_labels)) and (p_scopes is null or n.scope = any (p_scopes))
            and (p_focus is null or n.focus = p_focus) and (p_tags is null or n.props -> 'tags' ?& p_tags) offset 0) n
        order by f.score desc limit p_limit) f;
  if v_most is not null or cardinality(v_seqs) = p_limit then
    return query select f.seq, f.score from unnest(v_seqs, v_scores) as f(seq, score);
    return;
  end if;
  return query
  select f.seq, f.score
  from (select n.seq, 1 - (e.vector <=> (select p_embedding::halfvec)) as score
        from pgmem.embedding e join pgmem.node n on n.seq = e.node_seq
        where e.model_id = p_model.id and e.kind = p_kind and e.tenant = any (p_tenants)
          and (p_project_seq is null or e.project_seq in (p_project_seq, 0))
          and pgmem.is_true_at(n.status, n.valid_from, n.valid_to, n.created_at, p_as_of)
          and (p_project_seq is null or n.project_seq = p_project_seq or n.scope = 'global')
          and (p_labels is null or n.label = any (p_labels)) and (p_scopes is null or n.scope = any (p_scopes))
          and (p_focus is null or n.focus = p_focus) and (p_tags is null or n.props -> 'tags' ?& p_tags) offset 0) f
  order by f.score desc limit p_limit;
end;
$$;
comment on function pgmem.vector_candidates is 'The memories of a scope nearest to a vector by cosine, over their own texts or their windows.';
