-- Cards
--
-- A card is a node with the label Card in the scope of its project, so that history, full text, vectors, the graph
-- and tenancy are those of every memory. Beside it are its subjects, its evidence
-- and its revisions (each change with its author and reason). Two cards are the same card when their identity is
-- equal: type, path and statement, or, for a card from a report, type, path and facet.
--
-- Invariants: a subject carries the status and the weight of its card, so that matching reads one index; the revision
-- in card_state grows with every transaction that changes a card of a project, so that a continuation knows whether
-- its list still holds. Triggers keep both (94-card-triggers), because revert, merge and adopt change cards too.
--
-- A card that was written on a branch names it (property branch) and its last commit there (branch_commit: ^ID means after
-- ID, as the branch has no commit yet). It is seen on that branch only, until the commit is in
-- the default branch: then it loses both and is shared.
--
-- Locks: the row of card_state, taken by the triggers after the scope lock that the callers hold.


select pgmem.declare_table('card_revision', 'node', '{node_seq}', p_shown_to => 'node', p_moves => 'always');
select pgmem.declare_table('card_subject', 'tenant', '{node_seq}', p_shown_to => 'node', p_moves => 'always', p_adopted => 'all');
select pgmem.declare_table('card_evidence', 'node', '{node_seq}', p_shown_to => 'node', p_moves => 'always');
-- The trigger of the cards that are adopted has begun a state of the new tenant.
select pgmem.declare_table('card_state', 'owner', p_moves => 'always', p_adopted => 'missing');
select pgmem.declare_table('card_run', 'owner', p_shown_to => 'tenant', p_moves => 'always', p_adopted => 'all',
  p_part => 'run', p_ordered_by => '{created_at,id}');
select pgmem.declare_table('card_file', 'owner', p_moves => 'always', p_adopted => 'missing',
  p_part => 'files', p_exported_by => 'file_records', p_imported_by => 'import_files');
select pgmem.declare_table('card_intent', 'owner', p_shown_to => 'tenant', p_moves => 'always', p_adopted => 'all',
  p_part => 'intent', p_ordered_by => '{declared_at,id}');
select pgmem.declare_table('card_commit', 'owner', p_moves => 'always', p_adopted => 'missing');


create or replace function pgmem.card_keys(p_caller pgmem.caller, p_project_seq bigint) returns bigint[]
language sql stable set search_path = pgmem, pg_temp as $$
  select coalesce(array_agg(pgmem.scope_key(tenant, p_project_seq::text, 'Card')), '{}')
  from unnest(p_caller.tenants) as tenant;
$$;
comment on function pgmem.card_keys is
  'The scope keys of the cards of a project that the caller may see: one for each visible tenant.';


create or replace function pgmem.elsewhere(p_tenants text[], p_keys bigint[], p_branch text) returns setof bigint
language sql stable rows 10 set search_path = pgmem, pg_temp as $$
  select n.seq from pgmem.node n
  where n.label = 'Card' and n.scope_key = any (p_keys) and n.tenant || '' = any (p_tenants) and n.props ? 'branch'
    and n.props ->> 'branch' is distinct from p_branch and p_branch is distinct from '*';
$$;
comment on function pgmem.elsewhere is
  'The cards that a caller on a branch does not see, as they are of other branches; null: the default branch, *: any.';


create or replace function pgmem.written_on(p_branch text, p_commit text) returns jsonb
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if p_branch = '*' or (p_branch is null) <> (p_commit is null) or p_commit !~ '^\^?[0-9a-f]{7,64}$' then
    raise exception using errcode = 'PM010', message = 'branch and branch_commit belong together: the name of a branch '
      'and the id of a commit, or ^ and the id of the commit that the branch begins at.';
  end if;
  return jsonb_strip_nulls(jsonb_build_object(
    'branch', pgmem.clean_key(p_branch, 'branch'), 'branch_commit', p_commit));
end;
$$;
comment on function pgmem.written_on is
  'The properties of a card that is written on a branch; empty: on the default one.';


create or replace function pgmem.place_card(
  p_scope pgmem.scope_state,
  p_caller pgmem.caller,
  p_share text
) returns pgmem.node
language sql set search_path = pgmem, pg_temp as $$
  select pgmem.place_node('Card', jsonb_strip_nulls(jsonb_build_object('scope', 'project', 'share', p_share)),
    p_scope, p_caller);
$$;
comment on function pgmem.place_card is 'An empty card of a project, stamped with its tenant.';


create or replace function pgmem.card_room(p_place pgmem.node, p_status text, p_most integer) returns integer
language sql set search_path = pgmem, pg_temp as $$
  -- The count stops at the limit, so that it costs the same however many cards there are.
  select p_most - count(*)::integer from (
    select from pgmem.node n
    where n.label = 'Card' and n.scope_key = (p_place).scope_key and n.tenant || '' = (p_place).tenant
      and (p_status is null or n.status = p_status)
    limit p_most) found;
$$;
comment on function pgmem.card_room is
  'How many more cards of a status (null: of any) fit under a limit. The caller holds the scope lock.';


create or replace function pgmem.make_card_room(p_place pgmem.node, p_new integer) returns integer
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_seq  bigint;
  v_made integer := 0;
begin
  for v_seq in
    select n.seq from pgmem.node n
    where n.label = 'Card' and n.scope_key = p_place.scope_key and n.tenant || '' = p_place.tenant
      and n.props ->> 'origin' = 'system'
      and not n.props ? 'approved_by' and n.status in ('active', 'stale', 'historical')
    order by array_position(array['historical', 'stale', 'active'], n.status),
      coalesce(array_position(array['owners', 'role', 'history', 'cochange'],
        n.props ->> 'facet'), 9), n.updated_at, n.seq
    limit p_new
  loop
    perform pgmem.delete_node(v_seq);
    v_made := v_made + 1;
  end loop;
  return v_made;
end;
$$;
comment on function pgmem.make_card_room is
  'Remove the least valuable cards that a scan has made, as many as asked for; how many went.';


create or replace function pgmem.require_draft_room(p_place pgmem.node, p_new integer) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_drafts  integer := pgmem.setting_int('max_candidates');
  v_records integer := pgmem.setting_int('max_records');
  v_room    integer := pgmem.card_room(p_place, 'draft', v_drafts);
begin
  if v_room < p_new then
    raise exception using errcode = 'PM009',
      message = format('max_candidates_reached: %s/%s', v_drafts - v_room, v_drafts),
      hint = 'A person decides the drafts: pgmem cards review.';
  end if;
  v_room := pgmem.card_room(p_place, null, v_records);
  if v_room < p_new and v_room + pgmem.make_card_room(p_place, p_new - v_room) < p_new then
    raise exception using errcode = 'PM009',
      message = format('max_records_reached: %s/%s', v_records - v_room, v_records),
      hint = 'A person makes room: pgmem cards vacuum.';
  end if;
end;
$$;
comment on function pgmem.require_draft_room is
  'Raise CapacityReached if some new drafts do not fit, even instead of cards of a scan. Under the scope lock.';


create or replace function pgmem.card_writer(p_caller pgmem.caller) returns text
language sql stable set search_path = pgmem, pg_temp as $$
  -- In SQL a person is who decides there: any other login may be a program's or an agent's.
  select coalesce((p_caller).agent_id,
    case when (p_caller).source = 'cli' or (p_caller).source = 'sql' and pgmem.decides(p_caller) then 'human' else 'agent' end);
$$;
comment on function pgmem.card_writer is
  'The author of a change as revisions and evidence name it: the id of the agent, agent, or human.';


create or replace function pgmem.path_subjects(
  p_path text,
  p_module text default null,
  p_symbols text[] default '{}'
) returns jsonb
language sql immutable set search_path = pgmem, pg_temp as $$
  select jsonb_build_array(jsonb_build_object('kind', 'path', 'key', p_path, 'relation', 'about', 'match', p_path))
    || case when p_path like '%.py' then jsonb_build_array(jsonb_build_object('kind', 'module',
         'key', coalesce(p_module, replace(substr(pgmem.module_match(p_path), 2), '/', '.')),
         'relation', 'about', 'match', pgmem.module_match(p_path))) else '[]' end
    || coalesce((
         select jsonb_agg(jsonb_build_object('kind', 'symbol', 'key', symbol, 'relation', 'about',
           'match', '#' || symbol) order by symbol)
         from (select distinct btrim(s) as symbol from unnest(p_symbols) s where btrim(s) <> '') named), '[]');
$$;
comment on function pgmem.path_subjects is
  'The subjects of a card about a file: its path, its module and the symbols given.';


create or replace function pgmem.subject_words(p_subjects jsonb) returns jsonb
language sql immutable set search_path = pgmem, pg_temp as $$
  -- Full-text search takes pkg/mod.py for one word; its parts are put beside it.
  select jsonb_build_object(
    'paths', coalesce(jsonb_agg(key order by key) filter (where match !~ '^[:#]'), '[]')
      || coalesce(jsonb_agg(words order by words) filter (where match !~ '^[:#]'), '[]'),
    'symbols', coalesce(jsonb_agg(key order by key) filter (where match ~ '^[:#]'), '[]')
      || coalesce(jsonb_agg(words order by words) filter (where match ~ '^#'), '[]'))
  from (select distinct s.key, s.match, regexp_replace(s.key, '[^[:alnum:]]+', ' ', 'g') as words
        from jsonb_to_recordset(p_subjects) as s(key text, match text)) named;
$$;
comment on function pgmem.subject_words is
  'The names of a card''s subjects as its search text holds them: two properties, paths and symbols.';


create or replace function pgmem.add_subjects(p_node pgmem.node, p_subjects jsonb, p_weight float8) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  insert into pgmem.card_subject (node_seq, scope_key, tenant, kind, key, relation, match, status, weight)
  select p_node.seq, p_node.scope_key, p_node.tenant, s.kind, s.key, s.relation, s.match, p_node.status, p_weight
  from jsonb_to_recordset(p_subjects) as s(kind text, key text, relation text, match text)
  on conflict (node_seq, kind, key) do nothing;
end;
$$;
comment on function pgmem.add_subjects is
  'Add subjects to a card, with the weight it has or 0 where it is weighed afterwards; one twice is one row.';


create or replace function pgmem.add_evidence(p_node_seq bigint, p_evidence jsonb, p_by text) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_kinds constant text[] := array['code', 'test', 'doc', 'spec', 'receipt', 'git_commit', 'report', 'baseline',
                                   'cache', 'audit_event', 'trajectory', 'external_url'];
  v_count bigint;
begin
  perform pgmem.require_objects(coalesce(p_evidence, '[]'), 'evidence', '[{"kind": "code", "ref": "path", "digest": "…"}]', 'PM010');
  perform pgmem.require_word(e ->> 'kind', v_kinds, 'Invalid evidence kind: ''%s''. Allowed values: %s.')
  from jsonb_array_elements(p_evidence) e;
  if exists (select from jsonb_array_elements(p_evidence) e
             where length(coalesce(btrim(e ->> 'ref'), '')) not between 1 and 500) then
    raise exception using errcode = 'PM010',
      message = 'The ref of each piece of evidence must have 1 to 500 characters.';
  end if;
  insert into pgmem.card_evidence (node_seq, kind, ref, digest, seen_digest, added_by, created_at)
  select distinct on (e.kind, btrim(e.ref)) p_node_seq, e.kind, btrim(e.ref), e.digest, e.digest, p_by, pgmem.now()
  from jsonb_to_recordset(p_evidence) as e(kind text, ref text, digest text)
  on conflict (node_seq, kind, ref) do update
    set digest = excluded.digest, seen_digest = excluded.seen_digest, added_by = excluded.added_by;
  select count(*) into v_count from pgmem.card_evidence e where e.node_seq = p_node_seq;
  if v_count > pgmem.setting_int('max_card_evidence') then
    raise exception using errcode = 'PM010',
      message = format('A card holds at most %s pieces of evidence; this would be %s.',
        pgmem.setting_int('max_card_evidence'), v_count);
  end if;
end;
$$;
comment on function pgmem.add_evidence is 'Add evidence to a card: kind, ref and, for a file, its digest.';


create or replace function pgmem.card_certainty(p_confidence text) returns float8
language sql immutable parallel safe set search_path = pgmem, pg_temp as $$
  select case p_confidence when 'verified' then 1.0 when 'supported' then 0.8 else 0.5 end;
$$;
comment on function pgmem.card_certainty is 'The confidence of a card as the number that every memory has.';


create or replace function pgmem.card_title(p_props jsonb) returns text
language sql immutable parallel safe set search_path = pgmem, pg_temp as $$
  select pgmem.excerpt(case when strpos(p_props ->> 'statement', p_props ->> 'path') > 0 then '' else (p_props ->> 'path') || ': ' end
    || (p_props ->> 'statement'));
$$;
comment on function pgmem.card_title is 'The title of a card: its path, unless its statement names that, and its statement.';


create or replace function pgmem.card_weight(
  p_props jsonb,
  p_status text,
  p_evidence bigint,
  p_contradicted boolean
) returns float8
language sql immutable parallel safe set search_path = pgmem, pg_temp as $$
  select (case p_props ->> 'record_type' when 'contract_note' then 0.25 when 'document_link' then 0.2
            when 'public_surface' then 0.15 when 'risk_note' then 0.15 when 'test_anchor' then 0.15
            when 'contradiction_note' then 0.1 when 'module_role' then 0.1 else 0 end
    + case p_props ->> 'ingest_source' when 'git' then 0.1 when 'contract' then 0.08 when 'doc' then 0.06
        when 'test' then 0.05 when 'analysis' then 0.04 else 0 end
    + case p_props ->> 'confidence' when 'verified' then 0.15 when 'supported' then 0.1 else 0 end
    + case when p_props ? 'approved_by' then 0.1 else 0 end
    + least(0.1, 0.02 * p_evidence)
    + case p_status when 'draft' then 0.3 + case p_props ->> 'origin' when 'agent' then 0.05 else 0 end
        when 'stale' then -0.5 else 0 end
    + case when p_props ->> 'record_type' = 'module_role' and p_props ->> 'ingest_source' = 'receipt' then -0.65
        else 0 end
    + case when p_contradicted then -0.5 else 0 end)::float8;
$$;
comment on function pgmem.card_weight is
  'The part of a card''s rank that does not depend on the scope, as docs/explanation/engineering-memory.md lists it.';


-- Reads tables directly: the caller names a card that it found through a visible view.
create or replace function pgmem.weigh_card(p_seq bigint) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_status text;
  v_weight float8;
begin
  select n.status, pgmem.card_weight(n.props, n.status,
           (select count(*) from pgmem.card_evidence e where e.node_seq = n.seq),
           exists (select from pgmem.edge e where e.dst = n.seq and e.rel in ('CONTRADICTS', 'SUPERSEDES')))
  into v_status, v_weight from pgmem.node n where n.seq = p_seq;
  update pgmem.card_subject s set status = v_status, weight = v_weight
  where s.node_seq = p_seq and (s.status, s.weight) is distinct from (v_status, v_weight);
end;
$$;
comment on function pgmem.weigh_card is 'Bring the status and weight on the subjects of a card up to date.';


create or replace function pgmem.insert_card(
  p_node pgmem.node,
  p_identity text,
  p_subjects jsonb,
  p_evidence jsonb,
  p_action text,
  p_by text
) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  p_node.title := pgmem.card_title(p_node.props);
  p_node.content_hash := p_identity;
  p_node.initial_confidence := pgmem.card_certainty(p_node.props ->> 'confidence');
  p_node.props := p_node.props || pgmem.subject_words(p_subjects);
  p_node := pgmem.insert_node(p_node);
  perform pgmem.add_evidence(p_node.seq, p_evidence, p_by);
  -- A new card has no edges yet. Weighing it afterwards would write each of its subjects twice.
  perform pgmem.add_subjects(p_node, p_subjects, pgmem.card_weight(p_node.props, p_node.status,
    (select count(*) from pgmem.card_evidence e where e.node_seq = p_node.seq), false));
  perform pgmem.revise_card(p_node, p_action, null, p_by);
  perform pgmem.store_embedding(p_node);
  return p_node;
end;
$$;
comment on function pgmem.insert_card is
  'Store a card with its subjects, evidence and first revision; under the scope lock, after the check of capacity.';


create or replace function pgmem.change_card(
  p_node pgmem.node,
  p_status text,
  p_props jsonb,
  p_action text,
  p_by text,
  p_reason text default null
) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_from text := p_node.status;
  v_text text := p_node.props ->> 'statement';
begin
  p_node.status := p_status;
  p_node.props := jsonb_strip_nulls(p_node.props || p_props);
  p_node.title := pgmem.card_title(p_node.props);
  p_node.initial_confidence := pgmem.card_certainty(p_node.props ->> 'confidence');
  p_node := pgmem.update_node(p_node);
  if p_node.props ->> 'statement' is distinct from v_text then
    perform pgmem.store_embedding(p_node);
  end if;
  perform pgmem.revise_card(p_node, p_action, v_from, p_by, p_reason);
  return p_node;
end;
$$;
comment on function pgmem.change_card is
  'Change the status and properties of a card, with a revision; a null removes a property. Under the scope lock.';


create or replace function pgmem.revise_card(
  p_node pgmem.node,
  p_action text,
  p_from_status text,
  p_by text,
  p_reason text default null
) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  insert into pgmem.card_revision (node_seq, version, action, from_status, to_status, by, reason, created_at)
  values (p_node.seq, p_node.version, p_action, p_from_status, p_node.status, p_by, p_reason, pgmem.clock());
end;
$$;
comment on function pgmem.revise_card is 'Record a change of a card with its author and reason.';


create or replace function pgmem.touch_cards(p_org_id text, p_user_id text, p_project_seq bigint) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  insert into pgmem.card_state as s (org_id, user_id, project_seq) values (p_org_id, p_user_id, p_project_seq)
  on conflict (tenant, project_seq) do update
    set revision = s.revision + 1, changed_in = excluded.changed_in, changed_at = excluded.changed_at
    where (s.changed_in, s.changed_at) is distinct from (excluded.changed_in, excluded.changed_at);
end;
$$;
comment on function pgmem.touch_cards is
  'Record that a transaction changes cards of a tenant in a project: once, however many cards it changes.';


create or replace function pgmem.card_changed() returns trigger
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  if tg_op = 'DELETE' then
    -- Deleting a project cascades to its cards; card_state could not refer to it any more.
    if exists (select from pgmem.node n where n.seq = old.project_seq) then
      perform pgmem.touch_cards(old.org_id, old.user_id, old.project_seq);
    end if;
    return null;
  end if;
  perform pgmem.touch_cards(new.org_id, new.user_id, new.project_seq);
  if tg_op = 'UPDATE' then
    if (new.scope_key, new.tenant) <> (old.scope_key, old.tenant) then
      update pgmem.card_subject s set scope_key = new.scope_key, tenant = new.tenant where s.node_seq = new.seq;
    end if;
    perform pgmem.weigh_card(new.seq);
  end if;
  return null;
end;
$$;
comment on function pgmem.card_changed is
  'Trigger on cards: a new, changed or deleted card advances the state of its project''s cards and is weighed again.';


create or replace function pgmem.card_link_changed() returns trigger
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_card pgmem.node;
begin
  select n.* into v_card from pgmem.node n
  where n.seq = case tg_op when 'DELETE' then old.dst else new.dst end and n.label = 'Card';
  if found then
    perform pgmem.touch_cards(v_card.org_id, v_card.user_id, v_card.project_seq);
    perform pgmem.weigh_card(v_card.seq);
  end if;
  return null;
end;
$$;
comment on function pgmem.card_link_changed is
  'Trigger on edges: a card that is contradicted or superseded, or no longer is, is weighed again.';


create or replace function pgmem.card_record(p_seq bigint) returns jsonb
language sql stable set search_path = pgmem, pg_temp set timezone = 'UTC' set extra_float_digits = 1 as $$
  select jsonb_build_object(
    'subjects', (
      select coalesce(jsonb_agg(jsonb_build_object('kind', s.kind, 'key', s.key, 'relation', s.relation,
                                                   'match', s.match) order by s.kind, s.key), '[]')
      from pgmem.card_subject s where s.node_seq = p_seq),
    'evidence', (
      select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(e) - 'node_seq') order by e.kind, e.ref), '[]')
      from pgmem.card_evidence e where e.node_seq = p_seq),
    'revisions', (
      select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(r) - '{seq,node_seq}'::text[]) order by r.seq), '[]')
      from pgmem.card_revision r where r.node_seq = p_seq));
$$;
comment on function pgmem.card_record is
  'The parts of a card that a line of an export holds beside its node: subjects, evidence and revisions.';


create or replace function pgmem.import_card(p_node pgmem.node, p_record jsonb) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  if not p_record ? 'subjects' then
    return;
  end if;
  delete from pgmem.card_subject s where s.node_seq = p_node.seq;
  delete from pgmem.card_evidence e where e.node_seq = p_node.seq;
  delete from pgmem.card_revision r where r.node_seq = p_node.seq;
  perform pgmem.add_subjects(p_node, coalesce(p_record -> 'subjects', '[]'), 0);
  insert into pgmem.card_evidence (node_seq, kind, ref, digest, seen_digest, added_by, created_at)
  select p_node.seq, e.kind, e.ref, e.digest, e.seen_digest, e.added_by, e.created_at
  from jsonb_populate_recordset(null::pgmem.card_evidence, coalesce(p_record -> 'evidence', '[]')) e;
  insert into pgmem.card_revision (node_seq, version, action, from_status, to_status, by, reason, created_at)
  select p_node.seq, r.version, r.action, r.from_status, r.to_status, r.by, r.reason, r.created_at
  from jsonb_array_elements(coalesce(p_record -> 'revisions', '[]')) with ordinality as given(value, place)
  cross join lateral jsonb_populate_record(null::pgmem.card_revision, given.value) r order by given.place;
  perform pgmem.weigh_card(p_node.seq);
end;
$$;
comment on function pgmem.import_card is 'Store the subjects, evidence and revisions of a card that was imported, in place of those that it had.';


create or replace function pgmem.card_sources(p_seq bigint) returns setof pgmem.source_answer
language sql stable set search_path = pgmem, pg_temp as $$
  select case e.kind when 'external_url' then 'url' else 'file' end, e.ref,
         case when e.digest is null then 'UNCHECKABLE' when e.seen_digest is null then 'GONE'
           when e.seen_digest = e.digest then 'FRESH' else 'STALE' end,
         null, null, null, null, null
  from pgmem.card_evidence e where e.node_seq = p_seq order by e.kind, e.ref;
$$;
comment on function pgmem.card_sources is 'The evidence of a card as its sources: its files as the last run over the repository saw them.';


create or replace function pgmem.card_arrives(p_state jsonb) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node;
begin
  v_node.status := 'draft';
  v_node.props := pgmem.clean_properties((p_state -> 'props') - '{approved_by,approved_at}'::text[]);
  perform pgmem.check_statement(p_state #>> '{props,statement}');
  return v_node;
end;
$$;
comment on function pgmem.card_arrives is 'A card that another store brings: checked, cleaned, and a draft until a person of this one decides.';
select pgmem.declare_label('Card', p_statuses => '{draft,active,stale,historical,rejected,superseded,archived}',
  p_arrives_by => 'card_arrives', p_exported_by => 'card_record', p_imported_by => 'import_card', p_vouched_parts => '{revisions}',
  p_named_only => true, p_derived => true, p_titled => false, p_exact => true, p_branched => true, p_other_texts => 'none',
  p_counted_apart => 1, p_counted_in => 'cards', p_removed_by => 'archive_card', p_removed_as => 'card_id', p_sources_by => 'card_sources',
  p_read_by => 'Cards are read by get_relevant_memory, not by retrieve_context.',
  p_decided_by => 'A Card is decided by a person: pgmem cards approve, reject or archive.');
