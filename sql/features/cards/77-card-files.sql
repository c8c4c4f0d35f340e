-- Files by files, and files by a text
--
-- Two questions about the files of a project, answered from its cards. what_changes: who changes these files, which
-- others does he change too? The scores that a scan has stored with each file (73-card-report) are joined: the chance
-- that at least one of the files brings the other along. which_files: which files is this text about? Several signs are
-- brought to one scale and added: files that the text names, the words of files and of their paths by their rarity, cards
-- and earlier work in such words, and the companions of the files found so far.
--
-- Locks: none.


create or replace function pgmem.terms(p_text text) returns text[]
language sql immutable parallel safe set search_path = pgmem, pg_temp as $$
  select coalesce(array_agg(distinct regexp_replace(lower(part[1]), 's$', '')), '{}')
  from regexp_matches(left(p_text, 20000), '[A-Za-z][A-Za-z0-9_]{2,60}', 'g') as name,
       regexp_matches(name[1], '[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+', 'g') as part
  where length(part[1]) > 2;
$$;
comment on function pgmem.terms is
  'The words of a text and the parts of its names, as a scan takes a file apart: small letters, without a last s.';


create or replace function pgmem.likely_changes(p_tenants text[], p_project_seq bigint, p_paths text[]) returns table (
  asked text,
  path text,
  score float8,
  commits integer,
  commits_of integer,
  added jsonb,
  is_test boolean
)
language sql stable set search_path = pgmem, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
  with own as materialized (
    select tenant, pgmem.scope_key(tenant, p_project_seq::text, 'Card') as key from unnest(p_tenants) as tenant
  ), said as materialized (
    select p.path as asked, n.props -> 'details' as details, 1.0::float8 as share
    from unnest(p_paths) as p(path) cross join own k cross join lateral (
      select s.node_seq from pgmem.card_subject s
      where s.scope_key = k.key and s.tenant = k.tenant and s.match = p.path collate "C" and s.kind = 'path'
        and s.status in ('active', 'stale') offset 0) s
    join pgmem.node n on n.seq = s.node_seq and n.props ->> 'facet' in ('cochange', 'tests')
      and n.props ->> 'path' = p.path
  ), beside as materialized (
    -- A path that no card knows, such as that of a new file, has the companions of its folder.
    select p.path as asked, n.props -> 'details' as details, (0.7 / count(*) over (partition by p.path))::float8 as share
    from unnest(p_paths) as p(path) cross join own k cross join lateral (
      select s.node_seq from pgmem.card_subject s
      where s.scope_key = k.key and s.tenant = k.tenant
        and s.match > (regexp_replace(p.path, '[^/]*$', '')) collate "C"
        and s.match < (regexp_replace(p.path, '/?[^/]*$', '0')) collate "C"
        and s.kind = 'path' and s.status in ('active', 'stale') limit 200 offset 0) s
    join pgmem.node n on n.seq = s.node_seq and n.props ->> 'facet' = 'cochange'
      and regexp_replace(n.props ->> 'path', '[^/]*$', '') = regexp_replace(p.path, '[^/]*$', '')
    where p.path like '%/%' and p.path not in (select s.asked from said s)
  ), named as (
    select s.asked, c ->> 'path' as path, s.share * (c ->> 'score')::float8 as score, (c ->> 'commits')::integer as commits,
      (c ->> 'of')::integer as commits_of, s.details -> 'added' as added, s.details ? 'tests' as is_test
    from (select * from said union all select * from beside) s
    cross join lateral jsonb_array_elements(coalesce(s.details -> 'companions', s.details -> 'tests')) c
    where jsonb_typeof(c) = 'object'
  )
  select n.asked, n.path, least(0.99, case when bool_or(n.asked in (select asked from said)) then max(n.score)
    else sum(n.score) end), max(n.commits), max(n.commits_of), (array_agg(n.added) filter (where n.added is not null))[1],
    bool_or(n.is_test) or pgmem.is_test_path(n.path)
  from named n where n.path <> n.asked group by n.asked, n.path;
$$;
comment on function pgmem.likely_changes is
  'The companions that a scan knows for each of some paths: the chance, in how many of how many commits it did, and whether '
  'it is a test.';


select pgmem.declare_answer('companion', $$
A file that is the reason for another one: in how many of its commits both changed.

path text, commits integer?, of integer?
$$);

select pgmem.declare_answer('likely_change', $$
A file that usually changes with those of the question; the score is the chance, from 0 to 1.

path text, score float8, because companion[] = {}
$$);

select pgmem.declare_answer('added_file', $$
A folder in which a share of the changes adds a file.

folder text, share float8
$$);

select pgmem.declare_answer('likely_changes', $$
The files that usually change with some files, the tests among them, and where a file is usually added.

files likely_change[] = {}, tests likely_change[] = {}, added added_file[] = {}
$$);

create or replace function pgmem.what_changes(
  p_project_id text,
  p_paths text[],
  p_limit integer default 10
) returns pgmem.likely_changes
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.likely_changes;
  v_caller pgmem.caller := pgmem.caller();
  v_paths  text[] := pgmem.clean_paths(case when cardinality(p_paths) = 0 then '{""}' else p_paths end);
  v_scope  pgmem.scope_state;
begin
  perform pgmem.integer_between('limit', p_limit, 1, 100);
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  with likely as materialized (
    select * from pgmem.likely_changes(v_caller.tenants, v_scope.project_seq, v_paths)
  ), joined as (
    select l.path, 1 - exp(sum(ln(1 - l.score))) as score, bool_or(l.is_test) as is_test,
      jsonb_agg(jsonb_strip_nulls(jsonb_build_object('path', l.asked, 'commits', l.commits, 'of', l.commits_of))
                order by l.score desc, l.asked collate "C") as because
    from likely l where l.path <> all (v_paths) group by l.path
  ), ranked as (
    select j.*, row_number() over (order by j.score desc, j.path collate "C") as place,
      row_number() over (partition by j.is_test order by j.score desc, j.path collate "C") as of_kind
    from joined j
  ), shown as (
    select r.place, r.of_kind, r.is_test,
      jsonb_build_object('path', r.path, 'score', round(r.score::numeric, 3), 'because', r.because) as said
    from ranked r
  )
  select coalesce(jsonb_agg(s.said order by s.place) filter (where s.place <= p_limit), '[]'),
    coalesce(jsonb_agg(s.said order by s.place) filter (where s.is_test and s.of_kind <= least(p_limit, 5)), '[]'),
    coalesce((select jsonb_agg(distinct l.added) from likely l where l.added is not null), '[]')
  into v_answer from shown s;
  return v_answer;
end;
$$;
comment on function pgmem.what_changes is $$
Rank the files that usually change together with some files, and the tests among them.

`files` are the likeliest, at most limit, each with a score (the chance that the next commit changes it too) and the
files that make it relevant, with the number of commits that they share. `tests` are the likeliest five tests.
`added` names a folder in which most changes add a file, such as one for notes of changes. Files of the question are left
out.

paths: Paths in the repository, 1 to 50; a new file is judged by its folder.
limit: How many at most, 1 to 100; default 10.

ContractError: a path outside the repository, or no such project.
InvalidArgument: limit is out of range.
$$;
select pgmem.declare_verb('what_changes', p_rights => 'reader', p_effect => 'read', p_answer => 'LikelyChanges',
  p_patience => 'answer', p_toolset => 'cards', p_hidden => '{limit}',
  p_description => 'Files and tests that usually change with these.');


create or replace function pgmem.files_with_terms(p_tenants text[], p_project_seq bigint, p_terms text[]) returns table (
  path text,
  score float8
)
language plpgsql stable set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_files float8 := (
    select count(*) from pgmem.card_file f where f.tenant = any (p_tenants) and f.project_seq = p_project_seq);
  v_rare  jsonb;
begin
  -- A word of half the files distinguishes none of them.
  select coalesce(jsonb_object_agg(term, ln(1 + v_files / count)), '{}') into v_rare
  from unnest(p_terms) as term cross join lateral (
    select count(*)::float8 as count from pgmem.card_file f
    where f.tenant = any (p_tenants) and f.project_seq = p_project_seq and f.terms @> array[term]) c
  where count between 1 and greatest(3, v_files / 2);
  return query
  select f.path, sum((v_rare ->> t.term)::float8 * (0.4 + 0.6 / (1 + t.place / 20.0)))
  from pgmem.card_file f cross join lateral unnest(f.terms) with ordinality as t(term, place)
  where f.tenant = any (p_tenants) and f.project_seq = p_project_seq
    and f.terms && array(select jsonb_object_keys(v_rare)) and v_rare ? t.term
  group by f.path;
end;
$$;
comment on function pgmem.files_with_terms is
  'The files that use some words, each scored by how rare the words are among the files and how much it uses them.';


create or replace function pgmem.files_named(p_tenants text[], p_project_seq bigint, p_text text) returns table (
  path text,
  score float8
)
language sql stable set search_path = pgmem, pg_temp as $$
  with word as materialized (
    select distinct btrim(m[1], './-') as word
    from regexp_matches(left(p_text, 20000), '[\w./-]*[./][\w./-]*\w', 'g') m
  ), named as (
    select w.word, f.path from word w join pgmem.card_file f
      on f.tenant = any (p_tenants) and f.project_seq = p_project_seq
      and (f.path = w.word or f.path like '%/' || replace(w.word, '_', '\_')
        or length(f.module) > 3 and strpos(f.module, '.') > 0 and starts_with(w.word || '.', f.module || '.'))
  )
  select n.path, max(1.0 / n.count)::float8
  from (select *, count(*) over (partition by word) as count from named) n group by n.path;
$$;
comment on function pgmem.files_named is
  'The files that a text names by a path, by the end of one or as a module, each scored by how clear that is.';


create or replace function pgmem.path_terms(p_tenants text[], p_project_seq bigint, p_terms text[]) returns table (
  path text,
  score float8
)
language sql stable set search_path = pgmem, pg_temp as $$
  with word as materialized (
    select f.path, t.term, t.term = any (pgmem.terms(regexp_replace(f.path, '^.*/', ''))) as in_name
    from pgmem.card_file f cross join lateral unnest(pgmem.terms(f.path)) as t(term)
    where f.tenant = any (p_tenants) and f.project_seq = p_project_seq
      and f.path ~* array_to_string(p_terms, '|') and t.term = any (p_terms)  -- the expression spares most of the paths
  ), rare as (
    select w.term, ln(1 + (select count(*) from pgmem.card_file f
      where f.tenant = any (p_tenants) and f.project_seq = p_project_seq)::float8 / count(*)) as idf
    from word w group by w.term
  )
  select w.path, sum(r.idf * case when w.in_name then 1.0 else 0.5 end) from word w join rare r using (term) group by w.path;
$$;
comment on function pgmem.path_terms is 'The files whose path holds some words, each scored by how rare they are in paths.';


select pgmem.declare_answer('found_file', $$
A file that a text is about, with the signs that found it, the strongest first.

path text, score float8, signs text[] = {}
$$);

select pgmem.declare_answer('found_files', $$
The files that a text is about, best first.

files found_file[] = {}
$$);

create or replace function pgmem.which_files(
  p_project_id text,
  p_text text,
  p_limit integer default 10,
  p_embedding real[] default null,
  p_embedding_model text default null,
  p_clear boolean default false
) returns pgmem.found_files
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.found_files;
  v_caller pgmem.caller := pgmem.caller();
  v_text   text := pgmem.clean_text(p_text, 'text');
  v_scope  pgmem.scope_state;
  v_terms  text[];
  v_work   jsonb;
begin
  if v_text is null then
    raise exception using errcode = 'PM001', message = 'text must not be empty; send the issue or the task.';
  end if;
  perform pgmem.integer_between('limit', p_limit, 1, 100);
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  v_answer.files := '[]';
  if not exists (
      select from pgmem.card_file f where f.tenant = any (v_caller.tenants) and f.project_seq = v_scope.project_seq) then
    return v_answer;
  end if;
  v_terms := pgmem.terms(v_text);
  v_work := pgmem.find_trajectories(v_caller.tenants, v_scope, null, left(v_text, 2000), p_embedding, p_embedding_model, 10);
  with sign as materialized (
    select 'named' as kind, path, score from pgmem.files_named(v_caller.tenants, v_scope.project_seq, v_text)
    union all
    select 'words', path, score from pgmem.files_with_terms(v_caller.tenants, v_scope.project_seq, v_terms)
    union all
    select 'path', path, score from pgmem.path_terms(v_caller.tenants, v_scope.project_seq, v_terms)
    union all
    select 'cards', n.props ->> 'path', sum(c.score)
    from (select * from pgmem.find_cards('search', v_caller.tenants, v_scope, null, null, left(v_text, 2000), 'any',
            array['active', 'draft']) order by score desc, node_seq limit 30) c
    join pgmem.visible_node n on n.seq = c.node_seq group by 2
    union all
    select 'work', p.path, sum(1.0 / ((3 + w.place) * sqrt(w.count)))
    from (select n.props -> 'paths' as paths, w.place, jsonb_array_length(n.props -> 'paths') as count
          from jsonb_array_elements(v_work -> 'trajectories') with ordinality as w(line, place)
          join pgmem.node n on n.id = (w.line ->> 'id')::uuid) w
    cross join lateral jsonb_array_elements_text(w.paths) as p(path) group by 2
  ), scaled as (
    select s.path, s.kind, s.score / max(s.score) over (partition by s.kind)
      * case s.kind when 'named' then 2.0 when 'words' then 1.0 when 'path' then 0.7 when 'work' then 0.5 else 0.4 end
      * case when s.path ~ '\.(md|rst|txt|adoc|lock)$' and s.kind <> 'named' then 0.5 else 1 end as score
    from sign s
  ), direct as materialized (
    select s.path, sum(s.score) as score, array_agg(s.kind order by s.score desc) as signs
    from scaled s join pgmem.card_file f on f.path = s.path and f.tenant = any (v_caller.tenants)
      and f.project_seq = v_scope.project_seq
    group by s.path order by 2 desc limit 100
  ), walked as (
    select l.path, sum(0.3 * l.score * d.score) as score
    from (select * from direct order by score desc limit 5) d
    cross join lateral pgmem.likely_changes(v_caller.tenants, v_scope.project_seq, array[d.path]) l group by l.path
  ), ranked as (
    select path, coalesce(d.score, 0) + coalesce(w.score, 0) as score,
      coalesce(d.signs, '{}') || case when w.score is not null then '{together}'::text[] else '{}' end as signs
    from direct d full join walked w using (path) order by 2 desc, path collate "C" limit p_limit
  )
  -- Among the subjects of 60 later commits of two repositories 48 reach this, 40 rightly; of 240 prompts about nothing in
  -- them 13 (python -m benchmarks cards).
  select coalesce(jsonb_agg(jsonb_build_object('path', r.path, 'score', round(r.score::numeric, 3), 'signs', r.signs)
    order by r.score desc, r.path collate "C") filter (where not coalesce(p_clear, false) or c.is_clear), '[]')
  into v_answer
  from ranked r cross join (select max(score) >= 1.8 and not bool_or('named' = any (signs)) as is_clear from ranked) c;
  return v_answer;
end;
$$;
comment on function pgmem.which_files is $$
Find the files that a text, such as an issue or a task, is about.

Each file has a score, which orders the files of one answer, and the signs that found it: named (the text names it),
words (it uses the words of the text), path (its path holds them), cards and work (cards about it, or earlier changes
of it, have its name), together (it changes with another that was found).

text: The issue, the ticket or the task.
limit: How many at most, 1 to 100; default 10.
clear: None, unless one is found clearly and the text names none itself; default false.

InvalidArgument: the text is empty, or limit is out of range.
ContractError: no such project.
$$;
select pgmem.declare_verb('which_files', p_rights => 'reader', p_effect => 'read', p_answer => 'FoundFiles',
  p_patience => 'answer', p_toolset => 'cards', p_hidden => '{limit,clear}',
  p_description => 'Files that an issue or task is about.');


create or replace function pgmem.file_records(p_tenants text[], out number bigint, out line jsonb) returns setof record
language sql stable set search_path = pgmem, pg_temp as $$
  select row_number() over (order by f.tenant, p.id), jsonb_build_object(
      'type', 'files', 'project_id', p.id, 'org_id', f.org_id, 'user_id', f.user_id,
      'files', jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
        'path', f.path, 'digest', f.digest, 'module', f.module, 'last_commit', f.last_commit)) order by f.path))
  from pgmem.card_file f join pgmem.node p on p.seq = f.project_seq
  where f.tenant = any (p_tenants) and p.tenant = any (p_tenants)
  group by f.tenant, f.org_id, f.user_id, p.id;
$$;
comment on function pgmem.file_records is 'The files of each project as one record of an export.';


create or replace function pgmem.import_files(p_record jsonb, p_owner pgmem.caller, p_project_seq bigint) returns boolean
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  insert into pgmem.card_file (org_id, user_id, project_seq, path, digest, module, last_commit)
  select p_owner.org_id, p_owner.user_id, p_project_seq, f.path, f.digest, f.module, f.last_commit
  from jsonb_to_recordset(p_record -> 'files') as f(path text, digest text, module text, last_commit text)
  on conflict (tenant, project_seq, path) do nothing;
  return found;
end;
$$;
comment on function pgmem.import_files is 'Store the files of a project as a record of an export has them; whether one is new.';
