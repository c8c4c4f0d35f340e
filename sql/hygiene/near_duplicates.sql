-- All pairs of live memories of one label and scope whose search texts have a Jaccard above 0.9, and all that share a content
-- hash within their project. A set-similarity join: J > 0.9 of sets of n and m tokens needs an overlap o with 19 o > 9 (n + m),
-- so the ceil(n / 10) rarest tokens of the one hold one of the ceil(m / 10) rarest of the other. Of the first shared token, at
-- positions i and p: o <= 1 + least(n - i, m - p). Any frozen order is exact; rarest first keeps the candidates few.
-- Equal sets are joined once: 668 copies of one text are one set, not 222 778 comparisons.
create or replace function pgmem.near_duplicates(p_project_seq bigint, p_scope text)
returns table (first_seqs bigint[], second_seqs bigint[], similarity float8, pairs bigint)
language sql stable
set search_path = pgmem, pg_temp
-- Without statistics on what it has just made, the planner would take a loop for what is a join of millions.
set enable_nestloop = off
as $$
  with memory as materialized (
    select n.seq, n.label, n.tenant, n.project_seq, n.scope_key, n.content_hash, words.tokens
    from pgmem.hygiene_node n
    -- 64 bits of each token: what is sorted and joined by the million is a number.
    cross join lateral (
      select array_agg(distinct hashtextextended(t.token, 0)) as tokens
      from regexp_split_to_table(lower(pgmem.segment(pgmem.search_text(n.label, n.title, n.props))), '\W+') as t(token)
      where t.token <> '') words
    where (p_project_seq is null or n.project_seq = p_project_seq) and (p_scope is null or n.scope = p_scope)
  ), token_set as materialized (
    select row_number() over () as id, m.scope_key, m.tokens, cardinality(m.tokens) as size, array_agg(m.seq order by m.seq) as seqs
    from memory m where m.tokens is not null group by m.scope_key, m.tokens
  ), frequency as materialized (
    -- Of a large store a sixteenth tells which tokens are common; what it does not hold counts as rare.
    select t.token, count(*) as sets from token_set s cross join unnest(s.tokens) as t(token)
    where s.id % 16 = 0 or (select count(*) < 16000 from token_set) group by t.token
  ), prefix as materialized (
    select r.id, r.scope_key, r.size, r.token, r.position::integer
    from (select s.id, s.scope_key, s.size, t.token, row_number() over (partition by s.id order by coalesce(f.sets, 0), t.token) as position
          from token_set s cross join unnest(s.tokens) as t(token) left join frequency f using (token)) r
    where r.position <= (r.size + 9) / 10
  ), candidate as materialized (
    select distinct a.id as first_id, b.id as second_id
    from prefix a join prefix b on b.scope_key = a.scope_key and b.token = a.token and b.id > a.id
    where 10 * least(a.size, b.size) > 9 * greatest(a.size, b.size)
      and 19 * (1 + least(a.size - a.position, b.size - b.position)) > 9 * (a.size + b.size)
  )
  select a.seqs, b.seqs, o.shared::float8 / (a.size + b.size - o.shared), cardinality(a.seqs)::bigint * cardinality(b.seqs)
  from candidate c join token_set a on a.id = c.first_id join token_set b on b.id = c.second_id
  cross join lateral (select count(*) as shared from unnest(a.tokens) as x(token) join unnest(b.tokens) as y(token) using (token)) o
  where 19 * o.shared > 9 * (a.size + b.size)
  union all
  select s.seqs, null, 1.0, cardinality(s.seqs)::bigint * (cardinality(s.seqs) - 1) / 2 from token_set s where cardinality(s.seqs) > 1
  union all
  -- One content hash is live once in a scope; across the focus areas of a project it may be kept again.
  select array_agg(m.seq order by m.seq), null, 1.0, count(*) * (count(*) - 1) / 2
  from memory m where m.content_hash is not null
  group by m.tenant, m.label, m.project_seq, m.content_hash having count(*) > 1;
$$;
comment on function pgmem.near_duplicates(bigint, text) is
  'Sets of memories that say the same (second_seqs null: every two of the set) or nearly (every one of the first with every one of the second).';
