-- Duplicates and contradictions
--
-- A decision of the same content is found by its hash (same_content). A near one is found by its title: the highest
-- Jaccard of at least 0.5 in the scope, exactly, without comparing every title. The candidates are the live titles
-- that share one of the rarest words (01-words, prefix filter); their sizes and signatures exclude most, and the rest
-- is compared, whatever its capitals. A title that differs in a number, a negation, its subject or its object is of another
-- thing, however near, and no duplicate. Nor is one that decides the same thing otherwise (title_difference): it is stored
-- beside the other, and the two are in conflict. The nearest are named in the answer of each save, whatever they are, but
-- for those of which somebody has said that both hold (held_beside).
--
-- The memories that a plain statement contradicts (05-statements) are found among the statements of the same place that begin
-- alike.
--
-- The order of title words is a snapshot of each scope (token_frequency). Words that came later count as rare and bring
-- more candidates, so it is taken anew when the titles of the scope have doubled (dedup_due, refresh_dedup): 50 000
-- imported titles made a look-up take 13 ms instead of 2. A scope of fewer than 1 000 titles needs none.
--
-- Locks: refresh_dedup: its row of upkeep, then one scope, then the row of the scope in title_order. count_titles takes
-- rows of title_order alone, in the order of their keys. The others take none, record_contradictions the scope lock;
-- 29-save-decision calls same_content and near_duplicate under it.


select pgmem.declare_answer('duplicate_check', $$
The duplicate that save_decision would find.

dedup_outcome new|duplicate_skip|supersede|manual_review, candidate_id uuid?, score float8?
$$);

create or replace function pgmem.check_duplicate(
  p_title text,
  p_rationale text,
  p_project_id text,
  p_scope pgmem.scope_name default 'project',
  p_focus text default null
) returns pgmem.duplicate_check
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.duplicate_check;
  v_caller pgmem.caller := pgmem.caller();
  v_scope  pgmem.scope_state := pgmem.resolve_scope(v_caller, p_project_id, p_focus);
  v_key    bigint := pgmem.scope_key(v_caller.tenant,
             pgmem.place_of(p_scope, v_scope.project_seq, v_scope.focus), 'Decision');
  v_title  text := pgmem.clean_title(p_title, 'title');
  v_hash   text := pgmem.memory_hash('Decision', v_title, jsonb_build_object(
             'rationale', pgmem.clean_text(p_rationale, 'rationale', true)));
begin
  perform pgmem.one_of('scope', coalesce(p_scope, 'nothing'), '{global,project,focus}');
  if p_scope = 'focus' and v_scope.focus is null then
    raise exception using errcode = 'PM001', message = 'scope focus needs focus: send the name of the focus area.';
  end if;
  v_answer.dedup_outcome := 'new';
  select s.id, 1.0 into v_answer.candidate_id, v_answer.score from pgmem.same_content(v_key, v_caller.tenant, v_hash) s
  where s.id is not null;
  if v_answer.candidate_id is not null then
    v_answer.dedup_outcome := 'duplicate_skip';
    return v_answer;
  end if;
  select s.id, s.score into v_answer.candidate_id, v_answer.score
  from pgmem.near_duplicate(v_key, v_caller.tenant, v_title) s;
  v_answer.dedup_outcome := case when v_answer.score >= pgmem.setting_float('dedup_supersede') then 'supersede'
    when v_answer.score >= pgmem.setting_float('dedup_manual_review') then 'manual_review' else 'new' end;
  return v_answer;
end;
$$;
comment on function pgmem.check_duplicate is $$
Say which outcome save_decision would have, with the candidate; writes nothing.

score is the Jaccard of the two titles, 0.5 to 1; null without a candidate.

title: The title of the decision.
rationale: Its rationale: the same content is the same title and rationale.

InvalidArgument: A text is empty or too long, or scope is focus without a focus.
$$;
select pgmem.declare_verb('check_duplicate', p_rights => 'reader', p_effect => 'look', p_answer => 'DuplicateCheck');


-- The predicate of an index cannot hold a clock: a row whose valid_to has passed is not live, yet it keeps its hash
-- until it is set to expired. Reads node itself, by the tenant.
create or replace function pgmem.same_content(
  p_scope_key bigint,
  p_tenant text,
  p_content_hash text,
  out seq bigint,
  out id uuid,
  out expired_seq bigint
)
language plpgsql stable set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
begin
  select n.seq, n.id, case when n.valid_to < pgmem.now() then n.seq end into seq, id, expired_seq from pgmem.node n
  where n.scope_key = p_scope_key and n.tenant || '' = p_tenant and n.content_hash = p_content_hash
    and pgmem.keeps_content(n.status);
  if expired_seq is not null then
    seq := null;
    id := null;
  end if;
end;
$$;
comment on function pgmem.same_content is
  'The live node of a scope with the same content; else, as expired_seq, the one to expire before it is stored again.';


-- Exact. A match of sizes n, m needs an overlap o with 3 o >= n + m. The first shared token has rank i here and position
-- p there: o <= n - i + 1 and o <= m - p + 1; and o <= n - (bits of ours that theirs lacks), and the same of
-- theirs.
create or replace function pgmem.title_candidates(p_ranked bigint[], p_scope_key bigint) returns table (node_seq bigint)
language sql stable
begin atomic
  select candidate.node_seq
  from pgmem.token_signature(p_ranked) s
  cross join lateral cardinality(p_ranked) as size(n)
  cross join lateral unnest(p_ranked[1 : size.n / 2 + 1]) with ordinality as probe(token, rank)
  cross join lateral (
    select t.node_seq from pgmem.dedup_token t
    where t.scope_key = p_scope_key and t.token = probe.token
      and t.size between (size.n + 1) / 2 and least(2 * size.n, 3 + 2 * size.n - 3 * probe.rank::integer)
      and t.weight >= size.n
      and 3 * (size.n - bit_count((s.signature & ~t.signature)::bit(64))) >= size.n + t.size
      and 3 * (t.size - bit_count((t.signature & ~s.signature)::bit(64))) >= size.n + t.size
    offset 0) candidate;
end;
comment on function pgmem.title_candidates is
  'The live titles of a scope whose Jaccard with a title of these ranked tokens may be 0.5 or more.';


create or replace function pgmem.held_beside(p_seq bigint) returns bigint[]
language sql stable set search_path = pgmem, pg_temp as $$
  select array(
    select e.dst from pgmem.edge e where e.src = p_seq and e.rel = 'SIMILAR_TO' and e.props ? 'by'
    union all
    select e.src from pgmem.edge e where e.dst = p_seq and e.rel = 'SIMILAR_TO' and e.props ? 'by');
$$;
comment on function pgmem.held_beside is 'The memories of which somebody has said that they hold beside this one.';


create or replace function pgmem.as_near(
  p_node pgmem.node,
  p_score float8,
  p_words text[],
  p_outcome text
) returns jsonb
language sql stable
begin atomic
  select jsonb_build_object('id', (p_node).id, 'title', (p_node).title,
    'date', coalesce((p_node).props ->> 'date', to_char((p_node).created_at, 'YYYY-MM-DD')),
    'by', pgmem.said_by((p_node).source, (p_node).trust_level), 'agent_id', (p_node).agent_id, 'score', round(p_score::numeric, 2),
    'theirs', array(select w.word from unnest((p_node).title_tokens) as w(word) where word <> all (p_words)),
    'ours', array(select w.word from unnest(p_words) as w(word) where word <> all ((p_node).title_tokens)), 'outcome', p_outcome);
end;
comment on function pgmem.as_near is 'A near decision as the answer of a save names it; p_words are those of the new title.';


-- The rows of title_candidates are compared without jaccard(), whose call costs more than the comparison. A number that one
-- title has alone is seen in its words, so thousands of titles of one template are passed over without reading them. Reads
-- node itself, by the tenant.
create or replace function pgmem.near_duplicate(
  p_scope_key bigint,
  p_tenant text,
  p_title text,
  p_beside bigint[] default '{}',
  out words text[],
  out ranked bigint[],
  out seq bigint,
  out id uuid,
  out score float8,
  out rival_seq bigint,
  out rival_id uuid,
  out axis text,
  out theirs text,
  out near jsonb
)
language plpgsql stable set search_path = pgmem, pg_temp set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  c_named  constant integer := 3;
  c_looked constant integer := 300;
  v_found  bigint[];
  v_one    record;
  v_node   pgmem.node;
  v_differ record;
  v_apart  boolean;
  v_rival  boolean;
  v_named  integer := 0;
  v_looked integer := 0;
  v_takes  float8;
  v_waits  float8;
begin
  near := '[]';
  select title.words, r.ranked, array(select distinct c.node_seq from pgmem.title_candidates(r.ranked, p_scope_key) c)
  into words, ranked, v_found
  from pgmem.title_words(p_title) title
  cross join lateral pgmem.ranked_tokens(title.words, p_scope_key) r;
  if v_found = '{}' then
    return;
  end if;
  v_takes := pgmem.setting_float('dedup_supersede');
  v_waits := pgmem.setting_float('dedup_manual_review');
  for v_one in
  select n.seq, n.id, n.title, exact.score,
         exists (select from unnest(n.title_tokens) as w(word) where word ~ '\d' and word <> all (words))
           or exists (select from unnest(words) as w(word) where word ~ '\d' and word <> all (n.title_tokens)) as is_numbered
  from pgmem.node n
  cross join lateral (select count(*) as shared from unnest(n.title_tokens) theirs(word)
                      join unnest(words) ours(word) using (word)) same
  cross join lateral (select same.shared::float8 / (cardinality(words) + cardinality(n.title_tokens) - same.shared)
                      as score offset 0) exact
  where n.seq = any (v_found) and n.tenant || '' = p_tenant and n.status = 'active'
    and (n.valid_to is null or n.valid_to >= pgmem.now()) and exact.score >= 0.5 and n.seq <> all (p_beside)
  order by exact.score desc, n.seq
  loop
    continue when v_one.seq = any (p_beside)
      or v_named >= c_named and (seq is not null or v_one.is_numbered and rival_seq is not null);
    exit when v_looked >= c_looked;
    v_looked := v_looked + 1;
    v_differ := pgmem.title_difference(v_one.title, p_title);
    v_apart := v_differ.is_apart or v_differ.leads and v_one.score < v_takes;
    v_rival := v_differ.axis is not null and rival_seq is null;
    if seq is null and not v_apart and v_differ.axis is null then
      seq := v_one.seq;
      id := v_one.id;
      score := v_one.score;
      -- Beside a decision that the new one may replace others were left: they stay beside the new one.
      p_beside := p_beside || pgmem.held_beside(seq);
    elsif v_rival then
      rival_seq := v_one.seq;
      rival_id := v_one.id;
      axis := v_differ.axis;
      theirs := v_one.title;
    end if;
    if v_named < c_named or v_one.seq in (seq, rival_seq) then
      v_named := v_named + 1;
      select n.* into v_node from pgmem.node n where n.seq = v_one.seq;
      near := near || pgmem.as_near(v_node, v_one.score, words, case when v_one.seq = rival_seq then 'conflict'
        when v_one.seq <> seq or seq is null then 'beside' when v_one.score >= v_takes then 'replaced'
        when v_one.score >= v_waits then 'waits' else 'beside' end);
    end if;
  end loop;
  if v_named > 1 then
    near := (select jsonb_agg(n order by array_position('{replaced,waits,conflict,beside}', n ->> 'outcome'), place)
             from jsonb_array_elements(near) with ordinality as e(n, place));
  end if;
end;
$$;
comment on function pgmem.near_duplicate is $$
The nearest live title of a scope that may be of the same thing, if its Jaccard is 0.5 or more, the oldest of equals.

Those are passed over that are of another thing, and those that decide the same thing otherwise; rival_seq, rival_id, axis
and theirs are of the nearest of these. near names the three nearest of all, but for those in p_beside.

words and ranked are the tokens of the given title, for the row that is stored next.
$$;


create or replace function pgmem.is_newest(p_seq bigint) returns boolean
language sql stable
begin atomic
  select not exists (
    select from pgmem.edge e join pgmem.node n on n.seq = e.src
    where e.dst = p_seq and e.rel = 'OUTDATES' and pgmem.is_live(n.status, n.valid_from, n.valid_to));
end;
comment on function pgmem.is_newest is 'Whether no live statement outdates a memory.';


-- The nearest in the order of statements share the longest beginning, so a few on each side are enough: with a thousand
-- statements of one subject and verb the twin is listed with. An outdated memory contradicts nothing any more.
create or replace function pgmem.contradicted(p_node pgmem.node) returns table (
  seq bigint,
  id uuid,
  axis text,
  theirs text,
  said_by text,
  is_plain boolean,
  is_newer boolean
)
language plpgsql stable rows 1 set search_path = pgmem, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_from text := split_part(p_node.statement, e'\t', 1) || e'\t';
  v_to   text := split_part(p_node.statement, e'\t', 1) || e'\n';
  v_ours text := pgmem.stated(p_node.label, p_node.title, p_node.props);
begin
  return query
  select n.seq, n.id, c.axis, t.theirs, pgmem.said_by(n.source, n.trust_level),
         n.label <> 'Decision' and p_node.label <> 'Decision' and n.agent_id is not distinct from p_node.agent_id
           and n.trust_level = p_node.trust_level and not (p_node.org_id <> '' and p_node.user_id = ''),
         coalesce(n.valid_from, n.created_at) > coalesce(p_node.valid_from, p_node.created_at)
  from (
    (select n.seq from pgmem.node n
     where n.place = p_node.place and n.tenant = p_node.tenant and n.statement ~>=~ p_node.statement
       and n.statement ~<~ v_to and n.seq <> p_node.seq and pgmem.is_live(n.status, n.valid_from, n.valid_to) and pgmem.is_newest(n.seq)
     order by n.statement using ~<~ limit 3)
    union all
    (select n.seq from pgmem.node n
     where n.place = p_node.place and n.tenant = p_node.tenant and n.statement ~<~ p_node.statement
       and n.statement ~>=~ v_from and pgmem.is_live(n.status, n.valid_from, n.valid_to) and pgmem.is_newest(n.seq)
     order by n.statement using ~>~ limit 3)) near
  cross join lateral (select * from pgmem.node n where n.seq = near.seq offset 0) n
  cross join lateral (select pgmem.stated(n.label, n.title, n.props) as theirs offset 0) t
  cross join lateral (select case when n.label = 'Decision' and p_node.label = 'Decision'
    then (pgmem.title_difference(t.theirs, v_ours)).axis else pgmem.contradiction(t.theirs, v_ours) end as axis offset 0) c
  where c.axis is not null order by n.seq desc;
end;
$$;
comment on function pgmem.contradicted is
  'The live statements of the same place that a new one contradicts, with the axis, whether both are plain statements of '
  'one writer, and whether the other one holds from a later time.';


-- The later one of two plain statements of one writer holds. Statements of two writers, and decisions, may both be true: a
-- person sees them. In the shared memories of an organisation, a name or none says not whose agent wrote.
create or replace function pgmem.record_contradictions(
  p_node pgmem.node,
  p_beside bigint[] default '{}'
) returns jsonb
language plpgsql as $$
declare
  v_found  record;
  v_newer  bigint;
  v_older  bigint;
  v_locked boolean;
  v_made   boolean;
  v_result jsonb := '[]';
begin
  if p_node.statement is null or p_node.valid_to < pgmem.now() then
    return v_result;
  end if;
  v_locked := pgmem.lock_scope(p_node.scope_key);
  for v_found in select c.* from pgmem.contradicted(p_node) c
    where c.seq <> all (pgmem.held_beside(p_node.seq) || p_beside)
  loop
    v_result := v_result || jsonb_build_object('id', v_found.id, 'axis', v_found.axis, 'theirs', v_found.theirs,
      'by', v_found.said_by, 'ours', pgmem.stated(p_node.label, p_node.title, p_node.props));
    if not v_found.is_plain then
      v_made := pgmem.insert_edge(v_found.seq, 'CONFLICTS_WITH', p_node.seq);
      continue;
    end if;
    v_newer := case when v_found.is_newer then v_found.seq else p_node.seq end;
    v_older := case when v_found.is_newer then p_node.seq else v_found.seq end;
    v_made := pgmem.insert_edge(v_newer, 'OUTDATES', v_older);
    perform pgmem.insert_edge(v_newer, 'OUTDATES', e.dst) from pgmem.edge e
    where e.src = v_older and e.rel = 'OUTDATES' and e.dst <> v_newer;
  end loop;
  return v_result;
end;
$$;
comment on function pgmem.record_contradictions is $$
Compare a stored memory with the statements of its place, and relate it to those it contradicts.

Returns objects of id, axis, theirs and ours; none for a memory that has ended, nor for those that hold beside it. The scope
is locked first: of two writers at once, one sees the other.
$$;


create or replace function pgmem.outdate_fact(p_old pgmem.node, p_fact text) returns jsonb
language plpgsql as $$
declare
  v_axis text := pgmem.contradiction(p_old.props ->> 'fact', p_fact);
begin
  delete from pgmem.edge e where e.rel = 'OUTDATES' and p_old.seq in (e.src, e.dst);
  return case when v_axis is null then '[]' else jsonb_build_array(jsonb_build_object('id', p_old.id, 'axis', v_axis,
    'theirs', p_old.props ->> 'fact', 'ours', p_fact, 'by', pgmem.said_by(p_old.source, p_old.trust_level))) end;
end;
$$;
comment on function pgmem.outdate_fact is
  'The conflict of an entity''s fact with the one that takes its place; memories that the former fact outdated hold again.';


-- Counts over all tenants name no tenant, so the worker may read them.
create or replace function pgmem.titles_to_order() returns table (
  scope_key bigint,
  tenant text,
  titles bigint,
  added bigint,
  uncounted bigint,
  due boolean
)
language sql stable rows 10 set search_path = pgmem, pg_temp as $$
  with fresh as (
    select n.scope_key, n.tenant, count(*) as titles
    from pgmem.node n left join pgmem.title_order o on o.scope_key = n.scope_key and o.tenant = n.tenant
    where n.seq > (select u.last_seq from pgmem.upkeep u where u.task = 'refresh_dedup')
      and n.seq > coalesce(o.last_seq, 0) and n.status = 'active' and n.title_tokens is not null
    group by n.scope_key, n.tenant
  )
  select scope_key, tenant, c.counted + c.added, c.added, coalesce(f.titles, 0), c.added >= greatest(1000, c.counted)
  from fresh f full join pgmem.title_order o using (scope_key, tenant)
  cross join lateral (select coalesce(o.counted, 0), coalesce(o.added, 0) + coalesce(f.titles, 0)) as c(counted, added)
  where c.added > 0;
$$;
comment on function pgmem.titles_to_order is $$
The scopes with titles that came after their order of words was made: the live titles, those that came, those of them
that title_order does not count yet, and whether a new order is due, because the titles have doubled, and by at least 1 000.
$$;


select pgmem.declare_answer('dedup_due', $$
Whether the title words of a scope should be ordered anew, of how many titles, and by the worker.

due boolean, titles bigint, by_worker boolean
$$);

create or replace function pgmem.dedup_due() returns pgmem.dedup_due
language sql stable security definer set search_path = pgmem, pg_temp as $$
  select row(count(*) > 0, coalesce(max(t.titles), 0),
             coalesce(max(t.titles), 0) <= pgmem.setting_int('dedup_refresh_limit'))::pgmem.dedup_due
  from pgmem.titles_to_order() t where t.due;
$$;
comment on function pgmem.dedup_due is $$
Say whether the order of the title words of a scope is due for refresh_dedup.

It is due once the titles of the scope have doubled since the last snapshot, and by at least 1 000. titles: those of the
largest scope that is due. by_worker: they are at most dedup_refresh_limit, so the worker refreshes; saves of the scope
wait for it.
$$;
select pgmem.declare_verb('dedup_due', p_rights => 'worker', p_effect => 'look', p_answer => 'DedupDue',
  p_reach => 'sum', p_least => '{by_worker}');


create or replace function pgmem.index_titles(p_seqs bigint[]) returns bigint
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_rows bigint;
begin
  insert into pgmem.dedup_token (node_seq, scope_key, token, signature, size, weight)
  select n.seq, n.scope_key, e.token, e.signature, e.size, e.weight
  from pgmem.node n
  cross join lateral pgmem.ranked_tokens(n.title_tokens, n.scope_key) r
  cross join lateral pgmem.title_entries(r.ranked) e
  where n.seq = any (p_seqs)
  on conflict do nothing;
  get diagnostics v_rows = row_count;
  insert into pgmem.title_order as o (scope_key, tenant, added)
  select n.scope_key, n.tenant, count(*) from pgmem.node n where n.seq = any (p_seqs) group by 1, 2 order by 1
  on conflict (scope_key) do update set added = o.added + excluded.added;
  return v_rows;
end;
$$;
comment on function pgmem.index_titles is $$
Enter live titles in the index of near duplicates, by the orders of their scopes, and count them as added; the number of
entries. The caller holds the locks of the scopes.
$$;


-- The order of words is stored in every entry of a scope, so a new order means new entries. Every writer of the scope
-- holds its lock from before it reads the order, so this waits for a save that has read the old one. Who reads without
-- the lock goes on with the old order and the old entries, in one statement.
create or replace function pgmem.order_titles(p_scope_key bigint, p_tenant text) returns bigint
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_locked boolean := pgmem.lock_scope(p_scope_key);
  v_seqs   bigint[];
  v_rows   bigint;
begin
  v_seqs := array(select n.seq from pgmem.node n
                  -- By the index node_label: no other tenant's nodes are read.
                  where n.label = 'Decision' and n.tenant = p_tenant and n.scope_key = p_scope_key
                    and n.status = 'active' and n.title_tokens is not null);
  delete from pgmem.token_frequency f where f.scope_key = p_scope_key and f.tenant = p_tenant;
  insert into pgmem.token_frequency (scope_key, tenant, token, frequency)
  select p_scope_key, p_tenant, hashtextextended(word, 0), count(*)
  from pgmem.node n cross join unnest(n.title_tokens) word
  where n.seq = any (v_seqs) group by 3 having count(*) > 1;
  delete from pgmem.dedup_token t where t.scope_key = p_scope_key;
  v_rows := pgmem.index_titles(v_seqs);
  insert into pgmem.title_order as o (scope_key, tenant, counted, last_seq)
  select p_scope_key, p_tenant, cardinality(v_seqs), coalesce(max(n.seq), 0) from pgmem.node n
  on conflict (scope_key) do update set counted = excluded.counted, added = 0, last_seq = excluded.last_seq;
  return v_rows;
end;
$$;
comment on function pgmem.order_titles is
  'Make the order of the title words of a scope by a new snapshot of their frequency, and its entries; their number.';


create or replace function pgmem.count_titles() returns void
language sql volatile set search_path = pgmem, pg_temp as $$
  insert into pgmem.title_order as o (scope_key, tenant, added)
  select t.scope_key, t.tenant, t.uncounted from pgmem.titles_to_order() t where t.uncounted > 0 order by 1
  on conflict (scope_key) do update set added = o.added + excluded.added;
  update pgmem.upkeep u set done_at = pgmem.clock(), last_seq = coalesce((select max(n.seq) from pgmem.node n), 0)
  where u.task = 'refresh_dedup';
$$;
comment on function pgmem.count_titles is
  'Keep in title_order how many titles have come, so that the next look begins at the nodes after them.';


create or replace function pgmem.refresh_dedup(p_if_worth boolean default false) returns bigint
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_scope record;
begin
  if not p_if_worth and not pgmem.is_reviewer() then
    raise exception using errcode = 'PM004',
      message = 'refresh_dedup is maintenance: connect as the owner or a reviewer.';
  end if;
  -- Another worker may be at it.
  if p_if_worth then
    perform from pgmem.upkeep u where u.task = 'refresh_dedup' for update skip locked;
  else
    perform from pgmem.upkeep u where u.task = 'refresh_dedup' for update;
  end if;
  if not found then
    return 0;
  end if;
  select t.scope_key, t.tenant into v_scope from pgmem.titles_to_order() t
  where not p_if_worth or t.due and t.titles <= pgmem.setting_int('dedup_refresh_limit')
  order by t.due desc, t.added desc, t.scope_key limit 1;
  if found then
    return pgmem.order_titles(v_scope.scope_key, v_scope.tenant);
  end if;
  if (select max(n.seq) from pgmem.node n) - (select u.last_seq from pgmem.upkeep u where u.task = 'refresh_dedup') >= 1000 then
    perform pgmem.count_titles();
  end if;
  return 0;
end;
$$;
comment on function pgmem.refresh_dedup is $$
Order the title words of one scope by their frequency; the number of its entries.

The scope is the one to which most titles have come; the answer is 0 if none has new titles. Its saves wait meanwhile, those of other scopes do not. The worker
calls it for scopes of up to dedup_refresh_limit titles; for larger ones a person does at a quiet hour.

if_worth: Only where dedup_due says that it is due and the worker's to do, else 0; false by
  default, for reviewers alone.

NotPermitted: The login is not a reviewer, and if_worth is false.
$$;
select pgmem.declare_verb('refresh_dedup', p_rights => 'worker', p_effect => 'repeat', p_answer => 'int',
  p_patience => 'rebuild', p_reach => 'sum',
  p_reads_all => 'It orders the titles of a scope.');
