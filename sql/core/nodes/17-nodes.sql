-- Nodes
--
-- A memory is a row of node. Verbs make one from new_node (tenant and provenance), place_node (21-places: scope and
-- project) and their own fields, and store it by insert_node; they change it by update_node or set_status and remove
-- it by delete_node. Nothing else writes node, maintenance of many rows at once apart.
--
-- A rule of every write is a trigger (95-triggers), so that no verb can forget it: the earlier state goes to
-- node_version, its period and that of the new state are set (07-truth), and a title that is no longer live leaves the
-- near-duplicate index. Recorded times never run backwards: they are taken under the row's lock.
--
-- Locks: the row of the node. The caller holds the scope lock where a write takes the row into or out of live.


create or replace function pgmem.new_node(
  p_label text,
  p_caller pgmem.caller,
  p_share text default null
) returns pgmem.node
language plpgsql as $$
declare
  v_share pgmem.sharing := p_share;
  v_node  pgmem.node;
begin
  v_node.label := p_label;
  v_node.id := gen_random_uuid();
  v_node.props := '{}';
  v_node.status := 'active';
  v_node.org_id := p_caller.org_id;
  v_node.user_id := case when v_share = 'org' then '' else p_caller.user_id end;
  v_node.tenant := pgmem.tenant_of(v_node.org_id, v_node.user_id);
  v_node.agent_id := p_caller.agent_id;
  v_node.session_id := p_caller.session_id;
  v_node.source := p_caller.source;
  v_node.trust_level := p_caller.trust_level;
  v_node.initial_confidence := 1.0;
  v_node.created_at := coalesce(p_caller.made_at, pgmem.now());
  return v_node;
end;
$$;
comment on function pgmem.new_node is
  'An empty node of a label, stamped with its tenant and its provenance; nothing is stored yet.';


-- An agent's save over MCP names the conversation in which it was made. It is not a turn: its neighbours do not speak for it.
create or replace function pgmem.has_session_place(p_session_id text, p_label text, p_source text) returns boolean
language sql immutable parallel safe
begin atomic
  select p_session_id is not null and p_label <> 'Session' and (pgmem.is_source_text(p_label) or p_source <> 'mcp');
end;
comment on function pgmem.has_session_place is
  'Whether a memory has a place among those of its session, whose neighbours a search reads with it.';


create or replace function pgmem.last_place(p_session_id text, p_tenant text) returns integer
language sql stable
begin atomic
  select n.session_place from pgmem.node n
  where n.session_id = p_session_id and n.tenant = p_tenant and n.session_place is not null
  order by n.session_place desc limit 1;
end;
comment on function pgmem.last_place is 'The highest place in a session; null when it is empty.';


-- A node may be a copy of a stored one, whose times are not its own, so only an import (p_keeps_times) keeps the times,
-- the start and the version number of p_node.
create or replace function pgmem.insert_node(
  p_node pgmem.node,
  p_ranked bigint[] default null,
  p_keeps_times boolean default false
) returns pgmem.node
language plpgsql as $$
declare
  v_now     timestamptz := pgmem.clock();
  v_indexed boolean;
begin
  p_node.place := pgmem.place_of(p_node.scope, p_node.project_seq, p_node.focus);
  p_node.scope_key := pgmem.scope_key(p_node.tenant, p_node.place, p_node.label);
  p_node.text_config := coalesce(p_node.text_config, pgmem.setting_text('text_config'));
  p_node.created_at := coalesce(p_node.created_at, v_now);
  if not p_keeps_times then
    p_node.updated_at := p_node.created_at;
    p_node.recorded_at := v_now;
    p_node.begins_at := pgmem.first_begins(p_node.valid_from, p_node.valid_to, p_node.created_at);
    p_node.version := 1;
  end if;
  p_node.content_hash := coalesce(p_node.content_hash,
                                  pgmem.memory_hash(p_node.label, p_node.title, p_node.props));
  p_node.statement := pgmem.form_of(p_node.label, p_node.title, p_node.props);
  -- Only seq is returned: each further column costs in every node of the plan.
  insert into pgmem.node (id, label, key, title, props, status, scope, project, project_seq, focus, focus_seq,
    org_id, user_id, agent_id, session_id, source, trust_level, initial_confidence, valid_from, valid_to,
    content_hash, scope_key, title_tokens, text_config,
    tsv, text_length, session_place, asks, instructs, titled, statement, version, created_at, updated_at, recorded_at, begins_at,
    yields)
  select p_node.id, p_node.label, p_node.key, p_node.title, p_node.props, p_node.status, p_node.scope, p_node.project,
    p_node.project_seq, p_node.focus, p_node.focus_seq, p_node.org_id, p_node.user_id, p_node.agent_id,
    p_node.session_id, p_node.source, p_node.trust_level, p_node.initial_confidence, p_node.valid_from,
    p_node.valid_to, p_node.content_hash, p_node.scope_key, coalesce(p_node.title_tokens, d.title_tokens),
    p_node.text_config, d.tsv, d.text_length,
    case when pgmem.has_session_place(p_node.session_id, p_node.label, p_node.source)
      then 1 + coalesce(pgmem.last_place(p_node.session_id, p_node.tenant), 0) end,
    d.asks, d.instructs, d.titled, p_node.statement,
    p_node.version, p_node.created_at, p_node.updated_at, p_node.recorded_at, p_node.begins_at, p_node.yields
  from pgmem.derived(p_node.label, p_node.title, p_node.props, p_node.tenant, p_node.project_seq, p_node.session_id,
                     p_node.text_config) d
  returning seq into strict p_node.seq;
  if p_node.label = 'Decision' and p_node.status = 'active' then
    v_indexed := pgmem.index_title(p_node, p_ranked);
  end if;
  if pgmem.counts_words(p_node.seq) then
    perform pgmem.count_words(p_node.tenant);
  end if;
  return p_node;
end;
$$;
comment on function pgmem.insert_node is $$
Store a new node with its scope key and all that follows from its text.

A verb that has compared the node before sends its content hash, its title tokens and their ranks.
$$;


create or replace function pgmem.index_title(p_node pgmem.node, p_ranked bigint[] default null) returns boolean
language plpgsql as $$
begin
  if p_ranked is null then
    p_ranked := (select r.ranked from pgmem.ranked_tokens(pgmem.tokens(p_node.title), p_node.scope_key) r);
  end if;
  insert into pgmem.dedup_token (node_seq, scope_key, token, signature, size, weight)
  select p_node.seq, p_node.scope_key, e.token, e.signature, e.size, e.weight from pgmem.title_entries(p_ranked) e
  -- Two words with one hash.
  on conflict do nothing;
  return found;
end;
$$;
comment on function pgmem.index_title is 'Give a live decision its near-duplicate entries.';


create or replace function pgmem.update_node(p_node pgmem.node) returns pgmem.node
language plpgsql as $$
declare
  v_old pgmem.node;
begin
  select n.* into strict v_old from pgmem.node n where n.seq = p_node.seq for update;
  update pgmem.node n set
    key = p_node.key, title = p_node.title, props = p_node.props, status = p_node.status,
    valid_from = p_node.valid_from,
    valid_to = p_node.valid_to, begins_at = p_node.begins_at, initial_confidence = p_node.initial_confidence,
    content_hash = coalesce(pgmem.memory_hash(p_node.label, p_node.title, p_node.props), p_node.content_hash),
    title_tokens = d.title_tokens,
    trust_level = p_node.trust_level, source = p_node.source,
    agent_id = p_node.agent_id, session_id = p_node.session_id, text_config = p_node.text_config,
    tsv = d.tsv, text_length = d.text_length,
    asks = d.asks, instructs = d.instructs, titled = d.titled, statement = d.statement,
    updated_at = greatest(pgmem.now(), n.created_at)
  from pgmem.derived(p_node.label, p_node.title, p_node.props, p_node.tenant, p_node.project_seq, v_old.session_id,
                     p_node.text_config) d
  where n.seq = p_node.seq returning n.* into p_node;
  if p_node.status = 'active' and p_node.title_tokens is not null
     and (v_old.status, v_old.title_tokens) is distinct from (p_node.status, p_node.title_tokens) then
    perform pgmem.index_title(p_node);
  end if;
  if pgmem.is_hidden_status(v_old.status) <> pgmem.is_hidden_status(p_node.status) then
    if pgmem.is_hidden_status(p_node.status) then
      perform pgmem.set_aside_embeddings(array[p_node.seq]);
    else
      perform pgmem.restore_embeddings(p_node);
    end if;
  end if;
  return p_node;
end;
$$;
comment on function pgmem.update_node is
  'Write a changed node: its search text, version and near-duplicate entries follow, and its vectors if it is hidden or shown.';


create or replace function pgmem.set_status(
  p_seq bigint,
  p_status text,
  p_close_at timestamptz default null
) returns void
language plpgsql as $$
begin
  update pgmem.node n set status = p_status, updated_at = greatest(pgmem.now(), n.created_at),
    valid_to = least(n.valid_to, greatest(p_close_at, case when p_close_at is not null then n.valid_from end))
  where n.seq = p_seq;
  if pgmem.is_hidden_status(p_status) then
    perform pgmem.set_aside_embeddings(array[p_seq]);
  end if;
end;
$$;
comment on function pgmem.set_status is
  'Give a node a status that is not live, and an end at p_close_at unless it ends before. The caller holds its scope lock.';


create or replace function pgmem.confirm_node(p_seq bigint) returns timestamptz
language sql set search_path = pgmem, pg_temp as $$
  update pgmem.node n set updated_at = greatest(pgmem.now(), n.updated_at) where n.seq = p_seq returning n.updated_at;
$$;
comment on function pgmem.confirm_node is
  'Record that a memory still holds: its time alone changes, from which freshness, hygiene and decay count.';


-- Shown and decided is the text by which a memory is found: all that it says.
create or replace function pgmem.rule_hash(p_label text, p_title text, p_props jsonb) returns text
language sql stable set search_path = pgmem, pg_temp as $$
  select encode(sha256(convert_to(s.searched_text, 'UTF8')), 'hex') from pgmem.searched_text(p_label, p_title, p_props) s;
$$;
comment on function pgmem.rule_hash is 'The text of a rule as declined_rule knows it.';


-- Not a session, which describes the work done in it. Whether the memory is live is asked by the caller. Inlined.
create or replace function pgmem.waits_as_rule(p_node pgmem.node) returns boolean
language sql stable
begin atomic
  select (p_node).instructs and (p_node).scope is not null and (p_node).label <> 'Session'
    and not pgmem.is_of_a_person((p_node).source, (p_node).trust_level)
    and not exists (select from pgmem.declined_rule d where d.node_seq = (p_node).seq
                    and d.text_hash = pgmem.rule_hash((p_node).label, (p_node).title, (p_node).props));
end;
comment on function pgmem.waits_as_rule is
  'Whether a memory says how to go on in every session, was not said by a person, and waits for one to decide.';


-- Each part by the index node_instructs: a project with no rule reads nothing of those of the others.
create or replace function pgmem.rules_that_wait(
  p_caller pgmem.caller,
  p_project_seq bigint,
  p_limit integer
) returns setof pgmem.node
language sql stable rows 10 set search_path = pgmem, pg_temp as $$
  select w.* from (
    select distinct t.tenant from unnest(array[(p_caller).tenant, pgmem.tenant_of((p_caller).org_id)]) as t(tenant)
    where t.tenant = any ((p_caller).tenants)) t
  cross join lateral (
    (select n.* from pgmem.node n
     where n.tenant = t.tenant and n.instructs and n.project_seq = p_project_seq
       and pgmem.is_live(n.status, n.valid_from, n.valid_to) and (n.turns_at is null or n.turns_at > pgmem.now())
       and pgmem.waits_as_rule(n)
     order by n.seq desc limit p_limit)
    union all
    (select n.* from pgmem.node n
     where n.tenant = t.tenant and n.instructs and p_project_seq is not null and n.project_seq is null
       and pgmem.is_live(n.status, n.valid_from, n.valid_to) and (n.turns_at is null or n.turns_at > pgmem.now())
       and pgmem.waits_as_rule(n)
     order by n.seq desc limit p_limit)
    union all
    (select n.* from pgmem.node n
     where n.tenant = t.tenant and n.instructs and p_project_seq is null
       and pgmem.is_live(n.status, n.valid_from, n.valid_to) and (n.turns_at is null or n.turns_at > pgmem.now())
       and pgmem.waits_as_rule(n)
     order by n.project_seq desc, n.seq desc limit p_limit)) w
  limit p_limit;
$$;
comment on function pgmem.rules_that_wait is
  'The rules of agents that a caller''s person may decide, of a project and of all projects; p_project_seq null: all.';


create or replace function pgmem.taken_over(
  p_node pgmem.node,
  p_source text,
  p_trust_level float8,
  p_by text
) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  p_node.source := p_source;
  p_node.trust_level := p_trust_level;
  p_node.agent_id := p_by;
  p_node.session_id := null;
  p_node := pgmem.update_node(p_node);
  perform pgmem.store_embedding(p_node);
  return p_node;
end;
$$;
comment on function pgmem.taken_over is
  'Write a memory that is locked as the word of a person, who has seen all of it: a new version with the same text.';


create or replace function pgmem.validated_at(
  p_since timestamptz,
  p_created_at timestamptz,
  p_updated_at timestamptz
) returns timestamptz
language sql immutable parallel safe
begin atomic
  select greatest(p_since, nullif(p_updated_at, p_created_at));
end;
comment on function pgmem.validated_at is
  'When a memory was last known to hold: as its save said, or by a later confirmation or change.';


-- Edges, versions and near-duplicate entries hang on the row and go with it; triggers take it out of the graph.
create or replace function pgmem.delete_node(p_seq bigint, out edges integer, out versions integer, out vectors integer)
language plpgsql set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
begin
  select count(*) into edges from pgmem.edge e where e.src = p_seq or e.dst = p_seq;
  select count(*) into versions from pgmem.node_version v where v.node_seq = p_seq;
  vectors := pgmem.delete_embeddings(array[p_seq]);
  delete from pgmem.node n where n.seq = p_seq;
end;
$$;
comment on function pgmem.delete_node is
  'Delete a node and its dependent rows, and count them. The caller holds its scope lock.';


-- By token, as the index of dedup_token is: a foreign key and an index by node would cost every save and serve this
-- alone.
create or replace function pgmem.unindex_title() returns trigger
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  delete from pgmem.dedup_token t
  where t.scope_key = old.scope_key and t.size = cardinality(old.title_tokens) and t.node_seq = old.seq
    and t.token = any (array(select hashtextextended(word, 0) from unnest(old.title_tokens) as word));
  return null;
end;
$$;
comment on function pgmem.unindex_title is
  'Trigger: take a title that is no longer live out of the near-duplicate index.';


-- Once for all rows of a statement, as maintenance changes thousands.
create or replace function pgmem.record_version() returns trigger
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  insert into pgmem.node_version (node_seq, version, label, key, title, props, status, scope, project, project_seq,
    focus, place, org_id, user_id, tenant, source, trust_level, initial_confidence, valid_from, valid_to,
    begins_at, ends_at, yields, text_config, tsv, created_at, ingested_at, replaced_at, agent_id)
  select o.seq, o.version, o.label, o.key, o.title, o.props, o.status, o.scope, o.project, o.project_seq,
    o.focus, o.place, o.org_id, o.user_id, o.tenant, o.source, o.trust_level, o.initial_confidence, o.valid_from,
    o.valid_to, o.begins_at, pgmem.state_ends(o.valid_to, o.title = n.title and o.props = n.props, n.begins_at),
    o.yields, o.text_config, o.tsv, o.created_at, o.recorded_at, n.recorded_at, o.agent_id
  -- The plan is kept for the session: offset 0 makes it look rows up by key, however many there were when it was made.
  from old_rows o cross join lateral (select * from pgmem.node n where n.seq = o.seq offset 0) n
  -- A merge of two histories writes the earlier states itself, and a state that stays on record is there already (add_state,
  -- settled).
  where n.version > o.version and n.recorded_at > o.recorded_at
  on conflict (node_seq, version) do nothing;
  -- A repeat that confirms a memory changes its times alone; reads postpone the end of an item.
  insert into pgmem.change (stamp, subject, kind, id, label, version, project, tenant, at)
  select pgmem.change_stamp(), pgmem.change_subject_of(n.label),
         case when n.tenant <> o.tenant then 'adopted' when n.version = o.version and n.told is not distinct from o.told then 'confirmed'
              else pgmem.change_kind_of(o.status, n.status) end,
         n.id, n.label, greatest(n.version, n.told), case n.label when 'Project' then n.key else n.project end, n.tenant, pgmem.clock()
  from old_rows o cross join lateral (select * from pgmem.node n where n.seq = o.seq offset 0) n
  where n.label <> 'GovernanceToken'
    and (n.version <> o.version or n.tenant <> o.tenant or n.told is distinct from o.told
      or not pgmem.end_moves(n.label) and (n.updated_at, n.initial_confidence) is distinct from (o.updated_at, o.initial_confidence));
  if found then
    perform pgmem.notify_change();
  end if;
  -- An end that was set, or the return of a forgotten state, may let another state on record be the present one. Asked first:
  -- an update of no row would call this trigger again.
  if exists (
      select from old_rows o cross join lateral (select * from pgmem.node m where m.seq = o.seq offset 0) m
      where m.version > o.version and not pgmem.end_moves(m.label)
        and (o.told is not null or o.turns_at is not null or m.yields is not null
          or pgmem.is_hidden_status(o.status) or m.valid_to is not null and pgmem.is_live_status(m.status))) then
    update pgmem.node n set turns_at = pgmem.next_change(n.seq)
    from old_rows o
    where n.seq = o.seq and n.version > o.version and not pgmem.end_moves(n.label)
      and n.turns_at is distinct from pgmem.next_change(n.seq);
  end if;
  return null;
end;
$$;
comment on function pgmem.record_version is $$
Trigger: the effects of an update of nodes, in the history and in the feed.

The states before it go to node_version, each with the end of its period.
$$;


-- A change of updated_at or confidence alone makes no version, and neither does a renewal that only composes the
-- characters of a text; last_hygiene_at of a project is a time, and so is the end of an item's time to live, which reads
-- postpone. A revert brings the start of the state that it puts back in begins_at; whoever else writes a node leaves
-- begins_at as it was. A change of a state leaves to later states the same time as before, and one without a
-- valid_from ends with an open state those that it covers. Who gives a
-- state its number (add_state, settled) has set all of this.
create or replace function pgmem.number_version() returns trigger
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  -- A merge of two histories, add_state and settled give a state its number and its time.
  if (old.version, old.recorded_at) <> (new.version, new.recorded_at) then
    return new;
  end if;
  if ((old.title, old.key, old.status, old.valid_from, old.trust_level)
      is distinct from (new.title, new.key, new.status, new.valid_from, new.trust_level)
      or old.valid_to is distinct from new.valid_to and not pgmem.end_moves(old.label)
      or old.props <> new.props
         and (old.label <> 'Project' or old.props - 'last_hygiene_at' <> new.props - 'last_hygiene_at'))
     and ((old.status, old.valid_from, old.valid_to, old.trust_level)
          is distinct from (new.status, new.valid_from, new.valid_to, new.trust_level)
      or not exists (
        select from pgmem.composed(old.label, old.key, old.title, old.props, old.content_hash) c
        where (c.title, c.props) = (new.title, new.props) and c.key is not distinct from new.key)) then
    new.version := greatest(old.version, old.told) + 1;
    new.recorded_at := greatest(pgmem.clock(), old.recorded_at + interval '1 microsecond');
    if old.told is not null then
      new.yields := coalesce(old.yields, '{}') + pgmem.states_after(old.seq, old.version);
      new.told := null;
      new.recorded_at := pgmem.recorded_next(old.seq, old.recorded_at);
    end if;
    if old.valid_from is not null and new.valid_from is null and old.valid_to is null
        and (old.title, old.props) is distinct from (new.title, new.props) then
      update pgmem.node_version v set replaced_at = new.recorded_at, ends_at = old.begins_at
      where v.node_seq = old.seq and v.replaced_at = 'infinity' and v.valid_to is null
        and coalesce(v.begins_at, '-infinity') < old.begins_at;
    end if;
    new.begins_at := pgmem.state_begins(new.valid_from, new.valid_to,
      case when old.title <> new.title or old.props <> new.props then new.recorded_at end, new.begins_at);
  else
    new.begins_at := old.begins_at;
  end if;
  return new;
end;
$$;
comment on function pgmem.number_version is
  'Trigger: give a changed state of a node the next number and its start; record_version keeps the one before.';


create or replace function pgmem.own_first(p_nodes pgmem.node[], p_tenants text[]) returns pgmem.node[]
language sql immutable set search_path = pgmem, pg_temp as $$
  select coalesce(array_agg(ranked.n::pgmem.node) filter (where ranked.owner = ranked.nearest), '{}')
  from (select n, array_position(p_tenants, n.tenant) as owner,
               min(array_position(p_tenants, n.tenant)) over () as nearest
        from unnest(p_nodes) n) ranked;
$$;
comment on function pgmem.own_first is
  'The nodes of the nearest owner: the caller''s own, else its organisation''s, else public ones.';


create or replace function pgmem.which_node(p_nodes pgmem.node[], p_tenants text[]) returns text
language sql stable set search_path = pgmem, pg_temp as $$
  select format('%s: %s',
    case when count(distinct coalesce(n.project_seq, 0)) = count(*) then 'send project_id, or one of these ids'
         else 'send one of these ids' end,
    string_agg(format('%s (%s%s, %s)', n.id,
      case when n.scope = 'global' then 'global' else coalesce('project ' || n.project, 'no project') end,
      ', focus ' || n.focus,
      case when n.tenant = p_tenants[1] and n.user_id <> '' then 'yours'
           when n.org_id <> '' then 'of ' || n.org_id else 'public' end), ', '))
  from unnest(p_nodes) n;
$$;
comment on function pgmem.which_node is
  'The end of an error about a name that fits several nodes: their ids, projects and owners, and the argument to send.';


-- Reads node itself, by tenants that are looked up once; a caller that has looked them up sends them.
create or replace function pgmem.near_titles(
  p_label text,
  p_key text,
  p_tenants text[],
  p_project_seq bigint
) returns text
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  return (
    select ' Did you mean ' || string_agg(quote_literal(found.title), ' or ' order by found.title) || '?'
    from (select distinct left(coalesce(n.key, n.title), 80) as title from pgmem.node n
          where n.tenant = any (p_tenants) and n.label = p_label and n.status in ('active', 'approved')
            and n.tsv @@ plainto_tsquery(pgmem.setting_text('text_config')::regconfig, left(p_key, 200))
            and (p_project_seq is null or n.project_seq = p_project_seq or n.project_seq is null)
            and pgmem.folded(coalesce(n.key, n.title)) like '%' || replace(replace(replace(
              pgmem.folded(btrim(left(p_key, 200))), '\', '\\'), '%', '\%'), '_', '\_') || '%'
          order by 1 limit 3) found);
end;
$$;
comment on function pgmem.near_titles is
  'The names of live memories of a label that hold a part of a name that none has, as the end of a message; null: none.';


-- Memories brought to a session have the first 8 digits of their ids: in a store of 100 000 one in 40 000 of them is of two
-- memories.
create or replace function pgmem.nodes_by_id(p_id text, p_tenants text[]) returns setof pgmem.node
language plpgsql stable rows 1 set search_path = pgmem, pg_temp as $$
begin
  if pgmem.is_uuid(p_id) then
    return query select n.* from pgmem.node n where n.id = p_id::uuid and n.tenant = any (p_tenants);
  elsif p_id ~ '^[0-9a-f]{8}$' then
    return query select n.* from pgmem.node n
      where n.id between (p_id || '-0000-0000-0000-000000000000')::uuid and (p_id || '-ffff-ffff-ffff-ffffffffffff')::uuid
        and n.tenant = any (p_tenants) and n.status <> 'captured' order by n.seq desc limit 2;
  end if;
end;
$$;
comment on function pgmem.nodes_by_id is 'The nodes with an id, whole or its first 8 digits; none for another text.';


create or replace function pgmem.find_node(
  p_label text,
  p_key text,
  p_project_seq bigint default null,
  p_tenants text[] default null
) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_tenants text[] := coalesce(p_tenants, pgmem.visible_tenants());
  v_node    pgmem.node;
  v_nodes   pgmem.node[];
begin
  p_label := (pgmem.require_label(p_label)).name;
  select n.* into v_node from pgmem.nodes_by_id(p_key, v_tenants) n where n.label = p_label limit 1;
  if v_node.seq is not null then
    return v_node;
  end if;
  if pgmem.clean_text(p_key, 'key') is null then
    raise exception using errcode = 'PM001',
      message = format('%s %s needs a name: send its key, title or id.', case when p_label ~ '^[AEIOU]' then 'An' else 'A' end,
                       p_label);
  end if;
  select array_agg(n::pgmem.node order by n.seq desc) into v_nodes from (
    select * from pgmem.node n
    where n.tenant = any (v_tenants) and n.label = p_label
      and pgmem.folded(coalesce(n.key, n.title)) = pgmem.folded(btrim(p_key))
      -- By the index node_name, so that a name is found at any size of the store.
      and pgmem.name_hash(coalesce(n.key, n.title)) = pgmem.name_hash(btrim(p_key))
      and n.status not in ('archived', 'merged', 'rejected')
      and (p_project_seq is null or n.project_seq = p_project_seq or n.project_seq is null)
    order by array_position(v_tenants, n.tenant), n.seq desc limit 20) n;
  if cardinality(v_nodes) > 1 then
    -- Where several have one title, as a decision and the one it superseded, a live one is meant; then the caller's
    -- own before its organisation's before a public one; then the one that is written as the name.
    select coalesce(array_agg(n) filter (where pgmem.is_live_status(n.status)), v_nodes) into v_nodes
    from unnest(v_nodes) n;
    v_nodes := pgmem.own_first(v_nodes, v_tenants);
    select coalesce(array_agg(n) filter (where coalesce(n.key, n.title) = normalize(btrim(p_key), NFC)), v_nodes)
    into v_nodes from unnest(v_nodes) n;
  end if;
  if v_nodes is null then
    raise exception using errcode = 'PM002', message = format('No %s named %s found.%s', p_label,
      quote_literal(left(p_key, 80)), pgmem.near_titles(p_label, p_key, v_tenants, p_project_seq));
  elsif cardinality(v_nodes) > 1 then
    raise exception using errcode = 'PM003',
      message = format('%s names %s nodes of label %s; %s.',
      quote_literal(left(p_key, 80)), cardinality(v_nodes), p_label, pgmem.which_node(v_nodes, v_tenants));
  end if;
  return v_nodes[1];
end;
$$;
comment on function pgmem.find_node is
  'The visible node of a label by id, key or exact title; none or several are errors, and the second lists them.';


create or replace function pgmem.require_memory(p_id uuid) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node;
begin
  select n.* into v_node from pgmem.visible_node n where n.id = p_id and pgmem.is_memory(n.label);
  if v_node.seq is null then
    raise exception using errcode = 'PM002',
      message = format('No memory %s found; search_memory shows ids.', coalesce(p_id::text, 'without an id'));
  end if;
  return v_node;
end;
$$;
comment on function pgmem.require_memory is 'The memory with an id, forgotten ones too; an error where the caller sees none.';


create or replace function pgmem.named_memory(p_name text) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_tenants text[] := pgmem.visible_tenants();
  v_nodes   pgmem.node[] := array(select n from pgmem.nodes_by_id(p_name, v_tenants) n where pgmem.is_memory(n.label));
begin
  if v_nodes = '{}' then
    v_nodes := pgmem.own_first(array(
      select row(n.*)::pgmem.node from pgmem.node n
      where pgmem.name_hash(coalesce(n.key, n.title)) = pgmem.name_hash(btrim(p_name)) and n.tenant = any (v_tenants)
        and pgmem.folded(coalesce(n.key, n.title)) = pgmem.folded(btrim(p_name)) and pgmem.is_memory(n.label)
        and pgmem.is_live_status(n.status) order by n.seq desc limit 20), v_tenants);
  end if;
  if cardinality(v_nodes) > 1 then
    raise exception using errcode = 'PM003', message = format('%s names %s memories; send the id of one: %s.',
      quote_literal(left(p_name, 80)), cardinality(v_nodes),
      (select string_agg(format('%s (%s%s)', n.id, n.label, ', ' || n.project), ', ') from unnest(v_nodes) n));
  elsif v_nodes = '{}' then
    raise exception using errcode = 'PM002',
      message = format('No memory %s found; search_memory shows ids.', case when pgmem.is_uuid(p_name) then p_name else coalesce(quote_literal(left(p_name, 80)), 'without an id') end);
  end if;
  return v_nodes[1];
end;
$$;
comment on function pgmem.named_memory is
  'The memory with an id, its first 8 digits, or a title; an error where the caller sees none, or several.';


-- The lock is a separate statement: the read after it sees changes that others made to the node meanwhile.
create or replace function pgmem.locked(p_node pgmem.node) returns pgmem.node
language sql volatile set search_path = pgmem, pg_temp as $$
  select pgmem.lock_scope((p_node).scope_key);
  select row(n.*)::pgmem.node from pgmem.visible_node n where n.seq = (p_node).seq;
$$;
comment on function pgmem.locked is 'A node as it is under the lock of its scope; null where another has removed it meanwhile.';
