-- Replacements that nobody has said
--
-- A decision takes the place of another by the likeness of their titles (29-save-decision). Where each title has a word that
-- the other lacks, they may be of two things, so the relation keeps how near they are and the lexemes that the old title has
-- alone (likeness), until somebody says which holds (settle_conflict, beside). Such a replacement is listed for a person,
-- and a search that names one of these lexemes brings the old decision beside the others, marked by the one that holds.
--
-- Both look-ups go by the relation (edge_likened, edge_replaced_words), those of the last days of a project by its newest
-- decisions: there are as few as such replacements, whatever the size of the store.
--
-- Locks: none.


select pgmem.declare_answer('replacement', $$
A decision that took the place of another because their titles are alike; nobody has said that it does.

id uuid, title text, by text, project text?, old_id uuid, old_title text, old_by text, old_date date, score float8
words text[] = {}: The stems that the old title has alone.
created_at timestamptz
$$);

create or replace function pgmem.list_replacements(
  p_project_id text default null,
  p_id uuid default null,
  p_days integer default null,
  p_limit pgmem.row_limit default 50
) returns setof pgmem.replacement
language plpgsql stable security definer set search_path = pgmem, pg_temp
set plan_cache_mode = force_custom_plan set enable_seqscan = off as $$
declare
  v_project bigint := pgmem.find_project(p_project_id);
  v_tenants text[] := pgmem.visible_tenants();
  v_since   timestamptz := pgmem.now() - make_interval(days => p_days);
  v_newest  bigint[];
begin
  if p_days < 0 then
    raise exception using errcode = 'PM001', message = 'days must be 0 or more; leave it out for all.';
  end if;
  if v_project is not null and p_days is not null then
    v_newest := array(
      select n.seq from pgmem.node n
      where n.project_seq = v_project and n.tenant = any (v_tenants) and n.label = 'Decision' and n.created_at >= v_since
      order by n.created_at desc limit 200);
  end if;
  return query
  select r.id, r.title::text, coalesce(r.agent_id, pgmem.said_by(r.source, r.trust_level))::text, r.project::text, r.old_id,
         r.old_title::text, coalesce(r.old_agent_id, pgmem.said_by(r.old_source, r.old_trust_level))::text, r.old_date,
         (r.props ->> 'likeness')::float8, array(select jsonb_array_elements_text(r.props -> 'words')), r.created_at::timestamptz
  from pgmem.open_replacement r
  where (v_newest is null or r.src = any (v_newest)) and (v_project is null or r.project_seq = v_project)
    and (p_id is null or p_id in (r.id, r.old_id)) and (v_since is null or r.created_at >= v_since)
  order by r.seq desc limit p_limit;
end;
$$;
comment on function pgmem.list_replacements is $$
List the decisions that replaced another for the likeness of their titles alone.

The newest come first. Each of the two titles has a word that the other lacks, so they may be about two things. settle_conflict says that both hold,
that the new one holds, or the old one.

project_id: Only of this project; unset: of all.
id: Only those of this decision; unset: of all.
days: Only those of the last days; unset: all.

InvalidArgument: days is below 0.
$$;
select pgmem.declare_verb('list_replacements', p_rights => 'reader', p_effect => 'look', p_answer => 'list[Replacement]');


create or replace function pgmem.with_replaced(
  p_items jsonb[],
  p_lexemes text[],
  p_filter pgmem.search_filter,
  p_limit integer
) returns jsonb[]
language plpgsql stable set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_one   record;
  v_node  pgmem.node;
  v_place integer;
  v_near  jsonb;
begin
  for v_one in
    select e.dst, e.src from pgmem.edge e join pgmem.node n on n.seq = e.dst
    where e.rel = 'SUPERSEDES' and e.props ? 'likeness' and e.props -> 'words' ?| p_lexemes
      and n.tenant = any (p_filter.tenants) and n.status = 'superseded'
    order by e.seq desc limit 20
  loop
    select n.* into v_node from pgmem.node n where n.seq = v_one.dst;
    v_node.status := 'active';
    v_node.valid_to := null;
    continue when not pgmem.fits(v_node, p_filter) or not pgmem.fits_by_key(v_one.src, p_filter);
    v_place := (select min(i.place) from unnest(p_items) with ordinality as i(item, place)
                where i.item ->> 'id' = (select n.id::text from pgmem.node n where n.seq = v_one.src));
    v_place := coalesce(v_place, cardinality(p_items), 0);
    v_near := p_items[v_place];
    exit when p_limit = 1 and v_near is not null;
    p_items := (p_items[: v_place] || jsonb_build_object(
      'id', v_node.id, 'label', v_node.label, 'key', v_node.key, 'title', v_node.title,
      'passage', pgmem.excerpt((select s.searched_text from pgmem.searched_text(v_node.label, v_node.title, v_node.props) s)),
      'matched', array(select l from unnest(p_lexemes) as l where v_node.tsv @@ quote_literal(l)::tsquery and not pgmem.is_whole(l)),
      'project', v_node.project, 'scope', v_node.scope, 'score', coalesce((v_near ->> 'score')::float8 - 1e-6, 0),
      'relevance', (v_near ->> 'relevance')::float8, 'vector', null, 'fulltext', null, 'graph', null,
      'trust', v_node.trust_level, 'confidence', v_node.initial_confidence, 'explanation', null, 'created_at', v_node.created_at,
      'outdated_by', (select n.id from pgmem.node n where n.seq = v_one.src), 'sources', null,
      'by', pgmem.said_by(v_node.source, v_node.trust_level), 'copies', 1) || p_items[v_place + 1 :])[: p_limit];
  end loop;
  return p_items;
end;
$$;
comment on function pgmem.with_replaced is
  'The results of a search with the decisions that hold a lexeme of the query and were replaced by the likeness of their titles '
  'alone: each behind the one that replaced it, which its outdated_by names.';
