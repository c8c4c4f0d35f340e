-- The text arm: BM25 over tsvector. A small scope ranks every match and counts its words as it goes; a large one ranks the
-- matches of the query's rarest words, by the kept document frequencies.
-- idf = ln(1 + (N - df + 0.5) / (df + 0.5)); score = sum idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean)).
create or replace function pgmem.text_candidates(p_lexemes text[], p_tenants text[], p_project_seq bigint, p_memories bigint,
  p_mean_length float8, p_labels text[], p_scopes text[], p_focus text, p_tags text[], p_as_of timestamptz, p_limit integer)
returns table (seq bigint, score float8, session_id text)
language plpgsql stable rows 50
set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_k1     float8;
  v_b      float8;
  v_exact  integer;
  v_most   integer;
  v_rare   text[] := p_lexemes;
  v_known  text[] := '{}';
  v_counts bigint[] := '{}';
  v_words  tsquery[] := array(select pgmem.lexeme_query(l) from unnest(p_lexemes) l);
  v_query  text;
begin
  if cardinality(p_lexemes) = 0 or p_memories = 0 then
    return;
  end if;
  select max(s.value) filter (where s.name = 'bm25_k1'), max(s.value) filter (where s.name = 'bm25_b'),
         max(s.value) filter (where s.name = 'text_exact_limit'), max(s.value) filter (where s.name = 'text_candidate_limit')
  into v_k1, v_b, v_exact, v_most
  from pgmem.setting s where s.name in ('bm25_k1', 'bm25_b', 'text_exact_limit', 'text_candidate_limit');
  if p_memories > v_exact then
    select array_agg(f.lexeme), array_agg(f.df),
           array_agg(f.lexeme) filter (where f.running <= v_most or f.place = 1)
    into v_known, v_counts, v_rare
    from (select c.lexeme, c.df, sum(c.df) over (order by c.df, c.lexeme) as running, row_number() over (order by c.df, c.lexeme) as place
          from (select q.lexeme, coalesce((select sum(s.memories) from pgmem.lexeme_stat s
                  where s.tenant = any (p_tenants) and s.lexeme = q.lexeme
                    and (p_project_seq is null or s.project_seq in (p_project_seq, 0))), 0) as df
                from unnest(p_lexemes) as q(lexeme)) c where c.df > 0) f;
    if v_known is null then
      return;
    end if;
  end if;
  -- One index scan serves scope and words: the scope's lexemes stand in the tsvector.
  v_query := format('(%s) & (%s)', (select string_agg(quote_literal(l), ' | ') from unnest(v_rare) l),
    (select string_agg(quote_literal((pgmem.scope_lexemes(t, 0))[1]), ' | ') from unnest(p_tenants) t));
  if p_project_seq is not null then
    v_query := v_query || format(' & (%L | ''@p0'')', '@p' || p_project_seq);
  end if;
  return query
  with matched as materialized (
    select n.seq, n.text_length, n.session_id, n.tsv
    from pgmem.node n
    -- The tenant as an expression: an index by tenant would read all of his memories beside this.
    where n.tsv @@ v_query::tsquery and n.tenant || '' = any (p_tenants) and pgmem.is_memory(n.label)
      and pgmem.is_true_at(n.status, n.valid_from, n.valid_to, n.created_at, p_as_of)
      and (p_project_seq is null or n.project_seq = p_project_seq or n.scope = 'global')
      and (p_labels is null or n.label = any (p_labels)) and (p_scopes is null or n.scope = any (p_scopes))
      and (p_focus is null or n.focus = p_focus) and (p_tags is null or n.props -> 'tags' ?& p_tags)
  ), hit as materialized (
    select m.seq, m.text_length, m.session_id, q.lexeme, pgmem.occurrences(m.tsv, q.word)::float8 as tf from matched m
    cross join unnest(p_lexemes, v_words) as q(lexeme, word) where m.tsv @@ q.word
  ), rarity as materialized (
    -- float8 throughout: the logarithm of a numeric costs 5 microseconds.
    select f.lexeme, ln(1 + (greatest(p_memories - f.df, 0)::float8 + 0.5) / (f.df::float8 + 0.5)) as idf
    from (select k.lexeme, k.df from unnest(v_known, v_counts) as k(lexeme, df)
          union all
          select h.lexeme, count(*) from hit h where v_known = '{}' group by h.lexeme) f
  )
  select h.seq, sum(r.idf * h.tf * (v_k1 + 1) / (h.tf + v_k1 * (1 - v_b + v_b * h.text_length / p_mean_length))), min(h.session_id)
  from hit h join rarity r using (lexeme)
  group by h.seq order by 2 desc, 1 desc limit p_limit;
end;
$$;
comment on function pgmem.text_candidates is 'The memories of a scope that best match some lexemes, by BM25.';
