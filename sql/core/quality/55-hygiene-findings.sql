-- Hygiene findings
--
-- The five checks of run_hygiene: duplicates, outdated decisions, obsolete patterns, entity drift and unresolved saves.
-- Each check returns the seqs of its findings; hygiene_finding and save_finding turn one of these into the JSON object
-- that a report shows, with the verb that repairs it and the arguments of that verb.
--
-- near_duplicates is a set-similarity join over the words of every memory: exact, without an index, by parts of the
-- words that two near texts must share, so that the work grows as the store does.
--
-- Locks: none.


-- The pairs are those of live memories of one label and scope whose search texts have a Jaccard similarity above 0.9,
-- and those that share a content hash within their project.
--
-- J > 0.9 of sets of n and m tokens allows fewer than (n + m) / 19 tokens that only one of them has. So where tokens are
-- dealt into ceil((n + m) / 19) parts by their own bits, two near sets hold the same in one part at least: the sets are
-- joined by what their parts hold. Sizes are in classes that grow by 1.3, as the number of parts must be one for both;
-- a set near the end of its class is in the next one too. Sets of fewer than ten tokens are near no other. Equal sets
-- are joined once: 668 copies of one text are one set, not 222 778 comparisons.
--
-- Texts of one template hold the same in many parts. A part that more than 64 sets share is compared only where these
-- share one of their rarest tokens, too: the overlap o needs 19 o > 9 (n + m), so the ceil(n / 10) rarest of one set
-- hold one of the ceil(m / 10) rarest of the other, and with that token at positions i and p, o <= 1 + least(n - i,
-- m - p). Any frozen order of tokens is exact; rarest first keeps the candidates few. Before tokens are counted, 64 bits
-- that each token flips say how many differ at least.
create or replace function pgmem.near_duplicates(p_project_seq bigint, p_scope text) returns table (
  first_seqs bigint[],
  second_seqs bigint[],
  similarity float8,
  pairs bigint
)
language sql stable
set search_path = pgmem, pg_temp
-- The planner has no statistics on the materialized sets and would join millions of rows by a nested loop.
set enable_nestloop = off
as $$
  with memory as materialized (
    select n.seq, n.label, n.tenant, n.project_seq, n.scope_key, n.content_hash, words.tokens
    from (
      select h.* from pgmem.hygiene_node h
      union all
      -- A run over the repository keeps its own cards apart.
      select c.* from pgmem.live_node c where pgmem.named_only(c.label) and c.props ->> 'origin' <> 'system') n
    cross join lateral pgmem.searched_text(n.label, n.title, n.props) as s
    -- 64 bits of each token: a key that is sorted and joined by the million is a number.
    cross join lateral (
      select array_agg(distinct hashtextextended(t.token, 0)) as tokens
      from regexp_split_to_table(pgmem.segment(lower(s.searched_text)), '\W+') as t(token)
      where t.token <> '') words
    where (p_project_seq is null or n.project_seq = p_project_seq) and (p_scope is null or n.scope = p_scope)
  ), token_set as materialized (
    select row_number() over () as id, m.scope_key, m.tenant, m.tokens, cardinality(m.tokens) as size,
           array_agg(m.seq order by m.seq) as seqs,
           (select bit_xor(1::bigint << (t.token & 63)::integer) from unnest(m.tokens) as t(token)) as bits
    from memory m where m.tokens is not null group by m.scope_key, m.tenant, m.tokens
  ), part as materialized (
    select s.id, p.key, count(*) over (partition by p.key) as sets
    from token_set s
    -- "offset 0" keeps both subqueries one a set: joined to all tokens at once they cost four times as much.
    cross join lateral (
      select g.class, ceil(2 * power(1.3, g.class + 1) / 19)::integer as parts
      from generate_series(floor(ln(s.size) / ln(1.3))::integer, floor(ln(s.size / 0.9) / ln(1.3))::integer) as g(class)
      offset 0) c
    cross join lateral (
      select hashtextextended(s.scope_key || ' ' || s.tenant,
               hashint8extended(bit_xor(t.token), c.class * 100000 + (t.token >> 8 & 1048575) % c.parts)) as key
      from unnest(s.tokens) as t(token) group by (t.token >> 8 & 1048575) % c.parts offset 0) p
    where s.size >= 10
  ), crowded as materialized (
    select distinct p.id from part p where p.sets > 64
  ), frequency as materialized (
    -- In a large store a sixteenth of the sets shows which tokens are common; a token that is not in it counts as rare.
    select t.token, count(*) as sets from token_set s cross join unnest(s.tokens) as t(token)
    where (s.id % 16 = 0 or (select count(*) < 16000 from token_set)) and exists (select from crowded) group by t.token
  ), prefix as materialized (
    select r.id, r.token, r.position::integer
    from (select s.id, s.size, t.token, row_number() over (partition by s.id order by coalesce(f.sets, 0), t.token) as position
          from crowded c join token_set s using (id)
          cross join unnest(s.tokens) as t(token) left join frequency f using (token)) r
    where r.position <= (r.size + 9) / 10
  ), compared as materialized (
    select p.id, s.size, s.bits, 0 as position, p.key from part p join token_set s using (id)
    where p.sets between 2 and 64
    union all
    select p.id, s.size, s.bits, f.position, hashint8extended(f.token, p.key)
    from part p join prefix f using (id) join token_set s using (id) where p.sets > 64
  ), alike as materialized (
    select c.key, c.size, c.position, array_agg(c.id) as ids, array_agg(c.bits) as bits
    from compared c group by c.key, c.size, c.position
  ), candidate as materialized (
    select distinct least(x.id, y.id) as first_id, greatest(x.id, y.id) as second_id
    from alike a join alike b on b.key = a.key and (b.size, b.position) >= (a.size, a.position)
      and 10 * a.size > 9 * b.size
      and (a.position = 0 or 19 * (1 + least(a.size - a.position, b.size - b.position)) > 9 * (a.size + b.size))
      and (cardinality(a.ids) > 1 or a.size <> b.size or a.position <> b.position)
    cross join lateral unnest(a.ids, a.bits) as x(id, bits)
    cross join lateral unnest(b.ids, b.bits) as y(id, bits)
    where x.id <> y.id and 19 * bit_count((x.bits # y.bits)::bit(64)) < a.size + b.size
  )
  select a.seqs, b.seqs, o.shared::float8 / (a.size + b.size - o.shared),
         cardinality(a.seqs)::bigint * cardinality(b.seqs)
  from candidate c join token_set a on a.id = c.first_id join token_set b on b.id = c.second_id
  cross join lateral (
    select count(*) as shared from unnest(a.tokens) as x(token) join unnest(b.tokens) as y(token) using (token)) o
  where 19 * o.shared > 9 * (a.size + b.size)
  union all
  select s.seqs, null, 1.0, cardinality(s.seqs)::bigint * (cardinality(s.seqs) - 1) / 2
  from token_set s where cardinality(s.seqs) > 1
  union all
  -- One content hash is live once in a scope; another focus area of the project may hold it again.
  select array_agg(m.seq order by m.seq), null, 1.0, count(*) * (count(*) - 1) / 2
  from memory m where m.content_hash is not null
  group by m.tenant, m.label, m.project_seq, m.content_hash having count(*) > 1;
$$;
comment on function pgmem.near_duplicates is
  'Sets of memories that say the same (second_seqs is null: every two of the set) or nearly the same (each of the '
  'first with each of the second).';


create or replace function pgmem.outdated_decisions(p_project_seq bigint, p_scope text) returns table (
  seq bigint
)
language sql stable set search_path = pgmem, pg_temp as $$
  select n.seq from pgmem.hygiene_node n
  where n.label = 'Decision'
    and (p_project_seq is null or n.project_seq = p_project_seq) and (p_scope is null or n.scope = p_scope)
    and pgmem.validated_at(coalesce((n.props ->> 'date')::date, n.created_at::date), n.created_at, n.updated_at)::date
        < (pgmem.now()::date - pgmem.setting_int('hygiene_decision_days'))
    and not exists (select from pgmem.edge e where e.src = n.seq and e.rel = 'SUPERSEDES');
$$;
comment on function pgmem.outdated_decisions is
  'Live decisions older than hygiene_decision_days (180) that superseded nothing and were not confirmed since.';


create or replace function pgmem.obsolete_patterns(p_project_seq bigint, p_scope text) returns table (
  seq bigint
)
language sql stable set search_path = pgmem, pg_temp as $$
  select n.seq from pgmem.hygiene_node n
  where n.label = 'Pattern'
    and (p_project_seq is null or n.project_seq = p_project_seq) and (p_scope is null or n.scope = p_scope)
    and pgmem.validated_at((n.props ->> 'last_validated_at')::timestamptz, n.created_at, n.updated_at)
        < pgmem.now() - make_interval(days => pgmem.setting_int('hygiene_pattern_days'));
$$;
comment on function pgmem.obsolete_patterns is
  'Live patterns that were last validated more than hygiene_pattern_days (90) ago.';


create or replace function pgmem.entity_drift(p_project_seq bigint, p_scope text) returns table (
  seq bigint,
  into_seq bigint
)
language sql stable set search_path = pgmem, pg_temp as $$
  select named.seq, named.into_seq
  from (select n.seq, first_value(n.seq) over (
                 partition by n.scope_key, n.tenant,
                   coalesce(nullif(translate(pgmem.normalize(n.key), ' _', ''), ''), pgmem.folded(n.key))
                 order by n.updated_at desc, n.seq desc) as into_seq
        from pgmem.hygiene_node n
        where n.label = 'EntityFact' and (p_project_seq is null or n.project_seq = p_project_seq)
          and (p_scope is null or n.scope = p_scope)) named
  where named.seq <> named.into_seq;
$$;
comment on function pgmem.entity_drift is
  'Entity facts whose name is another spelling of one with a newer fact in the same scope; each with that newer one.';


create or replace function pgmem.unresolved_saves(p_project text, p_scope text) returns setof pgmem.save_attempt
language sql stable set search_path = pgmem, pg_temp as $$
  select a.* from pgmem.visible_attempt a
  where a.status in ('pending_retry', 'failed')
    and (p_project is null or pgmem.folded(a.project) = pgmem.folded(p_project))
    and (p_scope is null or coalesce(a.arguments ->> 'scope', 'project') = p_scope);
$$;
comment on function pgmem.unresolved_saves is
  'Saves that failed or are to be retried; a save that a person dropped is resolved.';


create or replace function pgmem.hygiene_finding(
  p_check text,
  p_first bigint,
  p_second bigint,
  p_similarity float8
) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select jsonb_build_object('check', p_check, 'ids', array_remove(array[a.id, b.id], null), 'label', a.label,
           'titles', array_remove(array[a.title, b.title], null), 'project', a.project, 'verb', advice.verb,
           'what', advice.what, 'arguments', advice.arguments,
           'by', array_remove(array[pgmem.said_by(a.source, a.trust_level), case when b.id is not null then pgmem.said_by(b.source, b.trust_level) end], null))
         || case when p_similarity is null then '{}'
              else jsonb_build_object('similarity', round(p_similarity::numeric, 4)) end
  from pgmem.visible_node a join pgmem.label l on l.name = a.label left join pgmem.visible_node b on b.seq = p_second
  cross join lateral (
    select case
        when p_check = 'entity_drift' or p_check = 'duplicates' and a.label = 'EntityFact' then 'merge_entities'
        when p_check = 'duplicates' and a.label = 'Decision' then 'supersede'
        when p_check = 'duplicates' and l.removed_by is not null then l.removed_by
        when p_check in ('outdated_decisions', 'obsolete_patterns') then 'confirm'
        else 'forget' end as verb
  ) chosen
  cross join lateral (
    select chosen.verb,
      case
        when p_check = 'entity_drift'
          then 'Two facts about one entity: merge the older into the newer, whose fact stays; its own stays in the '
            'history.'
        when p_check = 'duplicates' and chosen.verb = 'merge_entities'
          then 'Two entities with one fact: merge the older into the newer, if they are one.'
        when p_check = 'duplicates' and chosen.verb = 'supersede'
          then 'Two decisions that say the same: let the newer supersede the older.'
        when p_check = 'duplicates' and chosen.verb = l.removed_by
          then format('Two %ss that say the same: %s the newer.', lower(a.label), split_part(l.removed_by, '_', 1))
        when p_check = 'duplicates'
          then 'Two memories that say the same: forget the newer.'
        when p_check = 'outdated_decisions'
          then 'An old decision: confirm it if it still holds; else save the new one with supersedes, or forget it.'
        else 'A pattern not validated for long: confirm it if it still works; else forget it.'
      end as what,
      case chosen.verb
        when 'merge_entities' then case when (a.updated_at, a.seq) > (b.updated_at, b.seq)
          then jsonb_build_object('entity', b.id, 'into', a.id)
          else jsonb_build_object('entity', a.id, 'into', b.id) end
        when 'supersede' then jsonb_build_object('old', a.id, 'new', b.id)
        when l.removed_by then jsonb_build_object(l.removed_as, b.id)
        when 'confirm' then jsonb_build_object('id', a.id)
        else jsonb_build_object('label', a.label, 'key', coalesce(b.id, a.id)) end as arguments
  ) advice
  where a.seq = p_first;
$$;
comment on function pgmem.hygiene_finding is
  'A finding as a report shows it: the memories, the remedy, its verb and the arguments.';


create or replace function pgmem.save_finding(p_attempt pgmem.save_attempt) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select jsonb_build_object('check', 'unresolved_saves', 'ids', array[p_attempt.save_id], 'label', p_attempt.verb,
      'titles', array_remove(array[pgmem.excerpt(coalesce(
        (pgmem.asked_texts(p_attempt.verb, p_attempt.arguments)).title, p_attempt.message))], null),
      'project', p_attempt.project, 'by', array[pgmem.said_by(p_attempt.source, p_attempt.trust_level)])
    || case
      when p_attempt.verb = 'store_session_with_learnings' then jsonb_build_object('verb', p_attempt.verb,
        'what', 'A batch that was not saved: send it again with this save_id.',
        'arguments', jsonb_build_object('save_id', p_attempt.save_id))
      when p_attempt.dedup_outcome = 'manual_review' then jsonb_build_object('verb', 'resolve_review',
        'what', 'It resembles a memory too much to be new: a person decides (new, supersede or drop).',
        'arguments', jsonb_build_object('save_id', p_attempt.save_id))
      when not p_attempt.readable then jsonb_build_object('verb', 'resolve_review',
        'what', format('Not saved, and no retry makes it: %s Save it as the message says, and drop this one.',
                       coalesce(p_attempt.message, p_attempt.status)),
        'arguments', jsonb_build_object('save_id', p_attempt.save_id, 'outcome', 'drop'))
      else jsonb_build_object('verb', 'retry_save',
        'what', 'Not saved: ' || coalesce(p_attempt.message, p_attempt.status),
        'arguments', jsonb_build_object('save_id', p_attempt.save_id)) end;
$$;
comment on function pgmem.save_finding is 'An unresolved save as a report shows it, with the verb that resolves it.';
