-- Card refresh
--
-- Bring the cards of a project to a report. First the report's own cards are met with those stored by identity: new
-- ones are inserted, changed ones rewritten, approved ones that now contradict the repository made stale, and those
-- that a person took out of use left alone. Then every card follows its anchors, the digests of the files it rests
-- on: an equal digest keeps or restores it, another one makes it stale, a deleted file makes it historical. At
-- last the edges between modules and tests are brought to the report. A run is one transaction: all of it
-- or nothing.
--
-- Without `complete` a report speaks only of the files it holds, and of those that it calls `removed`, if it does; with
-- it, files that it does not hold was deleted. A file that was renamed takes the cards of people and agents with it.
-- Functions here read node directly, by the tenant of the place.
--
-- Locks: the scope lock of the cards, before the first read.


create or replace function pgmem.refresh_card(
  p_card pgmem.report_card,
  p_node pgmem.node,
  p_by text,
  p_draft boolean default false
) returns text
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_same boolean := p_node.props ->> 'fingerprint' = p_card.fingerprint;
begin
  if p_node.status in ('rejected', 'archived', 'superseded', 'merged', 'expired') then
    return 'decided';
  elsif v_same and p_node.status = p_card.status and p_node.props -> 'details' = p_card.details then
    return 'unchanged';
  elsif p_node.props ? 'approved_by' and p_card.status = 'draft' then
    return 'decided';
  elsif p_draft then
    -- A report of an agent changes no card that a person or a scan has made.
    return 'decided';
  end if;
  if v_same then
    -- The statement holds, whatever made the card stale: a restored file restores its card.
    perform pgmem.change_card(p_node, p_card.status,
      jsonb_build_object('stale_reason', null, 'contradiction', null, 'details', p_card.details),
      case p_node.status when p_card.status then 'refresh' else 'reactivate' end, p_by);
    return case p_node.status when p_card.status then 'updated' else 'reactivated' end;
  elsif p_node.props ? 'approved_by' then
    if (p_node.status, p_node.props ->> 'contradiction') is distinct from ('stale', p_card.statement) then
      perform pgmem.change_card(p_node, 'stale', jsonb_build_object(
          'stale_reason', 'refresh_content_contradiction', 'contradiction', p_card.statement),
        'contradict', p_by, 'the repository now says: ' || p_card.statement);
    end if;
    return 'contradicted';
  end if;
  delete from pgmem.card_subject s where s.node_seq = p_node.seq;
  perform pgmem.add_subjects(p_node, p_card.subjects, 0);
  p_node.source := 'sync';
  perform pgmem.change_card(p_node, p_card.status,
    jsonb_build_object('statement', p_card.statement, 'details', p_card.details, 'fingerprint', p_card.fingerprint,
      'stale_reason', null) || pgmem.subject_words(p_card.subjects), 'refresh', p_by);
  perform pgmem.weigh_card(p_node.seq);
  return 'updated';
end;
$$;
comment on function pgmem.refresh_card is
  'Meet a card of a report with the one stored: decided, unchanged, updated, reactivated or contradicted.';


-- Looked up one by one, the cards of a large report are read again and again: until the table is analysed, an index of
-- the scope alone seems as good as that of scope and identity.
create or replace function pgmem.card_seqs(p_place pgmem.node) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select coalesce(jsonb_object_agg(n.content_hash, n.seq order by n.seq), '{}')
  from pgmem.node n
  where n.label = 'Card' and n.scope_key = (p_place).scope_key and n.tenant || '' = (p_place).tenant
    and n.content_hash is not null
$$;
comment on function pgmem.card_seqs is 'The newest card of each identity in a scope.';


create or replace function pgmem.refresh_cards(
  p_cards pgmem.report_card[],
  p_place pgmem.node,
  p_by text,
  p_draft boolean default false
) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_max     integer := pgmem.setting_int('max_records');
  -- A tenth of the room is kept for cards of people and agents.
  v_room    integer := pgmem.card_room(p_place, null, v_max) - v_max / 10;
  v_drafts  integer := pgmem.card_room(p_place, 'draft', pgmem.setting_int('max_candidates') / 2);
  v_skip    boolean := pgmem.setting_text('cards_over_capacity') = 'skip';
  v_counts  jsonb := '{"inserted": 0, "updated": 0, "unchanged": 0, "reactivated": 0, "contradicted": 0, "decided": 0,
                       "over_capacity": 0}';
  v_known   jsonb := pgmem.card_seqs(p_place);
  v_twice   text[] := array(select c.identity from unnest(p_cards) c group by 1 having count(*) > 1);
  v_outcome text;
  v_card    pgmem.report_card;
  v_node    pgmem.node;
begin
  foreach v_card in array p_cards loop
    if v_card.identity = any (v_twice) then
      v_known := pgmem.card_seqs(p_place);
    end if;
    select n.* into v_node from pgmem.node n where n.seq = (v_known ->> v_card.identity)::bigint;
    if found then
      v_outcome := pgmem.refresh_card(v_card, v_node, p_by, p_draft);
    elsif v_card.status = 'draft' and not p_draft and v_drafts <= 0 then
      v_outcome := 'over_capacity';
    elsif v_room > 0 then
      v_room := v_room - 1;
      v_drafts := v_drafts - (v_card.status = 'draft')::integer;
      v_node := p_place;
      v_node.id := gen_random_uuid();
      v_node.status := case when p_draft then 'draft' else v_card.status end;
      -- The words are those of files and commits, which anybody may have written.
      v_node.source := case when p_draft then v_node.source else 'sync' end;
      v_node.props := jsonb_build_object('record_type', v_card.record_type, 'statement', v_card.statement,
        'confidence', case when p_draft or v_card.status = 'draft' then 'inferred' else 'supported' end,
        'origin', case when p_draft then 'agent' else 'system' end, 'ingest_source', v_card.ingest_source,
        'path', v_card.path, 'facet', v_card.facet, 'details', v_card.details, 'fingerprint', v_card.fingerprint);
      perform pgmem.insert_card(v_node, v_card.identity, v_card.subjects, v_card.evidence, 'refresh', p_by);
      v_outcome := 'inserted';
    elsif v_skip then
      v_outcome := 'over_capacity';
    else
      raise exception using errcode = 'PM009', message = format('max_records_reached: %s/%s', v_max, v_max),
        hint = 'A person raises max_records, makes room by pgmem cards vacuum, or sets cards_over_capacity to skip.';
    end if;
    v_counts := v_counts || jsonb_build_object(v_outcome, (v_counts ->> v_outcome)::integer + 1);
  end loop;
  return v_counts;
end;
$$;
comment on function pgmem.refresh_cards is
  'Insert the new cards of a report and meet the others with those stored; how many came to which outcome.';


create or replace function pgmem.is_gone(p_report jsonb, p_path text) returns boolean
language sql immutable set search_path = pgmem, pg_temp as $$
  select not coalesce(p_report -> 'files', '{}') ? p_path
    and (coalesce((p_report ->> 'complete')::boolean, false) or coalesce(p_report -> 'removed', '[]') ? p_path);
$$;
comment on function pgmem.is_gone is 'Whether a report says that a path is not a file any more.';


create or replace function pgmem.report_renames(p_place pgmem.node, p_report jsonb) returns table (
  old_path text,
  new_path text
)
language sql stable set search_path = pgmem, pg_temp as $$
  select r.key, r.value from jsonb_each_text(coalesce(p_report -> 'renames', '{}')) r
  union
  -- One that is not committed yet is known by its content, if one file only has it.
  select f.path, min(e.key)
  from pgmem.card_file f
  join jsonb_each_text(coalesce(p_report -> 'files', '{}')) e on e.value = f.digest
  where f.tenant = p_place.tenant and f.project_seq = p_place.project_seq and pgmem.is_gone(p_report, f.path)
    and not coalesce(p_report -> 'renames', '{}') ? f.path
    and not exists (
      select from pgmem.card_file k
      where k.tenant = f.tenant and k.project_seq = f.project_seq and k.path = e.key)
  group by f.path having count(*) = 1;
$$;
comment on function pgmem.report_renames is 'The files that a report knows under another name than before.';


create or replace function pgmem.carry_card(
  p_node pgmem.node,
  p_new_path text,
  p_place pgmem.node,
  p_report jsonb,
  p_by text
) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_old      text := p_node.props ->> 'path';
  v_old_name text := replace(substr(pgmem.module_match(v_old), 2), '/', '.');
  v_module   text := (select m.module from pgmem.report_modules(p_report) m where m.path = p_new_path);
  v_symbols  text[];
  v_subjects jsonb;
begin
  select coalesce(f.module, v_old_name) into v_old_name from pgmem.card_file f
  where f.tenant = p_place.tenant and f.project_seq = p_place.project_seq and f.path = v_old;
  v_symbols := array(
    select case when starts_with(s.key, v_old_name || '.') and v_module is not null
                then v_module || substr(s.key, length(v_old_name) + 1) else s.key end
    from pgmem.card_subject s where s.node_seq = p_node.seq and s.kind = 'symbol');
  v_subjects := pgmem.path_subjects(p_new_path, v_module, v_symbols);
  delete from pgmem.card_subject s where s.node_seq = p_node.seq;
  perform pgmem.add_subjects(p_node, v_subjects, 0);
  update pgmem.card_evidence x set ref = p_new_path || substr(x.ref, length(v_old) + 1)
  where x.node_seq = p_node.seq and x.kind in ('code', 'test', 'doc')
    and (x.ref = v_old or starts_with(x.ref, v_old || '#'))
    and not exists (
      select from pgmem.card_evidence o
      where o.node_seq = x.node_seq and o.kind = x.kind and o.ref = p_new_path || substr(x.ref, length(v_old) + 1));
  p_node.content_hash := pgmem.card_identity(
    p_node.props ->> 'record_type', p_new_path, p_node.props ->> 'statement');
  perform pgmem.change_card(p_node, p_node.status,
    jsonb_build_object('path', p_new_path, 'path_before', v_old) || pgmem.subject_words(v_subjects),
    'rename', p_by, format('%s is %s now', v_old, p_new_path));
  perform pgmem.weigh_card(p_node.seq);
end;
$$;
comment on function pgmem.carry_card is
  'Let a card follow its file to another name: path, subjects, evidence, identity.';


create or replace function pgmem.carry_cards(p_place pgmem.node, p_report jsonb, p_by text) returns integer
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_carried integer := 0;
  v_renamed record;
begin
  for v_renamed in
    select n, r.new_path from pgmem.report_renames(p_place, p_report) r
    join pgmem.node n on n.label = 'Card' and n.scope_key = p_place.scope_key and n.tenant || '' = p_place.tenant
      and n.props ->> 'path' = r.old_path
    where n.status in ('draft', 'active', 'stale', 'historical')
      and (n.props ->> 'origin' <> 'system' or n.props ? 'approved_by')
      and not coalesce(p_report -> 'files', '{}') ? r.old_path
      and (coalesce(p_report -> 'files', '{}') ? r.new_path or exists (
        select from pgmem.card_file f
        where f.tenant = p_place.tenant and f.project_seq = p_place.project_seq and f.path = r.new_path))
    order by n.seq
  loop
    perform pgmem.carry_card(v_renamed.n, v_renamed.new_path, p_place, p_report, p_by);
    v_carried := v_carried + 1;
  end loop;
  return v_carried;
end;
$$;
comment on function pgmem.carry_cards is
  'Let the cards of people and agents follow renamed files, before the files of the report are remembered.';


create or replace function pgmem.remember_files(p_place pgmem.node, p_report jsonb) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  delete from pgmem.card_file f
  where f.tenant = p_place.tenant and f.project_seq = p_place.project_seq and pgmem.is_gone(p_report, f.path);
  insert into pgmem.card_file as f (org_id, user_id, project_seq, path, digest, module, last_commit, symbols, terms)
  select p_place.org_id, p_place.user_id, p_place.project_seq, pgmem.clean_path(e.key), e.value, m.module,
    m.last_commit, case jsonb_typeof(m.symbols) when 'object' then m.symbols else '{}' end,
    coalesce(string_to_array(nullif(t.value, ''), ' '), '{}')
  from jsonb_each_text(coalesce(p_report -> 'files', '{}')) e
  left join jsonb_each_text(coalesce(p_report -> 'terms', '{}')) t on t.key = e.key
  left join (
    select distinct on (m.path) m.*
    from jsonb_to_recordset((p_report -> 'modules') || coalesce(p_report -> 'tests', '[]')) as m(path text, module text, last_commit text, symbols jsonb)
    order by m.path, m.module nulls last) m on m.path = e.key
  on conflict (tenant, project_seq, path) do update
    set digest = excluded.digest, module = excluded.module, last_commit = excluded.last_commit,
        symbols = excluded.symbols, terms = excluded.terms
    where (f.digest, f.module, f.last_commit, f.symbols, f.terms)
      is distinct from (excluded.digest, excluded.module, excluded.last_commit, excluded.symbols, excluded.terms);
end;
$$;
comment on function pgmem.remember_files is 'Store the files of a project as this run saw them.';


create or replace function pgmem.refresh_evidence(
  p_cards pgmem.report_card[],
  p_place pgmem.node,
  p_report jsonb,
  p_by text
) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_known jsonb := pgmem.card_seqs(p_place);
begin
  -- The evidence of the report's own cards moves with the report, unless the report contradicts an approved statement.
  delete from pgmem.card_evidence x using pgmem.node n, unnest(p_cards) c
  where x.node_seq = n.seq and n.seq = (v_known ->> c.identity)::bigint
    and n.status = 'active' and n.props ->> 'fingerprint' = c.fingerprint
    and x.kind in ('code', 'test', 'doc', 'git_commit')
    and not exists (
      select from jsonb_to_recordset(c.evidence) as e(kind text, ref text) where e.kind = x.kind and e.ref = x.ref);
  insert into pgmem.card_evidence as x (node_seq, kind, ref, digest, seen_digest, added_by, created_at)
  select n.seq, e.kind, e.ref, e.digest, e.digest, p_by, pgmem.now()
  from unnest(p_cards) c
  join pgmem.node n on n.seq = (v_known ->> c.identity)::bigint
    and n.status = 'active' and n.props ->> 'fingerprint' = c.fingerprint
  cross join lateral jsonb_to_recordset(c.evidence) as e(kind text, ref text, digest text)
  on conflict (node_seq, kind, ref) do update set digest = excluded.digest, seen_digest = excluded.seen_digest
    where (x.digest, x.seen_digest) is distinct from (excluded.digest, excluded.seen_digest);

  -- For all other evidence only the digest last seen moves; the anchor stays where a person or an agent put it. Evidence
  -- path#symbol is that of a symbol of the file.
  update pgmem.card_evidence x set seen_digest = case when x.ref = f.path then f.digest
    else f.symbols ->> substr(x.ref, length(f.path) + 2) end
  from pgmem.node n, pgmem.card_file f
  where n.seq = x.node_seq and n.label = 'Card' and n.scope_key = p_place.scope_key and n.tenant || '' = p_place.tenant
    and x.kind in ('code', 'test', 'doc') and f.tenant = p_place.tenant and f.project_seq = p_place.project_seq
    and f.path = split_part(x.ref, '#', 1) and coalesce(p_report -> 'files', '{}') ? f.path
    and x.seen_digest is distinct from
      case when x.ref = f.path then f.digest else f.symbols ->> substr(x.ref, length(f.path) + 2) end;
  update pgmem.card_evidence x set seen_digest = null
  from pgmem.node n
  where n.seq = x.node_seq and n.label = 'Card' and n.scope_key = p_place.scope_key and n.tenant || '' = p_place.tenant
    and x.kind in ('code', 'test', 'doc') and x.seen_digest is not null and x.digest is not null
    and pgmem.is_gone(p_report, split_part(x.ref, '#', 1));
end;
$$;
comment on function pgmem.refresh_evidence is
  'Bring evidence to a report: that of the cards it made as a whole, that of others as far as files were seen.';


create or replace function pgmem.follow_anchors(
  p_place pgmem.node,
  p_report jsonb,
  p_by text,
  out stale integer,
  out historical integer,
  out restored integer
)
language plpgsql set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_complete boolean := coalesce((p_report ->> 'complete')::boolean, false);
  v_files    jsonb := coalesce(p_report -> 'files', '{}');
  v_found    record;
  v_node     pgmem.node;
begin
  stale := 0; historical := 0; restored := 0;
  for v_found in
    select n.seq, n.status, n.props ->> 'stale_reason' as reason, case
        when bool_or(x.seen_digest is null and (x.ref not like '%#%' or not v_files ? split_part(x.ref, '#', 1)))
          then 'historical'
        when bool_or(x.seen_digest is distinct from x.digest) then 'stale'
        else 'active' end as becomes,
      case when bool_or(x.seen_digest is null) then 'symbol_gone' else 'subject_fingerprint_drift' end as why
    from pgmem.node n
    join pgmem.card_evidence x on x.node_seq = n.seq and x.digest is not null and x.kind in ('code', 'test', 'doc')
    where n.label = 'Card' and n.scope_key = p_place.scope_key and n.tenant || '' = p_place.tenant
      and n.status in ('active', 'stale', 'historical')
      and n.props ->> 'origin' <> 'system'
      and (not n.props ? 'branch' or n.props ->> 'branch' = p_report ->> 'branch')
      and (v_complete or v_files ? split_part(x.ref, '#', 1) or pgmem.is_gone(p_report, split_part(x.ref, '#', 1)))
    group by n.seq, n.status, n.props order by n.seq
  loop
    if v_found.status <> v_found.becomes
        or v_found.becomes = 'stale' and v_found.reason is distinct from v_found.why then
      select n.* into v_node from pgmem.node n where n.seq = v_found.seq;
      perform pgmem.change_card(v_node, v_found.becomes, jsonb_build_object('stale_reason',
          case v_found.becomes when 'stale' then v_found.why end),
        case v_found.becomes when 'active' then 'reactivate' else v_found.becomes end, p_by);
      case v_found.becomes
        when 'active' then restored := restored + 1;
        when 'stale' then stale := stale + 1;
        else historical := historical + 1;
      end case;
    end if;
  end loop;
end;
$$;
comment on function pgmem.follow_anchors is
  'Let the cards of people and agents follow their anchors; drafts and cards without an anchor stay as they are.';


create or replace function pgmem.retire_cards(
  p_cards pgmem.report_card[],
  p_place pgmem.node,
  p_report jsonb,
  p_by text,
  out stale integer,
  out historical integer
)
language plpgsql set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_files jsonb := coalesce(p_report -> 'files', '{}');
  v_node  pgmem.node;
begin
  stale := 0; historical := 0;
  if not coalesce((p_report ->> 'complete')::boolean, false) and not p_report ? 'removed' then
    return;
  end if;
  for v_node in
    select n.* from pgmem.node n
    where n.label = 'Card' and n.scope_key = p_place.scope_key and n.tenant || '' = p_place.tenant
      and n.status in ('active', 'stale')
      and n.props ->> 'origin' = 'system'
      and ((p_report ->> 'complete')::boolean or v_files ? (n.props ->> 'path')
        or p_report -> 'removed' ? (n.props ->> 'path'))
      and n.content_hash not in (select c.identity from unnest(p_cards) c)
      -- A reason that a person has approved stays when its commit is no longer among the newest.
      and not (n.props ? 'approved_by' and n.props ->> 'facet' ~ '^(reason|rule):'
               and v_files ? (n.props ->> 'path'))
    order by n.seq
  loop
    if not v_node.props ? 'approved_by' and v_node.props ->> 'facet' ~ '^(reason:|hotspot|surface|todo)' then
      -- Newer commits explain the file, or nothing gives such a reason any more.
      perform pgmem.delete_node(v_node.seq);
    elsif not v_files ? (v_node.props ->> 'path') then
      perform pgmem.change_card(v_node, 'historical', '{"stale_reason": null}', 'historical', p_by, 'its file was deleted');
      historical := historical + 1;
    elsif v_node.status = 'active' or v_node.props ->> 'stale_reason' is distinct from 'missing_from_refresh' then
      perform pgmem.change_card(v_node, 'stale', '{"stale_reason": "missing_from_refresh"}', 'stale', p_by);
      stale := stale + 1;
    end if;
  end loop;
end;
$$;
comment on function pgmem.retire_cards is
  'Make cards that a complete report no longer gives stale, or historical if their file was deleted.';


create or replace function pgmem.refresh_anchors(
  p_cards pgmem.report_card[],
  p_place pgmem.node,
  p_report jsonb,
  p_by text
) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_carried  integer;
  v_followed record;
  v_retired  record;
begin
  v_carried := pgmem.carry_cards(p_place, p_report, p_by);
  perform pgmem.remember_files(p_place, p_report);
  perform pgmem.refresh_evidence(p_cards, p_place, p_report, p_by);
  v_followed := pgmem.follow_anchors(p_place, p_report, p_by);
  v_retired := pgmem.retire_cards(p_cards, p_place, p_report, p_by);
  return jsonb_build_object('stale', v_followed.stale + v_retired.stale,
    'historical', v_followed.historical + v_retired.historical, 'anchors_restored', v_followed.restored,
    'carried', v_carried);
end;
$$;
comment on function pgmem.refresh_anchors is
  'Let all cards follow the files of a report, after refresh_cards; how many became stale, historical or active again.';


-- The number of rows is said here, because a planner without statistics expects one, and would read all cards for each.
create or replace function pgmem.scope_cards(p_place pgmem.node) returns table (
  seq bigint,
  status text,
  identity text
)
language plpgsql stable rows 10000 set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
begin
  return query
  select n.seq, n.status::text, n.content_hash::text from pgmem.node n
  where n.label = 'Card' and n.scope_key = p_place.scope_key and n.tenant || '' = p_place.tenant;
end;
$$;
comment on function pgmem.scope_cards is 'All cards of a scope with their identity, for a join with those of a report.';


-- One statement for all edges, so that the graph is projected once.
create or replace function pgmem.refresh_links(p_cards pgmem.report_card[], p_place pgmem.node) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_gone integer;
  v_made integer;
begin
  -- Each difference is an except, which hashes: cards and edges come in thousands, however few the planner expects.
  with card as materialized (
    select k.seq, k.status, k.identity from pgmem.scope_cards(p_place) k
  ), source as materialized (
    select k.seq, k.status, c.links from unnest(p_cards) c join card k on k.identity = c.identity
  ), wanted as materialized (
    select distinct s.seq as src, l.rel, k.seq as dst
    from source s cross join lateral jsonb_to_recordset(s.links) as l(rel text, path text, type text, facet text)
    join card k on k.identity =
      pgmem.card_identity('system:' || coalesce(l.type, 'module_role'), l.path, coalesce(l.facet, 'role'))
    -- A record that was replaced itself still replaces the one before it.
    where (s.status in ('active', 'stale') or s.status = 'superseded' and l.rel = 'SUPERSEDES')
      and k.status in ('active', 'stale', 'superseded') and k.seq <> s.seq
  ), stored as materialized (
    select e.src, e.rel, e.dst, e.props ->> 'by' = 'refresh' as is_ours
    from source s cross join lateral (select * from pgmem.edge e where e.src = s.seq offset 0) e
  ), gone as (
    delete from pgmem.edge e
    using (select src, rel, dst from stored where is_ours except select src, rel, dst from wanted) g
    where (e.src, e.rel, e.dst) = (g.src, g.rel, g.dst)
    returning 1
  ), made as (
    insert into pgmem.edge (src, rel, dst, props, created_at)
    select w.src, w.rel, w.dst, '{"by": "refresh"}', pgmem.now()
    from (select src, rel, dst from wanted except select src, rel, dst from stored) w
    order by w.src, w.dst, w.rel
    on conflict (src, rel, dst) do nothing returning 1
  )
  select (select count(*) from gone), (select count(*) from made) into v_gone, v_made;
  return jsonb_build_object('links_made', v_made, 'links_removed', v_gone);
end;
$$;
comment on function pgmem.refresh_links is
  'Bring DEPENDS_ON between modules and TESTS to a report; links that callers of relate made stay.';


create or replace function pgmem.refresh_report(
  p_report jsonb,
  p_project_id text,
  p_dry_run boolean,
  p_share text,
  p_draft boolean,
  out run_id uuid,
  out counts jsonb,
  out capacity text,
  out skipped jsonb,
  out cards jsonb
)
language plpgsql
set search_path = pgmem, pg_temp
-- The first run plans its statements while the tables are empty, and keeps the plans until they hold all cards.
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_by     text := pgmem.card_writer(v_caller);
  v_scope  pgmem.scope_state;
  v_place  pgmem.node;
  v_cards  pgmem.report_card[];
begin
  perform pgmem.check_report(p_report);
  select coalesce(array_agg(c order by c.place), '{}') into v_cards
  from pgmem.report_cards(p_report) c;
  if p_dry_run then
    cards := (select coalesce(jsonb_agg(jsonb_build_object('type', c.record_type, 'path', c.path,
        'statement', c.statement, 'subjects', c.subjects, 'evidence', c.evidence, 'links', c.links,
        'details', c.details) order by c.place), '[]') from unnest(v_cards) c);
    skipped := coalesce(p_report -> 'skipped', '[]');
    if not (pgmem.resolve_scope(v_caller, p_project_id, null)).project_exists then
      -- A project that is not there yet can be looked at, and is not made by that.
      counts := jsonb_build_object('inserted', cardinality(v_cards));
      return;
    end if;
  end if;
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  v_place := pgmem.place_card(v_scope, v_caller, p_share);
  perform pgmem.lock_scope(v_place.scope_key);
  if p_report ? 'base' and p_report ->> 'base' is distinct from
      pgmem.cards_sync(v_caller.tenants, v_scope.project_seq) ->> 'fingerprint' then
    raise exception using errcode = 'PM010',
      message = 'This incremental report is not based on the last one; send a complete report.';
  end if;
  skipped := case when jsonb_typeof(p_report -> 'skipped') = 'array' then p_report -> 'skipped' else '[]' end;
  begin
    if p_draft then
      perform pgmem.require_draft_room(v_place, 1);
      counts := pgmem.refresh_cards(v_cards, v_place, v_by, true)
        || '{"stale": 0, "historical": 0, "anchors_restored": 0, "carried": 0, "links_made": 0, "links_removed": 0}';
    else
      counts := pgmem.refresh_cards(v_cards, v_place, v_by);
      counts := counts || pgmem.refresh_anchors(v_cards, v_place, p_report, v_by);
      counts := counts || pgmem.refresh_links(v_cards, v_place);
      if pgmem.remember_commits(v_place, p_report) then
        perform pgmem.build_trajectories(v_place);
      end if;
    end if;
    perform pgmem.touch_cards(v_place.org_id, v_place.user_id, v_place.project_seq);
    insert into pgmem.card_run as r (org_id, user_id, project_seq, fingerprint, commit_id, complete, counts, created_at)
    values (v_place.org_id, v_place.user_id, v_scope.project_seq, nullif(p_report ->> 'fingerprint', ''),
      nullif(p_report ->> 'commit', ''), coalesce((p_report ->> 'complete')::boolean, false),
      refresh_report.counts, pgmem.clock())
    returning r.id into run_id;
    if p_dry_run then
      -- Rolls back to the savepoint of this block; variables keep the counts.
      raise exception using errcode = 'PM098';
    end if;
  exception when sqlstate 'PM098' then
    run_id := null;
  end;
  if (counts ->> 'over_capacity')::integer > 0 then
    capacity := format('No room for %s of this run: a scan fills nine tenths of max_records, and drafts half of '
      'max_candidates, which a person raises by pgmem config set.', case counts ->> 'over_capacity' when '1' then '1 card'
      else (counts ->> 'over_capacity') || ' cards' end);
    skipped := skipped || to_jsonb(capacity);
  end if;
end;
$$;
comment on function pgmem.refresh_report is
  'Bring the cards of a project to a report; with p_draft, new cards are drafts and nothing else changes.';


select pgmem.declare_answer('reported_card', $$
A card that a run would create.

type text, path text?, statement text, subjects object[] = {}
$$);

select pgmem.declare_answer('card_refresh', $$
The changes of a run: counts, what was left out, and in a dry run the cards that it would create.

run_id uuid?, counts {integer} = {}, capacity text?, skipped [text] = {}, cards reported_card[]?
$$);

create or replace function pgmem.refresh_from_run(
  p_report jsonb,
  p_project_id text,
  p_dry_run boolean default false,
  p_share pgmem.sharing default null
) returns pgmem.card_refresh
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.card_refresh;
begin
  select r.run_id, r.counts, r.capacity, r.skipped, r.cards into v_answer
  from pgmem.refresh_report(p_report, p_project_id, p_dry_run, p_share, false) r;
  return v_answer;
end;
$$;
comment on function pgmem.refresh_from_run is $$
Bring the cards of a project to a report of its repository, as `pgmem.features.cards` makes one.

`counts` says how many cards were inserted, updated, unchanged, reactivated, contradicted, left to a
decision, over capacity, stale or historical, and how many links were made and removed. With dry_run,
`cards` holds the cards of the report and nothing is written.

The report of an agent, over MCP or as a bound login, becomes drafts for a person to approve or reject. It changes no
other card, file or link, whatever the report claims.

report: An object with modules, and optionally tests, files, fingerprint, commit,
  complete and skipped; docs/how-to/keep-engineering-cards.md shows one.

ContractError: the report cannot be read (the message describes one); no such project.
CapacityReached: the project is full and `cards_over_capacity` is `reject`; nothing was written.
$$;
select pgmem.declare_verb('refresh_from_run', p_rights => 'writer', p_effect => 'repeat', p_answer => 'CardRefresh',
  p_patience => 'rebuild');
