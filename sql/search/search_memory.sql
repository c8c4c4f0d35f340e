-- Candidates of the arms, fused and ranked in one statement:
-- linear: score = alpha * vector + (1 - alpha) * fulltext + beta * least(graph, cap) + gamma * trust + what the query says of
-- dates and writers + a little for confidence; each arm min-max normalised over all candidates, 0 for who has no vector or no word of the query.
-- rrf: the first two terms are replaced by sum 1 / (k + rank), min-max normalised.
-- Memories of a session are also scored with their neighbours (window) and their session; an arm is the mean of what there is.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.search_memory(p_query text, p_limit integer default 10, p_project_id text default null,
  p_scope text default null, p_labels text[] default null, p_as_of timestamptz default null, p_known_at timestamptz default null,
  p_fusion text default null, p_explain boolean default false, p_focus text default null, p_tags text[] default null,
  p_names text[] default null, p_without text[] default '{}', p_embedding real[] default null, p_embedding_model text default null,
  p_weights jsonb default null)
returns table (id uuid, label text, key text, title text, summary text, project text, scope text, score float8, vector float8,
               fulltext float8, graph float8, trust float8, confidence float8, explanation jsonb, created_at timestamptz,
               mode text, degraded boolean, reason text)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan
-- Compiling this statement takes a hundred times as long as running it; managed servers have it on.
set jit = off
as $$
#variable_conflict use_column
declare
  v_caller   pgmem.caller := pgmem.caller();
  v_scope    pgmem.scope_state;
  v_setting  jsonb := pgmem.search_weights(p_weights);
  v_fusion   text := coalesce(p_fusion, v_setting ->> 'hybrid_fusion');
  v_alpha    float8 := (v_setting ->> 'hybrid_alpha')::float8;
  v_beta     float8 := (v_setting ->> 'hybrid_graph_beta')::float8;
  v_cap      float8 := (v_setting ->> 'hybrid_boost_cap')::float8;
  v_gamma    float8 := (v_setting ->> 'hybrid_trust_gamma')::float8;
  v_sure     float8 := (v_setting ->> 'hybrid_confidence_weight')::float8;
  v_dated    float8 := (v_setting ->> 'hybrid_date_weight')::float8;
  v_sourced  float8 := (v_setting ->> 'hybrid_source_weight')::float8;
  v_k        float8 := (v_setting ->> 'rrf_k')::float8;
  v_rate     float8 := (v_setting ->> 'decay_rate')::float8;
  v_age      integer := (v_setting ->> 'decay_max_age_days')::integer;
  v_now      timestamptz := pgmem.now();
  v_window   boolean := not 'window' = any (p_without);
  v_session  boolean := not 'session' = any (p_without);
  v_arm      integer := greatest((v_setting ->> 'hybrid_arm_limit')::integer, p_limit);
  v_lexemes  text[];
  v_size     record;
  v_model    pgmem.embedding_model;
  v_dates    tstzrange[];
  v_scopes   text[] := case when p_scope is not null then array[p_scope] end;
  v_mode     text := 'hybrid';
  v_degraded boolean := false;
  v_reason   text;
begin
  if pgmem.clean_text(p_query, 'query') is null then
    raise exception using errcode = 'PM001', message = 'query must not be empty; send words or a question.';
  end if;
  if coalesce(p_limit, 0) not between 1 and 1000 then
    raise exception using errcode = 'PM001', message = 'limit is a whole number from 1 to 1000.';
  end if;
  if p_scope not in ('global', 'project', 'focus') then
    raise exception using errcode = 'PM001', message = format('scope is global, project or focus, not %s.', p_scope);
  end if;
  if v_fusion not in ('linear', 'rrf') then
    raise exception using errcode = 'PM001', message = format('fusion is linear or rrf, not %s.', v_fusion);
  end if;
  if p_labels is not null then
    perform pgmem.require_label(label) from unnest(p_labels) label;
  end if;
  if p_known_at is not null then
    return query select k.* from pgmem.search_known(p_query, p_limit, p_project_id, p_scope, p_labels, p_as_of, p_known_at) k;
    return;
  end if;
  v_scope := pgmem.resolve_scope(v_caller, p_project_id, p_focus);
  if v_scope.scope_state = 'uncertain' then
    return;
  end if;
  v_lexemes := pgmem.query_lexemes(p_query, coalesce(v_scope.text_config, pgmem.setting_text('text_config')));
  select * into v_size from pgmem.scope_size(v_caller.tenants, v_scope.project_seq);
  if p_embedding is not null then
    select m.* into v_model from pgmem.embedding_model m where m.active;
    if v_model.name is distinct from p_embedding_model or not pgmem.has_vectors() then
      v_degraded := true;
      v_reason := case when v_model.name is null or not pgmem.has_vectors() then 'this store keeps no vectors'
                  else format('the vectors here are of %s, the query''s of %s', v_model.name, p_embedding_model) end;
      v_model := null;
    elsif cardinality(p_embedding) <> v_model.dimensions then
      raise exception using errcode = 'PM001', message = format('Model %s has %s dimensions, this vector has %s; send vectors of that model.',
        v_model.name, v_model.dimensions, cardinality(p_embedding));
    end if;
  end if;
  if v_model.id is null then
    v_alpha := 0;
    v_mode := 'fulltext_only';
    v_reason := coalesce(v_reason, 'no embedding provider');
  elsif cardinality(v_lexemes) = 0 then
    v_alpha := 1;
    v_mode := 'vector_only';
    v_reason := 'the query holds no word that counts';
  end if;
  if p_query ~ '\d{4}' and not 'date' = any (p_without) then
    v_dates := pgmem.dates_asked(p_query);
  end if;

  return query
  with own as materialized (
    select *, row_number() over () as rank from pgmem.vector_candidates(case when v_model.id is not null then p_embedding end, v_model, 'self', v_caller.tenants,
      v_scope.project_seq, v_size.memories, p_labels, v_scopes, v_scope.focus, p_tags, p_as_of, v_arm)
  ), around as materialized (
    select * from pgmem.vector_candidates(case when v_model.id is not null and v_window then p_embedding end, v_model,
      'window', v_caller.tenants, v_scope.project_seq, v_size.memories, p_labels, v_scopes, v_scope.focus, p_tags, p_as_of, v_arm)
  ), text as materialized (
    select *, row_number() over () as rank from pgmem.text_candidates(v_lexemes, v_caller.tenants, v_scope.project_seq, v_size.memories, v_size.mean_length,
      p_labels, v_scopes, v_scope.focus, p_tags, p_as_of, v_arm)
  ), session as materialized (
    select s.seq, case when v_window then s.window_score end as window_score, case when v_session then s.session_score end as session_score
    from pgmem.session_candidates(v_lexemes,
      case when v_window or v_session then
        (select coalesce(array_agg(distinct t.session_id) filter (where t.session_id is not null), '{}') from text t) else '{}' end,
      v_caller.tenants, p_as_of) s
  ), candidate as materialized (
    select seq from own union select seq from around union select seq from text
    union (select s.seq from session s where s.window_score is not null order by s.window_score desc limit v_arm)
  ), near as materialized (
    -- Who came by words or by a session is compared too: an arm's scores are those of all candidates.
    select * from pgmem.vector_scores(case when v_model.id is not null then p_embedding end, v_model,
      array(select c.seq from candidate c left join own o using (seq) left join around a using (seq)
            where o.seq is null or a.seq is null and exists (select from around)))
  ), scored as (
    select c.seq, v.own, v.around, t.score as text, s.window_score, s.session_score,
           (v.own - min(v.own) over ()) / nullif(max(v.own) over () - min(v.own) over (), 0) as own_norm,
           (v.around - min(v.around) over ()) / nullif(max(v.around) over () - min(v.around) over (), 0) as around_norm,
           (t.score - min(t.score) over ()) / nullif(max(t.score) over () - min(t.score) over (), 0) as text_norm,
           (s.window_score - min(s.window_score) over ()) / nullif(max(s.window_score) over () - min(s.window_score) over (), 0) as window_norm,
           (s.session_score - min(s.session_score) over ()) / nullif(max(s.session_score) over () - min(s.session_score) over (), 0) as session_norm,
           o.rank as own_rank, t.rank as text_rank,
           s.seq is not null as in_session
    from candidate c left join own o using (seq) left join around a using (seq) left join near w using (seq)
    cross join lateral (select coalesce(o.score, w.own) as own, case when v_window then coalesce(a.score, w.around) end as around) v
    left join text t using (seq) left join session s using (seq)
  ), arms as (
    select s.*,
      -- A single candidate, or equal ones, are normalised to 1; who has no vector or no word of the query gets 0.
      (coalesce(s.own_norm, (s.own is not null)::integer) + coalesce(s.around_norm, (s.around is not null)::integer))
        / greatest((s.own is not null)::integer + (s.around is not null)::integer, 1) as vector,
      case when not s.in_session then coalesce(s.text_norm, (s.text is not null)::integer)
        else (coalesce(s.text_norm, (s.text is not null)::integer) + coalesce(s.window_norm, 0) + coalesce(s.session_norm, 0))
          / (1 + v_window::integer + v_session::integer) end as fulltext,
      coalesce(1 / (v_k + s.own_rank), 0) + coalesce(1 / (v_k + s.text_rank), 0) as rrf
    from scored s
  ), boosted as (
    select a.*, case when 'graph' = any (p_without) then 0.0 else coalesce(g.near, 0)::float8 / greatest(count(*) over () - 1, 1) end as graph
    from arms a left join (
      select e.seq, count(distinct e.other) as near
      from (select src as seq, dst as other from pgmem.edge where src = any (array(select c.seq from candidate c)) and dst = any (array(select c.seq from candidate c))
            union all
            select dst, src from pgmem.edge where src = any (array(select c.seq from candidate c)) and dst = any (array(select c.seq from candidate c))) e
      group by e.seq) g using (seq)
  ), ranked as (
    select n.seq, b.vector, b.fulltext, b.graph, n.trust_level as trust, pgmem.decayed(n.initial_confidence, n.updated_at, v_now, v_rate, v_age) as confidence,
           b.own, b.around, b.text, b.window_score, b.session_score,
           case when v_dates is null then 0.0 else pgmem.date_match(coalesce(n.valid_from, n.created_at), v_dates) end as date,
           case when cardinality(p_names) = 1 and lower(n.agent_id) = lower(p_names[1]) and not 'source' = any (p_without) then 1.0 else 0.0 end as source,
           case v_fusion when 'linear' then v_alpha * b.vector + (1 - v_alpha) * b.fulltext
             else coalesce((b.rrf - min(b.rrf) over ()) / nullif(max(b.rrf) over () - min(b.rrf) over (), 0), 1.0) end as fused
    -- By key, whatever the planner thinks of how many there are: a hash would read every memory.
    from boosted b cross join lateral (
      select * from pgmem.node n where n.seq = b.seq and n.tenant = any (v_caller.tenants) offset 0) n
    -- A session brings its other memories along: they pass the same filters.
    where (p_labels is null or n.label = any (p_labels)) and (v_scopes is null or n.scope = any (v_scopes))
      and (v_scope.focus is null or n.focus = v_scope.focus) and (p_tags is null or n.props -> 'tags' ?& p_tags)
      and (v_scope.project_seq is null or n.project_seq = v_scope.project_seq or n.scope = 'global')
  ), best as (
    select r.*, r.fused + v_beta * least(r.graph, v_cap) + v_gamma * r.trust + v_sure * r.confidence + v_dated * r.date + v_sourced * r.source as score
    from ranked r order by score desc, r.seq desc limit p_limit
  )
  select n.id, n.label, n.key::text, n.title::text, pgmem.excerpt(t.searched_text), n.project, n.scope::text, b.score,
         b.vector, b.fulltext, b.graph, b.trust::float8, b.confidence,
         case when p_explain then jsonb_build_object('fusion', v_fusion, 'alpha', v_alpha, 'fused', b.fused,
           'vector', jsonb_build_object('cosine', b.own, 'window_cosine', b.around),
           'fulltext', jsonb_build_object('bm25', b.text, 'window_bm25', b.window_score, 'session_bm25', b.session_score),
           'graph', b.graph, 'trust', b.trust, 'confidence', b.confidence, 'date', b.date, 'source', b.source,
           'weights', v_setting) end,
         n.created_at, v_mode, v_degraded, v_reason
  from best b join pgmem.node n using (seq) cross join lateral pgmem.searched_text(n.label, n.title, n.props) t
  order by b.score desc, n.seq desc;
end;
$$;
comment on function pgmem.search_memory is
  'Live memories that answer a query, best first, by meaning, words and graph; explain gives every part of a score.';
