-- The candidates of a search: words, filters, the text arm
--
-- The text arm compares the matches of the rarest words of a query only: their counts add up to text_candidate_limit
-- (300) or to one in 50 memories of the scope at most, and never to more than text_match_limit (2 000). A filter is
-- one value (search_filter) that every arm applies through pgmem.fits.
--
-- Locks: none.


create or replace function pgmem.stat_scopes(p_filter pgmem.search_filter) returns bigint[]
language sql immutable parallel safe
begin atomic
  select case when p_filter.project_seq is not null then array[p_filter.project_seq, 0]
    || pgmem.scopes_apart(p_filter.labels, p_filter.project_seq) end;
end;
comment on function pgmem.stat_scopes is
  'The numbers under which the memories of a search are counted; null: all projects.';


create or replace function pgmem.scope_size(
  p_filter pgmem.search_filter,
  out memories bigint,
  out mean_length float8,
  out is_counted boolean
)
language plpgsql stable set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_scopes bigint[] := pgmem.stat_scopes(p_filter);
begin
  select sum(s.memories), sum(s.total_length)::float8 / nullif(sum(s.memories), 0) into memories, mean_length
  from pgmem.text_stat s
  where s.tenant = any (p_filter.tenants)
    and case when v_scopes is null then s.project_seq >= 0 else s.project_seq = any (v_scopes) end;
  is_counted := coalesce(memories, 0) >= 64;
  if not is_counted then
    -- Young: nothing is counted yet, or so little that a few more memories change the mean.
    select count(*), avg(n.text_length) into memories, mean_length
    from (select n.text_length from pgmem.node n
          where n.tenant = any (p_filter.tenants) and pgmem.is_memory(n.label)
            and pgmem.is_searched(n.status, p_filter.labels)
            and (p_filter.project_seq is null or n.project_seq = p_filter.project_seq or n.scope = 'global')
            and (not pgmem.named_only(n.label) or n.label = any (p_filter.labels))
          limit 2000) n;
  end if;
  mean_length := coalesce(nullif(mean_length, 0), 1);
end;
$$;
comment on function pgmem.scope_size is
  'How many memories a scope holds and their mean length: from the kept counts, counted only where it is young (not is_counted).';


-- How much shorter than the scope each agent writes, from -1 (e times as long) to 1 (e times as short); an agent that
-- has written little counts less. Where all write alike it is about 0; in a long chat it favours the side that writes
-- short texts from the side that writes long ones.
create or replace function pgmem.source_priors(
  p_filter pgmem.search_filter,
  p_mean_length float8
) returns table (
  agent_id text,
  prior float8
)
language plpgsql stable rows 20 set search_path = pgmem, pg_temp set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  return query
  with kept as materialized (
    select s.agent_id, sum(s.memories)::float8 as memories, sum(s.total_length)::float8 as length
    from pgmem.source_stat s
    where s.tenant = any ((p_filter).tenants) and s.project_seq in ((p_filter).project_seq, 0)
    group by s.agent_id limit 500
  )
  select k.agent_id, k.memories / (k.memories + 5)
    * greatest(-1, least(1, ln(p_mean_length / greatest(k.length / k.memories, 1)))) from kept k where k.memories > 0;
end;
$$;
comment on function pgmem.source_priors is
  'How much shorter than the mean of a project each of its agents writes, as a logarithm within -1 and 1.';


create or replace function pgmem.has_label(p_label text, p_props jsonb, p_labels text[]) returns boolean
language sql immutable parallel safe
begin atomic
  select case when p_labels is null then not pgmem.named_only(p_label)
    else p_label = any (p_labels) and not (pgmem.is_branched(p_label) and p_props ? 'branch') end;
end;
comment on function pgmem.has_label is
  'Whether a memory is of the labels that a search names; cards only where they are named, and none of a branch.';


-- No subquery and no SET clause: it is merged into the statement that uses it. The tenant as an expression, as an index
-- by tenant would read all its memories beside the candidates of the arm.
create or replace function pgmem.fits(p_node pgmem.node, p_filter pgmem.search_filter) returns boolean
language sql stable parallel safe
begin atomic
  select p_node.tenant || '' = any (p_filter.tenants) and pgmem.is_memory(p_node.label)
    -- As is_true_at; the clock is read once for a search, not for every memory.
    and case when p_filter.as_of is null
      then pgmem.is_searched(p_node.status, p_filter.labels)
        and pgmem.valid_at(p_node.valid_from, p_node.valid_to, p_filter.moment)
        and (p_node.turns_at is null or p_node.turns_at > p_filter.moment)
      else pgmem.is_true_at(p_node.status, p_node.valid_from, p_node.valid_to, p_node.created_at, p_filter.as_of) end
    and (p_filter.project_seq is null or p_node.project_seq = p_filter.project_seq or p_node.scope = 'global')
    and pgmem.has_label(p_node.label, p_node.props, p_filter.labels)
    and (p_filter.scopes is null or p_node.scope = any (p_filter.scopes))
    and (p_filter.focus is null or p_node.focus = p_filter.focus)
    and (p_filter.tags is null or p_node.props -> 'tags' ?& p_filter.tags)
    and (p_filter.agent_id is null or p_node.agent_id = p_filter.agent_id)
    and (p_filter.session_id is null or p_node.session_id = p_filter.session_id);
end;
comment on function pgmem.fits is
  'Whether a memory is one that a search may find.';


-- Not written into the statement that calls it, as fits is: for a look that most searches make at no memory.
create or replace function pgmem.fits_by_key(p_seq bigint, p_filter pgmem.search_filter) returns boolean
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  return exists (select from pgmem.node n where n.seq = p_seq and pgmem.fits(n, p_filter));
end;
$$;
comment on function pgmem.fits_by_key is 'Whether the memory of a seq is one that a search may find.';


create or replace function pgmem.scope_query(p_filter pgmem.search_filter) returns text
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  return (
  select format('(%s)', string_agg(distinct quote_literal(mark.words[1]), ' | '))
    || case when (p_filter).project_seq is null then ''
         else format(' & (%s | ''@p0'')', string_agg(distinct quote_literal(mark.words[2]), ' | ')) end
  from unnest((p_filter).tenants) t
  cross join unnest((p_filter).labels || 'Memory'::text) label
  cross join lateral (select pgmem.scope_lexemes(t, (p_filter).project_seq, label) as words) mark);
end;
$$;
comment on function pgmem.scope_query is
  'The part of a full-text query that keeps to tenants and project: their lexemes are in every text.';


-- The weight of a word is the most that it gives a text: (k1 + 1) * ln(1 + (n - df + 0.5) / (df + 0.5)), k1 = 1.2. The candidates
-- hold one of the rarest words: as many of them as have text_candidate_limit matches together, or one in 50 of a large
-- scope, and always one that is known. Where the rarest known word is in more than text_match_limit memories, the
-- candidates hold several of the rarest at once.
create or replace function pgmem.search_words(
  p_lexemes text[],
  p_filter pgmem.search_filter,
  p_pairs text[] default '{}'
) returns pgmem.search_words
language plpgsql stable set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_words  pgmem.search_words;
  v_size   record := pgmem.scope_size(p_filter);
  v_scopes bigint[] := pgmem.stat_scopes(p_filter);
  v_scope  text := pgmem.scope_query(p_filter);
  v_most   integer := pgmem.setting_int('text_match_limit');
  v_few    integer := greatest(pgmem.setting_int('text_candidate_limit'), least(v_most, v_size.memories / 50));
  -- In a scope that is counted, a word without a count is rare, whatever is no longer live may hold it.
  v_read   integer := case when v_size.is_counted then 100 else v_most end;
  v_least  float8;
  v_kept   integer;
  v_sum    float8 := 0;
  v_known  boolean := false;
  v_any    text[] := '{}';
  v_all    text;
begin
  v_words.memories := v_size.memories;
  v_words.mean_length := v_size.mean_length;
  if coalesce(cardinality(p_lexemes), 0) = 0 or v_size.memories = 0 or v_scope is null then
    return v_words;
  end if;
  select array_agg(c.lexeme order by c.df, c.lexeme), array_agg(c.df order by c.df, c.lexeme),
         array_agg(pgmem.lexeme_query(c.lexeme) order by c.df, c.lexeme),
         array_agg((quote_literal(c.lexeme) || ':A')::tsquery order by c.df, c.lexeme)
  into v_words.lexemes, v_words.counts, v_words.queries, v_words.titles
  from (
    select q.lexeme, (case when k.df > 0 then k.df else (
        select count(*) from (
          select 1 from (
            select n.label, n.status from pgmem.node n
            where n.tsv @@ (quote_literal(q.lexeme) || ' & ' || v_scope)::tsquery and n.status <> 'captured'
              and n.tenant || '' = any (p_filter.tenants) limit v_read) n
          where pgmem.is_memory(n.label) and pgmem.is_live_status(n.status)
          union all
          (select 1 from pgmem.node n
           where n.tsv @@ (quote_literal(q.lexeme) || ' & ' || v_scope)::tsquery
             and n.tenant || '' = any (p_filter.tenants)
             and pgmem.name_source_texts(p_filter.labels) and n.status = 'captured' limit v_most)) found) end)::float8 as df
    from unnest(p_lexemes[:200]) as q(lexeme) cross join lateral (
      select coalesce(sum(s.memories), 0) as df from pgmem.lexeme_stat s
      -- Counts of a young scope are of too few memories: a word of each of the first five would look rare among forty.
      where v_size.is_counted and s.tenant = any (p_filter.tenants) and s.lexeme = q.lexeme
        and case when v_scopes is null then s.project_seq >= 0 else s.project_seq = any (v_scopes) end) k) c;
  v_words.memories := greatest(v_words.memories, v_words.counts[cardinality(v_words.counts)]);
  -- The forms of a word are as rare as all of them together, and a text need not hold more than one. A name as a whole
  -- repeats its parts.
  select array_agg(f.weight order by f.place), sum(f.weight / f.forms) filter (where not pgmem.is_whole(f.lexeme)),
    max(f.weight) filter (where f.df > 0) / 100
  into v_words.weights, v_words.most, v_least
  from (select w.place, w.lexeme, w.df, count(*) over form as forms,
               2.2 * ln(1 + (v_words.memories - least(sum(w.df) over form, v_words.memories) + 0.5)
                                     / (least(sum(w.df) over form, v_words.memories) + 0.5)) as weight
        from unnest(v_words.lexemes, v_words.counts) with ordinality as w(lexeme, df, place)
        window form as (partition by (pgmem.inflections(w.lexeme))[1])) f;
  -- A word that nearly all memories hold says nothing beside a rare one, and would be counted in every text. In a small
  -- scope it brings candidates all the same: the rare one may be in none that passes the filter.
  v_kept := cardinality(v_words.weights);
  while v_words.weights[v_kept] < v_least
      and v_words.counts[v_kept] > greatest(v_few, 0.9 * v_words.memories) loop
    v_words.most := v_words.most - v_words.weights[v_kept];
    v_kept := v_kept - 1;
  end loop;
  if v_kept < cardinality(v_words.weights) then
    v_words.lexemes := v_words.lexemes[:v_kept];
    v_words.counts := v_words.counts[:v_kept];
    v_words.queries := v_words.queries[:v_kept];
    v_words.titles := v_words.titles[:v_kept];
    v_words.weights := v_words.weights[:v_kept];
  end if;
  v_words.most := coalesce(v_words.most, (select sum(w) from unnest(v_words.weights) w));
  -- Two words are as rare together as the less rare of them alone; all pairs weigh 0.4 of all words.
  select array_agg(p.pair), array_agg(0.4 * v_words.most * p.weight / nullif(p.of_all, 0))
  into v_words.pairs, v_words.pair_weights from (
    select format('%1$s <-> %2$s | %1$s <2> %2$s', quote_literal(a.lexeme), quote_literal(b.lexeme))::tsquery as pair,
           least(a.weight, b.weight) as weight, sum(least(a.weight, b.weight)) over () as of_all
    from unnest(p_pairs) as given(pair)
    join unnest(v_words.lexemes, v_words.weights) as a(lexeme, weight) on a.lexeme = split_part(given.pair, e'\x1f', 1)
    join unnest(v_words.lexemes, v_words.weights) as b(lexeme, weight) on b.lexeme = split_part(given.pair, e'\x1f', 2)) p;
  for place in 1 .. cardinality(v_words.counts) loop
    v_sum := v_sum + v_words.counts[place];
    exit when v_known and v_sum > v_few;
    v_any := v_any || quote_literal(v_words.lexemes[place]);
    v_known := v_known or v_words.counts[place] > 0;
  end loop;
  v_all := array_to_string(v_any, ' | ');
  v_sum := v_words.counts[cardinality(v_any)];
  if v_sum > v_most then
    for place in cardinality(v_any) + 1 .. cardinality(v_words.counts) loop
      exit when v_sum <= v_most;
      v_all := format('(%s) & %s', v_all, quote_literal(v_words.lexemes[place]));
      v_sum := v_sum * v_words.counts[place] / v_words.memories;
    end loop;
  end if;
  v_words.matching := format('(%s) & %s', v_all, v_scope)::tsquery;
  return v_words;
end;
$$;
comment on function pgmem.search_words is
  'The words of a query with their rarity in a scope, and the query that finds the candidates of the text arm.';


create or replace function pgmem.words_of_query(p_query text, p_config text, p_filter pgmem.search_filter)
returns pgmem.search_words
language sql stable set search_path = pgmem, pg_temp as $$
  select pgmem.search_words(pgmem.query_lexemes(p_query, p_config), p_filter, pgmem.query_pairs(p_query, p_config));
$$;
comment on function pgmem.words_of_query is 'The words of a query and their pairs of neighbours, with their rarity in a scope.';


create or replace function pgmem.length_norm(p_length float8, p_mean_length float8) returns float8
language sql immutable parallel safe
begin atomic
  -- Below 30 lexemes all are as long: in short texts length says nothing.
  select 1.2 * (1 - 0.9 + 0.9 * greatest(p_length, 30) / greatest(p_mean_length, 30));
end;
comment on function pgmem.length_norm is
  'The deduction for the length of a text: k1 * (1 - b + b * length / mean length), k1 1.2, b 0.9, length at least 30.';


create or replace function pgmem.bm25(p_weight float8, p_tf float8, p_length_norm float8) returns float8
language sql immutable parallel safe
begin atomic
  select p_weight * p_tf / (p_tf + p_length_norm);
end;
comment on function pgmem.bm25 is
  'The share of one word in a text that holds it tf times: weight * tf / (tf + length_norm).';


-- The words of a text, those of its title once more, and its pairs of adjacent words:
--
--   sum of bm25 + 0.4 * sum of the weights of the words that the title holds + sum of the weights of the pairs it holds
--
-- Pairs are looked for in the best 100 by the other two, which bounds the work. The texts are those that match, or those
-- that are named. An array of one is the cheapest copy of a stored value: an operator would expand it for each word.
create or replace function pgmem.text_candidates(
  p_words pgmem.search_words,
  p_filter pgmem.search_filter,
  p_limit integer,
  p_seqs bigint[] default null
) returns table (
  seq bigint,
  score float8,
  places integer[],
  counts float8[]
)
language plpgsql stable rows 50 set search_path = pgmem, pg_temp set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_most integer := case when p_seqs is null then pgmem.setting_int('text_match_limit') else 0 end;
  v_mean float8 := p_words.mean_length;
begin
  if p_words.matching is null or p_seqs = '{}' then
    return;
  end if;
  return query
  with word as materialized (
    select q.place::integer as place, q.word, q.title, q.weight
    from unnest(p_words.queries, p_words.titles, p_words.weights) with ordinality as q(word, title, weight, place)
  ), pair as materialized (
    select p.pair, p.weight from unnest(p_words.pairs, p_words.pair_weights) as p(pair, weight)
  ), text as (
    -- Each is read from its own page once, not once for each word.
    select m.seq, (array[m.tsv])[1] as tsv, m.titled, pgmem.length_norm(m.text_length, v_mean) as norm
    -- Turns have their own index: a hundred of them to a memory would make every look-up of a word longer.
    from (
      (select n.seq, n.text_length, n.titled, n.tsv from pgmem.node n
       where n.tsv @@ p_words.matching and n.status <> 'captured' and pgmem.fits(n, p_filter) limit v_most)
      union all
      (select n.seq, n.text_length, n.titled, n.tsv from pgmem.node n
       where pgmem.name_source_texts(p_filter.labels) and n.tsv @@ p_words.matching and n.status = 'captured'
         and pgmem.fits(n, p_filter) limit v_most)
      union all
      select n.seq, n.text_length, n.titled, n.tsv from pgmem.turned_nodes(p_filter.tenants) n
      where p_seqs is null and n.tsv @@ p_words.matching and pgmem.fits(n, p_filter)
      union all
      select n.seq, n.text_length, n.titled, n.tsv from pgmem.node n where n.seq = any (p_seqs)) m
    offset 0
  ), best as (
    select t.seq, t.tsv, s.score, s.places, s.counts from text t cross join lateral (
      select sum(pgmem.bm25(h.weight, h.tf, t.norm) + case when t.titled and t.tsv @@ h.title then 0.4 * h.weight else 0 end)
               as score,
             array_agg(h.place) as places, array_agg(h.tf) as counts
      -- Words are counted once, not once for each use of the count.
      from (select w.place, w.title, w.weight, pgmem.occurrences(t.tsv, w.word)::float8 as tf
            from word w where t.tsv @@ w.word offset 0) h) s
    where s.score is not null order by s.score desc, t.seq desc limit greatest(100, p_limit)
  )
  select b.seq, b.score + coalesce(p.score, 0), b.places, b.counts from best b
  cross join lateral (select sum(p.weight) as score from pair p where b.tsv @@ p.pair) p
  order by 2 desc, b.seq desc limit p_limit;
end;
$$;
comment on function pgmem.text_candidates is
  'The memories of a scope that best match the words of a query, or those of some memories that hold any: by BM25, the '
  'words of the title and the pairs of neighbours, with the words they hold and how often.';


select pgmem.declare_answer('ranked_node', $$
A node that a search found, with its scores.

id uuid, label text, key text, title text, summary text, score float8, trust float8, confidence float8
by person|agent?: Who said it; agent: also a program or a file.
$$);

-- In plpgsql, which keeps the plan. Reads node itself, by tenants that are looked up once.
create or replace function pgmem.ranked_nodes(
  p_tenants text[],
  p_seqs bigint[],
  p_scores float8[],
  p_limit integer
) returns setof pgmem.ranked_node
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  return query
  select n.id, n.label, n.key::text, n.title::text, pgmem.excerpt(t.searched_text), found.score, n.trust_level::float8,
         pgmem.confidence(n.initial_confidence, n.label, n.instructs, n.updated_at), pgmem.said_by(n.source, n.trust_level)
  from unnest(p_seqs, p_scores) as found(seq, score)
  cross join lateral (select * from pgmem.node n where n.seq = found.seq and n.tenant = any (p_tenants) offset 0) n
  cross join lateral pgmem.searched_text(n.label, n.title, n.props) t
  order by found.score desc, n.seq desc limit p_limit;
end;
$$;
comment on function pgmem.ranked_nodes is 'The candidates of one arm of a search, the best first.';


create or replace function pgmem.fulltext_search(
  p_query text,
  p_limit pgmem.row_limit default 10,
  p_project_id text default null
) returns setof pgmem.ranked_node
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.caller();
  v_scope  pgmem.scope_state := pgmem.resolve_scope(v_caller, p_project_id, null);
  v_filter pgmem.search_filter;
  v_words  pgmem.search_words;
begin
  if v_scope.scope_state = 'uncertain' then
    return;
  end if;
  v_filter.tenants := v_caller.tenants;
  v_filter.project_seq := v_scope.project_seq;
  v_filter.moment := pgmem.now();
  v_words := pgmem.words_of_query(coalesce(pgmem.clean_text(p_query, 'query'), ''),
    coalesce(v_scope.text_config, pgmem.setting_text('text_config')), v_filter);
  return query
  select r.* from (
    select array_agg(t.seq) as seqs, array_agg(t.score) as scores
    from pgmem.text_candidates(v_words, v_filter, p_limit) t) found
  cross join lateral pgmem.ranked_nodes(v_caller.tenants, found.seqs, found.scores, p_limit) r;
end;
$$;
comment on function pgmem.fulltext_search is $$
Live memories by their own words alone, best BM25 first; search_memory ranks by meaning and neighbours too.

query: Words or a question.
$$;
select pgmem.declare_verb('fulltext_search', p_rights => 'reader', p_effect => 'read',
  p_reads => 5000);


create or replace function pgmem.said_of(p_lexemes text[], p_filter pgmem.search_filter) returns text
language plpgsql stable set search_path = pgmem, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
  v_all   tsquery := pgmem.every_word(p_lexemes);
  v_turns integer;
begin
  p_filter.labels := array(select l.name from pgmem.label l where l.source_text order by 1);
  select count(*) into v_turns from (
    select from pgmem.node n where n.tsv @@ v_all and n.status = 'captured' and pgmem.fits(n, p_filter) limit 20) n;
  return case when v_turns > 0 then format(' %s of a conversation %s all these words: search with labels %s.',
    case v_turns when 1 then '1 turn' else v_turns || ' turns' end, case v_turns when 1 then 'holds' else 'hold' end,
    array_to_string(p_filter.labels, ', ')) else '' end;
end;
$$;
comment on function pgmem.said_of is
  'How many turns hold every word of a query, up to 20, as a sentence; empty if none does.';
