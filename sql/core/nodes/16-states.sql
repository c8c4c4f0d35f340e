-- States
--
-- Statements about a named thing are states, each with a period on the axis of truth, and they may be saved in any order.
-- A state that is saved with a valid_from holds for its period, over any earlier one for that time (the sequenced update of
-- SQL:2011), and states of other times stay. A period without an end is open: it reaches to where a state begins
-- that was saved before it and begins after it, and it covers the open ones that begin before it. These stay on record, so
-- that an end that is set later says the same as one that was set at once: the states that it covered are true again behind
-- it. The parts that a state leaves to others are in yields.
--
-- A change without a valid_from takes the place of the present state, and of the open ones that it covers (number_version).
--
-- The row of node is the state that is true now, or the one saved last where none is; the others are rows of node_version
-- whose replaced_at is infinity. A state that becomes true while nobody writes is read from there, from turns_at on
-- (state_regions, present, turned_nodes in 07-truth); the next write of the node, or the worker, makes it the row of node
-- (settled).
--
-- A state that is saved with the content and the valid_from of one on record corrects that one: its end is set anew.
--
-- Locks: the row of the node. The caller holds its scope lock.


create or replace function pgmem.states_trust(p_node pgmem.node) returns float8
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  return (
  select greatest(p_node.trust_level, case when p_node.version > 1 or p_node.told is not null then (
    select max(v.trust_level) from pgmem.node_version v where v.node_seq = p_node.seq and v.replaced_at = 'infinity') end));
end;
$$;
comment on function pgmem.states_trust is 'The most trust that a state of a node on record has.';


create or replace function pgmem.states_after(p_seq bigint, p_version integer) returns tstzmultirange
language sql stable set search_path = pgmem, pg_temp as $$
  select coalesce(range_agg(r.region), '{}') from pgmem.state_regions(p_seq) r where r.version > p_version;
$$;
comment on function pgmem.states_after is 'When a node is in one of the states that were saved after another one.';


create or replace function pgmem.next_change(p_seq bigint) returns timestamptz
language sql stable set search_path = pgmem, pg_temp as $$
  -- A state is the present one from the first moment of a range; where that is open, from the next microsecond.
  select min(greatest(case when lower_inc(part) or lower_inf(part) then coalesce(lower(part), '-infinity')
                        else lower(part) + interval '1 microsecond' end, pgmem.now()))
  from pgmem.node n cross join pgmem.present_moment(n.recorded_at) moment
  cross join pgmem.state_regions(p_seq) r cross join unnest(r.region) part
  where n.seq = p_seq and r.version <> n.version and not pgmem.is_hidden_status(n.status)
    and pgmem.is_live_status(r.status) and (upper(part) is null or upper(part) >= moment)
    and (upper(part) is distinct from moment or upper_inc(part));
$$;
comment on function pgmem.next_change is
  'From when on, now or later, a state other than the row of the node is the present one; null: never, as is known.';


create or replace function pgmem.refresh_states(p_seq bigint) returns void
language sql set search_path = pgmem, pg_temp as $$
  update pgmem.node n set turns_at = pgmem.next_change(p_seq), told = (  -- words: as is
    select max(v.version) from pgmem.node_version v where v.node_seq = p_seq and v.version > n.version)
  where n.seq = p_seq;
$$;
comment on function pgmem.refresh_states is 'Work out anew which state of a node was saved last, and when another takes over.';


create or replace function pgmem.recorded_next(p_seq bigint, p_recorded_at timestamptz) returns timestamptz
language sql stable set search_path = pgmem, pg_temp as $$
  select greatest(pgmem.clock(), p_recorded_at + interval '1 microsecond', max(v.ingested_at) + interval '1 microsecond')
  from pgmem.node_version v where v.node_seq = p_seq and v.replaced_at = 'infinity';
$$;
comment on function pgmem.recorded_next is
  'The time of the next record of a node: now, and later than its row and its states of other periods were recorded.';


create or replace function pgmem.keep_state(
  p_node pgmem.node,
  p_ends_at timestamptz default null,
  p_replaced_at timestamptz default 'infinity'
) returns void
language sql set search_path = pgmem, pg_temp as $$
  insert into pgmem.node_version (node_seq, version, label, key, title, props, status, scope, project, project_seq,
    focus, place, org_id, user_id, tenant, source, trust_level, initial_confidence, valid_from, valid_to,
    begins_at, ends_at, yields, text_config, tsv, created_at, ingested_at, replaced_at, agent_id)
  values (p_node.seq, p_node.version, p_node.label, p_node.key, p_node.title, p_node.props, p_node.status, p_node.scope,
    p_node.project, p_node.project_seq, p_node.focus, p_node.place, p_node.org_id, p_node.user_id, p_node.tenant,
    p_node.source, p_node.trust_level, p_node.initial_confidence, p_node.valid_from, p_node.valid_to, p_node.begins_at,
    case when p_replaced_at < 'infinity' then p_ends_at else p_node.valid_to end, p_node.yields, p_node.text_config,
    p_node.tsv, p_node.created_at, p_node.recorded_at, p_replaced_at, p_node.agent_id);
$$;
comment on function pgmem.keep_state is
  'Put a state of a node beside its row: on record for its period, or ended by a state that was recorded since.';


create or replace function pgmem.make_present(p_old pgmem.node, p_new pgmem.node) returns pgmem.node
language sql set search_path = pgmem, pg_temp as $$
  update pgmem.node n set
    title = p_new.title, props = p_new.props, status = p_new.status, valid_from = p_new.valid_from,
    valid_to = p_new.valid_to, begins_at = p_new.begins_at, yields = p_new.yields, version = p_new.version,
    recorded_at = p_new.recorded_at, initial_confidence = p_new.initial_confidence,
    content_hash = coalesce(pgmem.memory_hash(n.label, p_new.title, p_new.props), n.content_hash),
    title_tokens = d.title_tokens, trust_level = p_new.trust_level, source = p_new.source, agent_id = p_new.agent_id,
    session_id = p_new.session_id, tsv = d.tsv, text_length = d.text_length, asks = d.asks, instructs = d.instructs,
    titled = d.titled,
    updated_at = greatest(p_new.updated_at, n.created_at)
  from pgmem.derived(p_new.label, p_new.title, p_new.props, p_new.tenant, p_new.project_seq, p_old.session_id,
                     p_new.text_config) d
  where n.seq = p_old.seq;
  select pgmem.refresh_states(p_old.seq);
  select row(n.*)::pgmem.node from pgmem.node n where n.seq = p_old.seq;
$$;
comment on function pgmem.make_present is 'Make a state the row of its node; the one that was is kept by the caller.';


create or replace function pgmem.settled(p_node pgmem.node) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_new pgmem.node := pgmem.present(p_node);
begin
  if v_new.version is not distinct from p_node.version then
    if p_node.turns_at <= pgmem.now() then
      perform pgmem.refresh_states(p_node.seq);
      select n.* into p_node from pgmem.node n where n.seq = p_node.seq;
    end if;
    return p_node;
  end if;
  delete from pgmem.node_version v where v.node_seq = p_node.seq and v.version = v_new.version;
  perform pgmem.keep_state(p_node);
  p_node := pgmem.make_present(p_node, v_new);
  perform pgmem.store_embedding(p_node);
  return p_node;
end;
$$;
comment on function pgmem.settled is 'A node whose row is its present state: where another one has become true, that is stored.';


create or replace function pgmem.settled_namesake(p_node pgmem.node) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node;
begin
  select n.* into v_node from pgmem.node n
  where n.scope_key = p_node.scope_key and n.tenant || '' = p_node.tenant
    and pgmem.folded(n.key) = pgmem.folded(p_node.key)
  order by n.key = p_node.key desc, n.seq limit 1;
  if v_node.seq is not null then
    return pgmem.settled(v_node);
  end if;
  return null;
end;
$$;
comment on function pgmem.settled_namesake is
  'The stored node whose name a new one has, as its present state; null: none. The caller holds the scope lock.';


create or replace function pgmem.settle_due(p_limit integer) returns integer
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node    pgmem.node;
  v_settled integer := 0;
begin
  for v_node in
    select n.* from pgmem.node n where n.turns_at <= pgmem.now() order by n.turns_at limit p_limit for update skip locked
  loop
    perform pgmem.settled(v_node);
    v_settled := v_settled + 1;
  end loop;
  return v_settled;
end;
$$;
comment on function pgmem.settle_due is
  'Store the states that have become true, of some nodes; reads do not wait for it, vectors of these states do.';


create or replace function pgmem.state_that_begins(
  p_node pgmem.node,
  p_from timestamptz,
  p_to timestamptz
) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_version integer;
  v_state   record;
begin
  if not pgmem.is_live_status(p_node.status) then
    return p_node;
  end if;
  select r.version into v_version from pgmem.state_regions(p_node.seq) r
  where r.region @> p_from or not r.dated and r.version = p_node.version
    and r.region && tstzmultirange(tstzrange(p_from, p_to, '[]'))
  order by r.region @> p_from desc limit 1;
  if v_version is distinct from p_node.version then
    select v.title, v.props, v.trust_level into v_state from pgmem.node_version v
    where v.node_seq = p_node.seq and v.version = v_version;
    p_node.title := coalesce(v_state.title, p_node.title);
    p_node.props := coalesce(v_state.props, '{}');
    p_node.trust_level := coalesce(v_state.trust_level, 1.0);
  end if;
  return p_node;
end;
$$;
comment on function pgmem.state_that_begins is
  'A node as it is where a period begins: the state that a save of that period changes. A state that nobody dated counts where '
  'it begins within the period; without any the node has no properties.';


create or replace function pgmem.add_state(
  p_old pgmem.node,
  p_new pgmem.node,
  p_sure boolean default false,
  out node pgmem.node,
  out contradicts pgmem.node
)
language plpgsql set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_old      pgmem.node := p_old;
  v_new      pgmem.node := p_new;
  v_now      timestamptz := pgmem.present_moment(p_old.recorded_at);
  v_open     boolean := p_new.valid_to is null;
  v_period   tstzmultirange := tstzmultirange(tstzrange(p_new.valid_from, p_new.valid_to, '[]'));
  v_later    tstzmultirange := '{}';
  v_same     tstzmultirange := '{}';
  v_restated integer;
  v_same_end boolean := true;
  v_last     timestamptz;
  v_state    record;
begin
  if not pgmem.is_live_status(v_old.status) then
    node := pgmem.update_node(v_new);
    return;
  end if;
  v_new.begins_at := v_new.valid_from;
  for v_state in
    select r.*, coalesce(v.title, v_old.title) = v_new.title and coalesce(v.props, v_old.props) = v_new.props as same,
           case when v.node_seq is null then v_old.valid_to else v.valid_to end as valid_to,
           coalesce(v.ingested_at, v_old.recorded_at) as ingested_at, coalesce(v.replaced_at, 'infinity') as replaced_at
    from pgmem.state_regions(v_old.seq) r
    left join pgmem.node_version v on v.node_seq = v_old.seq and v.version = r.version
    order by r.version
  loop
    v_last := greatest(v_last, v_state.ingested_at);
    if v_state.same then
      v_same := v_same + v_state.region;
      if v_state.dated and v_state.replaced_at = 'infinity' and v_state.begins_at = v_new.valid_from
          and v_state.region @> v_new.valid_from::timestamptz and not p_sure then
        v_restated := v_state.version;
        v_same_end := v_state.valid_to is not distinct from v_new.valid_to;
      end if;
    end if;
    if v_state.dated and v_state.begins_at > v_new.valid_from then
      v_later := v_later + v_state.region;
    end if;
    if v_state.region @> v_now and v_state.dated and v_state.open and v_state.begins_at > v_new.valid_from
        and v_open and not v_state.same and not p_sure then
      contradicts := v_old;
    end if;
  end loop;
  v_new.yields := pgmem.told_yields(v_restated is not null, coalesce(
      (select v.yields from pgmem.node_version v where v.node_seq = v_old.seq and v.version = v_restated),
      case when v_restated = v_old.version then v_old.yields end),
    case when v_restated is not null then pgmem.states_after(v_old.seq, v_restated) end, v_later, v_open and not p_sure);
  v_period := v_period - coalesce(v_new.yields, '{}');
  if v_period <@ v_same and v_same_end then
    -- It says nothing new.
    node := v_old;
    contradicts := null;
    return;
  end if;
  v_new.version := greatest(v_old.version, v_old.told) + 1;
  v_new.recorded_at := greatest(pgmem.clock(), v_last + interval '1 microsecond');
  v_new.updated_at := pgmem.now();
  v_new.status := 'active';
  update pgmem.node_version v set replaced_at = v_new.recorded_at, ends_at = '-infinity'
  where v.node_seq = v_old.seq and v.replaced_at = 'infinity' and v.version = v_restated;
  if pgmem.takes_row(v_restated is not distinct from v_old.version,
       pgmem.state_period(v_old.begins_at, v_old.valid_to, v_old.yields), v_period, v_now) then
    if v_restated = v_old.version then
      perform pgmem.keep_state(v_old, '-infinity', v_new.recorded_at);
    else
      perform pgmem.keep_state(v_old);
    end if;
    node := pgmem.settled(pgmem.make_present(v_old, v_new));
  else
    v_new.tsv := (pgmem.derived(v_new.label, v_new.title, v_new.props, v_new.tenant, v_new.project_seq,
                                v_new.session_id, v_new.text_config)).tsv;
    perform pgmem.keep_state(v_new);
    perform pgmem.refresh_states(v_old.seq);
    select n.* into node from pgmem.node n where n.seq = v_old.seq;
  end if;
end;
$$;
comment on function pgmem.add_state is $$
Record the state of a node for a period, beside the states on record for other times. p_new has a valid_from.

node is the node in its present state. contradicts is its present state where both are open and the new one begins
before it: both would be true now, so a person decides. p_sure: it takes the whole period, as a person has decided.
$$;
