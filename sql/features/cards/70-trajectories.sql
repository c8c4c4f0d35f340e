-- Trajectories
--
-- A trajectory is the course of one piece of work: intent, files touched, verification, outcome, commit. It
-- follows from stored rows: a finished intent with its receipt and the turns of its session, or a commit of the
-- default branch that no intent claims; a pull request that was merged is one commit, that of the merge. An intent
-- claims the commit that its receipt names, else the first later one that shares most of its files. So trajectories
-- are nodes that the store makes (is_of_store): neither exported nor searched beside memories; dropped and built again
-- they are the same rows, but for seq and recorded_at.
--
-- They are found by path (card_subject) and by meaning: words and, where there are vectors, their nearness.
--
-- Locks: the scope lock of the cards.


create or replace function pgmem.is_test_path(p_path text) returns boolean
language sql immutable strict parallel safe
begin atomic
  select p_path ~ ('(^|/)(tests?|specs?|__tests__)/|(^|/)(test_[^/]*|(conftest|tests?)\.py|[^/]*\.bats)$|'
                   '[._-](test|spec)s?\.[a-z]+$|Tests?\.[a-z]+$');
end;
comment on function pgmem.is_test_path is 'Whether a path is that of a test, by its name alone.';


create or replace function pgmem.pieces_of_work(p_tenant text, p_project_seq bigint) returns table (
  name text,
  at timestamptz,
  agent text,
  intent text,
  paths text[],
  verified text[],
  outcome text,
  commit_id text,
  turns bigint
)
language sql stable set search_path = pgmem, pg_temp as $$
  with work as materialized (
    -- A subject ends with the number of its pull request, or does not.
    select c.id, c.at, c.subject, c.paths, c.id || c.commits as ids, c.reverts,
      regexp_replace(c.subject, '\s*\([#!]\d+\)$', '') as bare,
      substring(c.subject from '^Revert "(.*?)(?:\s*\([#!]\d+\))?"(?:\s*\([#!]\d+\))?$') as takes_back
    from pgmem.card_commit c where c.tenant = p_tenant and c.project_seq = p_project_seq
  ), undo as materialized (
    select * from work where reverts <> '{}' or takes_back is not null
  ), commit as materialized (
    select w.id, w.at, w.subject, w.paths, w.ids,
      (select r.id from undo r
       where r.at >= w.at and r.id <> w.id and (r.reverts && w.ids or r.takes_back = w.bare)
       order by r.at, r.id limit 1) as reverted_by
    from work w
  ), finished as materialized (
    select i.*, coalesce(i.receipt, '{}') as report,
      coalesce(nullif(i.changed_paths, '{}'), i.paths) as touched
    from pgmem.card_intent i
    where i.tenant = p_tenant and i.project_seq = p_project_seq and i.finished_at is not null
  ), claim as materialized (
    select distinct on (f.id) f.id, c.id as commit_id
    from finished f join commit c
      on exists (
        select from unnest(c.ids) i
        where i = f.report ->> 'commit' or length(f.report ->> 'commit') >= 7 and starts_with(i, f.report ->> 'commit'))
      or not f.report ? 'commit' and c.paths && f.touched
         and c.at between f.declared_at - interval '1 second' and f.finished_at + interval '14 days'
         and (select count(*) from unnest(f.touched) t where t = any (c.paths)) * 2 > cardinality(f.touched)
    order by f.id, c.at, c.id
  )
  select 'intent:' || f.id, f.finished_at, f.agent_id, coalesce(f.description, asked.text, c.subject), f.touched,
    array(
      select t.value from jsonb_array_elements_text(
        case jsonb_typeof(f.report -> 'tests') when 'array' then f.report -> 'tests' else '[]' end)
        with ordinality as t(value, place)
      group by t.value order by min(t.place), t.value),
    case when lower(f.report ->> 'status') in ('rejected', 'failed', 'error', 'aborted', 'cancelled')
           then lower(f.report ->> 'status')
         when lower(f.report ->> 'verify') in ('failed', 'rejected', 'error')
           then 'verification ' || lower(f.report ->> 'verify')
         when c.reverted_by is not null then 'reverted by ' || left(c.reverted_by, 9)
         when c.id is not null then 'merged'
         else coalesce(lower(f.report ->> 'status'), 'finished') end,
    c.id, said.turns
  from finished f
  left join claim l on l.id = f.id
  left join commit c on c.id = l.commit_id
  left join lateral (
    -- The last request of a person before the intent was declared.
    select pgmem.excerpt(n.props ->> 'content') as text from pgmem.node n
    where n.session_id = f.session_id and n.tenant = p_tenant and n.status = 'captured'
      and n.props ->> 'role' = 'user' and coalesce(n.valid_from, n.created_at) <= f.declared_at
    order by n.seq desc limit 1) asked on true
  cross join lateral (
    select nullif(count(*), 0) as turns from pgmem.node n
    where n.session_id = f.session_id and n.tenant = p_tenant and n.status = 'captured') said
  union all
  -- That a commit changed a test does not say that anybody ran it.
  select 'commit:' || c.id, c.at, null, c.subject, c.paths, '{}',
    case when c.reverted_by is not null then 'reverted by ' || left(c.reverted_by, 9) else 'merged' end, c.id, null
  from commit c where not exists (select from claim l where l.commit_id = c.id);
$$;
comment on function pgmem.pieces_of_work is
  'The pieces of work of a project: its finished intents, and the merged commits that none of them claims.';


create or replace function pgmem.trajectory_line(
  p_at timestamptz,
  p_intent text,
  p_paths text[],
  p_verified text[],
  p_outcome text,
  p_commit text
) returns text
language sql immutable set search_path = pgmem, pg_temp as $$
  select format('%s %s: %s; %s%s%s.', to_char(p_at at time zone 'UTC', 'YYYY-MM-DD'),
    rtrim(left(regexp_replace(coalesce(nullif(btrim(p_intent), ''), 'no intent given'), '\s+', ' ', 'g'), 120), '. '),
    coalesce(pgmem.name_list(array(select p from unnest(p_paths) with ordinality as u(p, n)
                                   order by pgmem.is_test_path(p), n), 110), 'no files'),
    coalesce('verified by ' || pgmem.name_list(p_verified, 80) || '; ', ''), p_outcome,
    coalesce(' (' || left(p_commit, 9) || ')', ''));
$$;
comment on function pgmem.trajectory_line is
  'A trajectory on one line: day, intent, files, verification, outcome, commit.';


create or replace function pgmem.trajectories_of(p_place pgmem.node) returns table (
  id uuid,
  name text,
  at timestamptz,
  paths text[],
  props jsonb
)
language sql stable set search_path = pgmem, pg_temp as $$
  select md5(p_place.tenant || e'\x1e' || p_place.project || e'\x1e' || w.name)::uuid, w.name, w.at, w.paths,
    jsonb_strip_nulls(jsonb_build_object('name', w.name, 'line', line.text, 'at', w.at, 'agent', w.agent,
      'intent', w.intent, 'paths', w.paths, 'verified', w.verified, 'outcome', w.outcome, 'commit', w.commit_id,
      'turns', w.turns))
  from pgmem.pieces_of_work(p_place.tenant, p_place.project_seq) w
  cross join lateral (
    select pgmem.trajectory_line(w.at, w.intent, w.paths, w.verified, w.outcome, w.commit_id) as text) line;
$$;
comment on function pgmem.trajectories_of is
  'The trajectories of a project that follow from its stored work; ids follow from the names of the pieces of work.';


create or replace function pgmem.store_trajectory(
  p_place pgmem.node,
  p_id uuid,
  p_at timestamptz,
  p_paths text[],
  p_props jsonb
) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  p_place.id := p_id;
  p_place.key := p_props ->> 'name';
  p_place.title := pgmem.excerpt(p_props ->> 'line');
  p_place.props := p_props;
  p_place.created_at := p_at;
  p_place := pgmem.insert_node(p_place);
  insert into pgmem.card_subject (node_seq, scope_key, tenant, kind, key, relation, match, status, weight)
  select p_place.seq, p_place.scope_key, p_place.tenant, 'path', path, 'about', path, p_place.status, 0
  from unnest(p_paths) path
  on conflict do nothing;
  if pgmem.has_vectors() then
    insert into pgmem.embedding_queue (node_seq, model_id)
    select p_place.seq, m.id from pgmem.embedding_model m where m.active on conflict do nothing;
  end if;
end;
$$;
comment on function pgmem.store_trajectory is 'Store one trajectory with its paths; its text waits for a vector.';


create or replace function pgmem.build_trajectories(p_place pgmem.node) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_key  bigint := pgmem.scope_key(p_place.tenant, p_place.project_seq::text, 'Trajectory');
  v_work record;
  v_gone integer := 0;
  v_made integer := 0;
  v_all  integer := 0;
begin
  p_place.label := 'Trajectory';
  p_place.status := 'historical';
  p_place.agent_id := null;
  p_place.session_id := null;
  p_place.source := 'sql';
  p_place.trust_level := 0.8;
  for v_work in
    with wanted as materialized (
      select t.* from pgmem.trajectories_of(p_place) t
    ), stored as materialized (
      select n.seq, n.id, n.props from pgmem.node n
      where n.label = 'Trajectory' and n.scope_key = v_key and n.tenant || '' = p_place.tenant
    )
    select w.id, w.at, w.paths, w.props, s.seq, w.props is not distinct from s.props as is_same
    from wanted w full join stored s on s.id = w.id order by w.at, w.name
  loop
    v_all := v_all + (v_work.id is not null)::integer;
    continue when v_work.is_same;
    if v_work.seq is not null then
      perform pgmem.delete_node(v_work.seq);
      v_gone := v_gone + 1;
    end if;
    if v_work.id is not null then
      perform pgmem.store_trajectory(p_place, v_work.id, v_work.at, v_work.paths, v_work.props);
      v_made := v_made + 1;
    end if;
  end loop;
  return jsonb_build_object('trajectories', v_all, 'made', v_made, 'removed', v_gone);
end;
$$;
comment on function pgmem.build_trajectories is
  'Bring the trajectories of a project in line with its stored work: how many there are, were made and removed.';


create or replace function pgmem.remember_commits(p_place pgmem.node, p_report jsonb) returns boolean
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  if jsonb_typeof(p_report -> 'work') is distinct from 'array' then
    return false;
  end if;
  delete from pgmem.card_commit c
  where c.tenant = p_place.tenant and c.project_seq = p_place.project_seq
    and not exists (select from jsonb_to_recordset(p_report -> 'work') as w(commit text) where w.commit = c.id);
  insert into pgmem.card_commit as c (org_id, user_id, project_seq, id, at, subject, paths, commits, reverts)
  select distinct on (w.commit) p_place.org_id, p_place.user_id, p_place.project_seq, left(w.commit, 64),
    to_timestamp(w.at), left(w.subject, 200), array(select pgmem.clean_path(p) from unnest(w.paths[1:30]) p),
    coalesce(w.commits[1:100], '{}'), coalesce(w.reverts[1:100], '{}')
  from jsonb_to_recordset(p_report -> 'work') as w(commit text, at bigint, subject text, paths text[], commits text[],
    reverts text[])
  where w.commit <> '' and w.at is not null and w.subject is not null and cardinality(w.paths) > 0
  order by w.commit
  on conflict (tenant, project_seq, id) do update
    set subject = excluded.subject, paths = excluded.paths, commits = excluded.commits, reverts = excluded.reverts
    where (c.subject, c.paths, c.commits, c.reverts)
      is distinct from (excluded.subject, excluded.paths, excluded.commits, excluded.reverts);
  return true;
end;
$$;
comment on function pgmem.remember_commits is
  'Keep the commits of the default branch that a report lists, instead of those before; false: it lists none.';


-- The vectors of a project's trajectories are few, so they are compared one by one, whatever index there is.
create or replace function pgmem.near_trajectories(
  p_tenants text[],
  p_keys bigint[],
  p_embedding real[],
  p_model text
) returns table (
  seq bigint,
  nearness float8
)
language plpgsql stable set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_model pgmem.embedding_model;
begin
  select m.* into v_model from pgmem.embedding_model m where m.name = p_model;
  if p_embedding is null or not pgmem.has_vectors() or cardinality(p_embedding) is distinct from v_model.dimensions then
    return;
  end if;
  return query
  select n.seq, 1::float8 - (e.vector operator(public.<=>) (select p_embedding::public.halfvec))
  from pgmem.node n
  cross join lateral (
    select e.vector from pgmem.embedding e where e.node_seq = n.seq and e.model_id = v_model.id offset 0) e
  where n.label = 'Trajectory' and n.scope_key = any (p_keys) and n.tenant || '' = any (p_tenants);
end;
$$;
comment on function pgmem.near_trajectories is
  'How near the text of each trajectory is to a query, by cosine; nothing without vectors of that model.';


create or replace function pgmem.find_trajectories(
  p_tenants text[],
  p_scope pgmem.scope_state,
  p_path text,
  p_query text,
  p_embedding real[],
  p_model text,
  p_limit integer
) returns jsonb
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_keys  bigint[] := array(
    select pgmem.scope_key(t, p_scope.project_seq::text, 'Trajectory') from unnest(p_tenants) t);
  v_words tsquery := pgmem.any_word(p_query, p_scope.text_config);
begin
  return (
    with fitting as materialized (
      select n.* from pgmem.node n
      where n.label = 'Trajectory' and n.scope_key = any (v_keys) and n.tenant || '' = any (p_tenants)
        and n.status = 'historical'
        and (p_path is null or exists (
          select from pgmem.card_subject s
          where s.node_seq = n.seq and (s.match = p_path or starts_with(s.match, p_path || '/'))))
    ), ranked as (
      -- By words and by meaning: a place near the front of either list counts; without a query the newest come first.
      select f.seq, f.props, f.id, f.created_at, case when p_query is null then 0 else
          coalesce(1.0 / (10 + w.place), 0) + coalesce(1.0 / (10 + v.place), 0) end as score
      from fitting f
      left join (
        select f.seq, rank() over (order by pgmem.word_rank(f.tsv, v_words, 1) desc) as place
        from fitting f where f.tsv @@ v_words) w on w.seq = f.seq
      left join (
        select t.seq, rank() over (order by t.nearness desc) as place
        from pgmem.near_trajectories(p_tenants, v_keys, p_embedding, p_model) t
        where t.nearness > 0.2) v on v.seq = f.seq
    ), shown as (
      select r.*, count(*) over () as total from ranked r where p_query is null or p_path is not null or r.score > 0
      order by r.score desc, r.created_at desc, r.id limit p_limit
    )
    select jsonb_build_object(
      'trajectories', coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'line', s.props ->> 'line', 'at', s.created_at,
          'outcome', s.props ->> 'outcome')
        || jsonb_strip_nulls(jsonb_build_object('commit', s.props ->> 'commit'))
        order by s.score desc, s.created_at desc, s.id), '[]'),
      'record_count', count(*), 'total_count', coalesce(max(s.total), 0),
      'truncated', coalesce(max(s.total), 0) > count(*))
    from shown s);
end;
$$;
comment on function pgmem.find_trajectories is
  'The trajectories about a path, or near to a query by words and meaning, or the newest; one line each.';


create or replace function pgmem.rebuild_cards(p_job text, p_project_id text, p_share text) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_place  pgmem.node := pgmem.place_card(pgmem.card_scope(v_caller, p_project_id), v_caller, p_share);
  v_keys   bigint[] := array[v_place.scope_key, pgmem.scope_key(v_place.tenant, v_place.place, 'Trajectory')];
  v_count  bigint := 0;
begin
  perform pgmem.lock_scope(v_place.scope_key);
  if p_job = 'rebuild_trajectories' then
    return pgmem.build_trajectories(v_place);
  elsif p_job = 'rebuild_semantic' then
    if pgmem.has_vectors() then
      insert into pgmem.embedding_queue (node_seq, model_id)
      select n.seq, m.id from pgmem.node n join pgmem.embedding_model m on m.active
      where n.label in ('Card', 'Trajectory') and n.scope_key = any (v_keys) and n.tenant || '' = v_place.tenant
        and n.status not in ('rejected', 'archived')
      on conflict (node_seq, model_id) do update set claimed_until = null, attempts = 0;
      get diagnostics v_count = row_count;
    end if;
    return jsonb_build_object('queued', v_count, 'next_step', case
      when v_count > 0 then 'The worker embeds them: pgmem worker --once, or pgmem reindex.'
      else 'Nothing is queued: the store has no active model, or the project no cards.' end);
  end if;
  if to_regclass('pgmem_graph."Card"') is null then
    return jsonb_build_object('vertices', 0, 'edges', 0,
      'next_step', 'This server has no Apache AGE, so it has no graph to synchronize.');
  end if;
  return pgmem.project_cards(v_place.tenant, v_keys);
end;
$$;
comment on function pgmem.rebuild_cards is
  'Do one of the rebuild jobs for the caller''s cards of a project: trajectories, vectors or the graph.';


create or replace function pgmem.project_cards(p_tenant text, p_keys bigint[]) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_label    text;
  v_rows     bigint;
  v_vertices bigint := 0;
  v_edges    bigint := 0;
begin
  -- As the triggers write them, for the vertices of these cards and the edges that begin at one.
  foreach v_label in array '{Card,Trajectory}'::text[] loop
    execute format($q$delete from pgmem_graph.%1$I g using pgmem.node n
      where n.label = %1$L and n.scope_key = any ($1) and n.tenant || '' = $2
        and g.id operator(ag_catalog.=) ag_catalog._graphid(pgmem.label_number(%1$L), n.seq)$q$, v_label)
    using p_keys, p_tenant;
    execute format($q$insert into pgmem_graph.%1$I (id, properties)
      select ag_catalog._graphid(pgmem.label_number(n.label), n.seq), vertex.properties::ag_catalog.agtype
      from pgmem.node n cross join lateral pgmem.vertex_properties(n) vertex
      where n.label = %1$L and n.scope_key = any ($1) and n.tenant || '' = $2$q$, v_label) using p_keys, p_tenant;
    get diagnostics v_rows = row_count;
    v_vertices := v_vertices + v_rows;
  end loop;
  for v_label in select distinct e.rel from pgmem.node n join pgmem.edge e on e.src = n.seq
                 join pgmem.relation r on r.name = e.rel and not r.is_column
                 where n.label = 'Card' and n.scope_key = any (p_keys) and n.tenant || '' = p_tenant order by 1
  loop
    execute format($q$delete from pgmem_graph.%1$I g using pgmem.edge e join pgmem.node s on s.seq = e.src
      where e.rel = %1$L and s.label = 'Card' and s.scope_key = any ($1) and s.tenant || '' = $2
        and g.id operator(ag_catalog.=) ag_catalog._graphid(ag_catalog._label_id('pgmem_graph', %1$L)::int, e.seq)$q$,
      v_label) using p_keys, p_tenant;
    execute format($q$insert into pgmem_graph.%1$I (id, start_id, end_id, properties)
      select ag_catalog._graphid(ag_catalog._label_id('pgmem_graph', %1$L)::int, e.seq),
        ag_catalog._graphid(pgmem.label_number(s.label), s.seq),
        ag_catalog._graphid(pgmem.label_number(d.label), d.seq), e.props::text::ag_catalog.agtype
      from pgmem.edge e join pgmem.node s on s.seq = e.src join pgmem.node d on d.seq = e.dst
      where e.rel = %1$L and s.label = 'Card' and s.scope_key = any ($1) and s.tenant || '' = $2$q$, v_label)
    using p_keys, p_tenant;
    get diagnostics v_rows = row_count;
    v_edges := v_edges + v_rows;
  end loop;
  return jsonb_build_object('vertices', v_vertices, 'edges', v_edges);
end;
$$;
comment on function pgmem.project_cards is
  'Write the vertices of cards, and the edges that begin at them, into the graph again; how many.';


select pgmem.declare_label('Trajectory', p_of_store => true, p_exact => true, p_other_texts => 'none');
