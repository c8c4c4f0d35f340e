-- Vector search
--
-- The vector arm of search: the memories of a scope whose vectors are nearest to a query by cosine.
--
-- A scope is compared one by one, or its index is asked. One by one costs 0.7 microseconds a row of the scope (n) and
-- misses nothing. HNSW costs 18 microseconds a candidate, times indexed rows (N) / n, because it filters afterwards. So
-- a scope of up to n = sqrt(25 * candidates * N) rows is compared one by one, but never more than vector_exact_limit
-- rows; a larger one is searched by HNSW over the indexed rows and one by one over the others.
--
-- Types and operators of pgvector are named with their schema, `public` here; an install writes the schema that the
-- extension is really in (pgmem/install/schema.py).
--
-- Locks: store_node_vectors locks nodes, shared, by seq.


-- The vector arm by itself, for engines that fuse arms of several stores: the score is the cosine.
create or replace function pgmem.search_vectors(
  p_embedding real[],
  p_limit pgmem.row_limit default 10,
  p_model text default null,
  p_project_id text default null
) returns setof pgmem.ranked_node
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.caller();
  v_scope  pgmem.scope_state := pgmem.resolve_scope(v_caller, p_project_id, null);
  v_model  pgmem.embedding_model;
  v_filter pgmem.search_filter;
begin
  select m.* into v_model from pgmem.embedding_model m
  where case when p_model is null then m.active else m.name = p_model end;
  if v_model.id is null or v_scope.scope_state = 'uncertain' then
    return;
  end if;
  if cardinality(p_embedding) is distinct from v_model.dimensions then
    raise exception using errcode = 'PM001', message = format(
      'Model %s has %s dimensions, this vector has %s; send vectors of that model.',
      v_model.name, v_model.dimensions, coalesce(cardinality(p_embedding), 0));
  end if;
  v_filter.tenants := v_caller.tenants;
  v_filter.project_seq := v_scope.project_seq;
  v_filter.moment := pgmem.now();
  return query
  select r.* from (
    select array_agg(v.seq) as seqs, array_agg(v.score) as scores from (
      select c.seq, c.score from pgmem.vector_candidates(
        p_embedding, v_model, v_filter, (select s.memories from pgmem.scope_size(v_filter) s), p_limit) c
      -- Whoever stores vectors of projects and focus areas finds them, too; there are few.
      union all
      select p.seq, 1::float8 - (e.vector operator(public.<=>) (select p_embedding::public.halfvec))
      from pgmem.node p join pgmem.embedding e on e.node_seq = p.seq and e.model_id = v_model.id
      where pgmem.is_place(p.label) and p.tenant = any (v_caller.tenants) and pgmem.is_live_status(p.status)
        and (v_filter.project_seq is null or v_filter.project_seq in (p.seq, p.project_seq))) v) found
  cross join lateral pgmem.ranked_nodes(v_caller.tenants, found.seqs, found.scores, p_limit) r;
end;
$$;
comment on function pgmem.search_vectors is $$
Live memories by vector similarity alone; search_memory ranks by words and graph too.
$$;
select pgmem.declare_verb('search_vectors', p_rights => 'reader', p_effect => 'read');


create or replace function pgmem.count_vectors(p_model text default null) returns bigint
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
begin
  if not pgmem.has_vectors() then
    return 0;
  end if;
  return (select count(*) from pgmem.embedding e join pgmem.embedding_model m on m.id = e.model_id
          where e.tenant = any ((select pgmem.visible_tenants())::text[])
            and case when p_model is null then m.active else m.name = p_model end);
end;
$$;
comment on function pgmem.count_vectors is $$
How many memories the caller sees have a vector of a model; of the active one if none is named.
$$;
select pgmem.declare_verb('count_vectors', p_rights => 'reader', p_effect => 'read');


-- The vector arm. One by one costs 0.7 microseconds a row of the scope (n) and misses nothing; HNSW costs 18
-- microseconds for each candidate, times indexed rows (N) / n, as it filters afterwards. So up to
-- n = sqrt(25 * candidates * N) a scope is compared one by one, but never more than vector_exact_limit; a larger one by
-- HNSW over the indexed rows and one by one over those that are not indexed yet. Some more than wanted are taken by
-- their vectors alone, and looked up in their order until enough pass the filters; if too few do, the whole scope is
-- compared with the filters inside: filters cost no recall.
create or replace function pgmem.vector_candidates(
  p_embedding real[],
  p_model pgmem.embedding_model,
  p_filter pgmem.search_filter,
  p_memories bigint,
  p_limit integer
) returns table (
  seq bigint,
  score float8
)
language plpgsql stable rows 50
set search_path = pgmem, pg_temp
-- Every read here is by an index of the scope. A plan made while the store was small would go on reading all of it.
set enable_seqscan = off
set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_rows   float8;
  v_scopes bigint[] := case when p_filter.project_seq is not null then array[p_filter.project_seq, 0] end;
  v_most   integer := 1.5 * p_limit;
  v_seqs   bigint[];
  v_scores float8[];
  v_more   bigint[];
  v_far    float8[];
begin
  if p_embedding is null or not pgmem.has_vectors() then
    return;
  end if;
  if num_nonnulls(
      p_filter.labels, p_filter.scopes, p_filter.focus, p_filter.tags, p_filter.agent_id, p_filter.session_id) > 0 then
    v_most := 3 * p_limit;
  end if;
  -- Null without an index.
  v_rows := (select greatest(c.reltuples, 0) from pg_class c
             where c.oid = to_regclass(format('pgmem.embedding_hnsw_%s', p_model.id)));
  if p_memories > least(pgmem.setting_int('vector_exact_limit'), sqrt(25 * p_limit * v_rows))
      and v_rows is not null then
    perform set_config('hnsw.ef_search', least(1000, (1.2 * p_limit)::integer)::text, true),
            set_config('hnsw.iterative_scan', 'relaxed_order', true);
    execute format($q$
      select array_agg(f.node_seq), array_agg(f.score) from (
        select e.node_seq, 1::float8 - (e.vector::public.halfvec(%1$s) operator(public.<=>) $1) as score
        from pgmem.embedding e
        where e.indexed and e.model_id = %2$s and e.tenant = any ($2) and ($3 is null or e.project_seq = any ($3))
        order by e.vector::public.halfvec(%1$s) operator(public.<=>) $1 limit $4) f$q$, p_model.dimensions, p_model.id)
    into v_seqs, v_scores using p_embedding::public.halfvec, p_filter.tenants, v_scopes, (1.2 * p_limit)::integer;
    select array_agg(f.node_seq), array_agg(f.score) into v_more, v_far
    from (select e.node_seq, e.score
          from (select e.node_seq,
                       1::float8 - (e.vector operator(public.<=>) (select p_embedding::public.halfvec)) as score
                from pgmem.embedding e
                where not e.indexed and e.model_id = p_model.id and e.tenant = any (p_filter.tenants)
                  and (v_scopes is null or e.project_seq = any (v_scopes)) offset 0) e
          order by e.score desc limit v_most) f;
    select array_agg(f.seq), array_agg(f.score) into v_seqs, v_scores
    from (select f.seq, f.score
          from (select f.seq, f.score from unnest(v_seqs || v_more, v_scores || v_far) as f(seq, score)
                order by f.score desc offset 0) f
          cross join lateral (select from pgmem.node n where n.seq = f.seq and pgmem.fits(n, p_filter) offset 0) n
          order by f.score desc limit p_limit) f;
  elsif v_scopes is null then
    select array_agg(f.node_seq), array_agg(f.score) into v_seqs, v_scores
    from (select e.node_seq, e.score
          from (select e.node_seq, e.score
                from (select e.node_seq,
                             1::float8 - (e.vector operator(public.<=>) (select p_embedding::public.halfvec)) as score
                      from pgmem.embedding e
                      where e.model_id = p_model.id and e.tenant = any (p_filter.tenants) offset 0) e
                order by e.score desc limit v_most) e
          cross join lateral (select from pgmem.node n where n.seq = e.node_seq and pgmem.fits(n, p_filter) offset 0) n
          order by e.score desc limit p_limit) f;
  else
    select array_agg(f.node_seq), array_agg(f.score) into v_seqs, v_scores
    from (select e.node_seq, e.score
          from (select e.node_seq, e.score
                from (select e.node_seq,
                             1::float8 - (e.vector operator(public.<=>) (select p_embedding::public.halfvec)) as score
                      from pgmem.embedding e
                      where e.model_id = p_model.id and e.tenant = any (p_filter.tenants)
                        and e.project_seq = any (v_scopes) offset 0) e
                order by e.score desc limit v_most) e
          cross join lateral (select from pgmem.node n where n.seq = e.node_seq and pgmem.fits(n, p_filter) offset 0) n
          order by e.score desc limit p_limit) f;
  end if;
  if cardinality(v_seqs) = p_limit then
    return query select f.seq, f.score from unnest(v_seqs, v_scores) as f(seq, score);
    return;
  end if;
  return query
  select f.seq, f.score
  from (select n.seq, 1::float8 - (e.vector operator(public.<=>) (select p_embedding::public.halfvec)) as score
        from pgmem.embedding e join pgmem.node n on n.seq = e.node_seq
        where e.model_id = p_model.id and e.tenant = any (p_filter.tenants)
          and (v_scopes is null or e.project_seq = any (v_scopes)) and pgmem.fits(n, p_filter) offset 0) f
  order by f.score desc limit p_limit;
end;
$$;
comment on function pgmem.vector_candidates is 'The memories of a scope nearest to a vector by cosine.';


create or replace function pgmem.vector_scores(
  p_embedding real[],
  p_model pgmem.embedding_model,
  p_seqs bigint[]
) returns table (
  seq bigint,
  score float8
)
language plpgsql stable rows 50 set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
begin
  if p_embedding is null or p_seqs = '{}' or not pgmem.has_vectors() then
    return;
  end if;
  return query
  -- The array becomes a vector once, not for every row.
  select e.node_seq, 1::float8 - (e.vector operator(public.<=>) (select p_embedding::public.halfvec))
  from pgmem.embedding e
  where e.node_seq = any (p_seqs) and e.model_id = p_model.id;
end;
$$;
comment on function pgmem.vector_scores is 'The cosine of some memories with a query.';


-- Vectors that a caller computed, by node. They count as made from the current text; a later change of it queues the
-- node for the worker like any other.
create or replace function pgmem.store_node_vectors(p_model text, p_items jsonb) returns integer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_model  pgmem.embedding_model;
  v_item   record;
  v_node   pgmem.node;
  v_count  integer := 0;
begin
  perform pgmem.require_count(jsonb_array_length(p_items), 'items', 'max_list_limit');
  v_model := pgmem.require_model(p_model);
  for v_item in
    select n.seq, i.value -> 'vector' as vector
    from jsonb_array_elements(p_items) i join pgmem.visible_node n on n.id = (i.value ->> 'id')::uuid
    order by n.seq
  loop
    select n.* into v_node from pgmem.node n where n.seq = v_item.seq for share;
    continue when v_node.seq is null or pgmem.is_hidden_status(v_node.status);
    perform pgmem.require_own(v_node, v_caller);
    perform pgmem.put_vector(v_node.seq, v_model, v_node.tenant, coalesce(v_node.project_seq, 0),
      encode(sha256(convert_to(pgmem.embedding_text(v_node.label, v_node.title, v_node.props), 'UTF8')), 'hex'),
      array(select jsonb_array_elements_text(v_item.vector))::real[]);
    v_count := v_count + 1;
  end loop;
  return v_count;
end;
$$;
comment on function pgmem.store_node_vectors is $$
Store vectors of the caller's own nodes: [{id, vector}]; nodes that do not exist or are archived are left out. How many were
stored.
$$;
select pgmem.declare_verb('store_node_vectors', p_rights => 'writer', p_effect => 'write');


create or replace function pgmem.delete_node_vectors(p_ids uuid[]) returns integer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_node   pgmem.node;
  v_seqs   bigint[] := '{}';
begin
  perform pgmem.require_count(cardinality(p_ids), 'ids', 'max_list_limit');
  for v_node in select n.* from pgmem.visible_node n where n.id = any (p_ids) order by n.seq loop
    perform pgmem.require_own(v_node, v_caller);
    v_seqs := v_seqs || v_node.seq;
  end loop;
  return pgmem.delete_embeddings(v_seqs);
end;
$$;
comment on function pgmem.delete_node_vectors is $$
Delete the vectors of the caller's own nodes, of every model, and their entries in the embedding queue; vectors deleted.
$$;
select pgmem.declare_verb('delete_node_vectors', p_rights => 'writer', p_effect => 'remove');
