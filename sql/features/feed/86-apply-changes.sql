-- Changes of another store
--
-- apply_changes takes a page of another store's feed (84-feed) with the records beside it, or lines of its export, in
-- one transaction, with the rules of a save. It is idempotent: a stored record changes nothing.
--
-- A memory is a set of states, each known by the time it was recorded and by its content. Two stores that have both
-- changed a memory hold different sets; apply_changes joins them. The states are put in the order of their times, and
-- each holds for the period that the saves of one store would have given it (retold). A join of sets does not depend on
-- who is asked first or how often, so that stores which have all been in step hold the same history. An id that a memory
-- has elsewhere is kept in pgmem.imported.
--
--   the same name, or a decision with the same content    one memory; the other id becomes an alias
--   changed on both sides since                            both states are kept, the later one is current: conflict
--   a decision with a near title that the peer lacks       both stay, joined by CONFLICTS_WITH; a review asks which holds
--   purged on one side                                     purged on the other; a tombstone refuses later changes
--   global                                                 only from a store that has its approval, by who may decide
--   more trust than its author or the caller               stays as it is: refused
--
-- Who brings a change is not who made it. A state, a purge and a relation are compared with the trust that they were recorded
-- with, and with that of the caller where it is lower (author_of); a record is stored with the lower of both. Where two
-- stores have changed a memory, the state of less trust does not replace the other one's: it is on record as
-- one that never held.
--
-- Each record has a savepoint, so one that is refused leaves the others. The cursor of the peer is stored in the same
-- transaction: whoever is killed in between begins where it was.
--
-- Within a page: vocabulary, then purges, then projects, focus areas and other memories, edges, reviews; each kind in the
-- order in which it happened.
--
-- Locks: as import_records: the scopes of a kind, sorted, before the first of it is read. After 50 records and half a second a
-- page ends, so that nobody waits for its locks for long.


select pgmem.declare_table('peer', 'tenant', p_moves => 'always', p_adopted => 'missing');
select pgmem.declare_table('outstanding', 'tenant', p_moves => 'always', p_adopted => 'all');


create or replace function pgmem.states_of(p_record jsonb) returns table (
  state jsonb,
  at timestamptz,
  digest text
)
language sql immutable set search_path = pgmem, pg_temp as $$
  select s.value, (s.value ->> 'ingested_at')::timestamptz,
         md5(concat_ws(e'\x1f', s.value ->> 'title', s.value ->> 'key', s.value ->> 'status', s.value ->> 'props',
           extract(epoch from (s.value ->> 'valid_from')::timestamptz),
           '-', extract(epoch from (s.value ->> 'valid_to')::timestamptz)))
  from (
    select v.value from jsonb_array_elements(coalesce(p_record -> 'versions', '[]')) v
    union all
    select (p_record - '{versions,vectors,subjects,evidence,revisions}'::text[])
           || jsonb_build_object('ingested_at', p_record -> 'recorded_at', 'present', true)) s;
$$;
comment on function pgmem.states_of is 'The states of a memory in a line of an export, with the digest of each.';


-- As retold puts it on record: it was replaced at once, and ends before it begins.
create or replace function pgmem.was_outranked(p_state jsonb) returns boolean
language sql immutable
begin atomic
  select coalesce(p_state ->> 'ends_at' = '-infinity'
    and (p_state ->> 'replaced_at')::timestamptz = (p_state ->> 'ingested_at')::timestamptz + interval '1 microsecond', false);
end;
comment on function pgmem.was_outranked is 'Whether a state is on record as one that never held, as it had less trust than the one that it met.';


create or replace function pgmem.regions_of(p_states pgmem.node_version[]) returns tstzmultirange[]
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  v_regions tstzmultirange[];
  v_taken   tstzmultirange := '{}';
  v_state   pgmem.node_version;
begin
  for v_place in reverse cardinality(p_states) .. 1 loop
    v_state := p_states[v_place];
    v_regions[v_place] := case when pgmem.was_live_status(v_state.status) then pgmem.state_period(v_state.begins_at,
        case when v_state.replaced_at < 'infinity' then v_state.ends_at else v_state.valid_to end, v_state.yields)
      else '{}' end - v_taken;
    v_taken := v_taken + v_regions[v_place];
  end loop;
  return v_regions;
end;
$$;
comment on function pgmem.regions_of is 'When each of some states in the order of their times is true, as state_regions says it of stored ones.';


-- The states as the saves of both stores would have made them, had they come to one in the order of their times: one
-- with a valid_from holds for its period (add_state), any other takes the place of the state that was the present one
-- (number_version, record_version). One of less trust than the present one of the other store would have waited for a
-- person, and goes on waiting where a store knows that it did; which of two other states of one store holds was decided
-- there. Results of the states alone are worked out, so all stores come to the same.
create or replace function pgmem.retold(
  p_states pgmem.node_version[],
  p_arrived boolean[],
  p_outranked boolean[],
  out states pgmem.node_version[],
  out present integer,
  out outranked integer[]
)
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_dated    boolean := false;
  v_state    pgmem.node_version;
  v_row      pgmem.node_version;
  v_other    pgmem.node_version;
  v_regions  tstzmultirange[];
  v_after    tstzmultirange;
  v_later    tstzmultirange;
  v_holds    boolean;
  v_restated integer;
  v_found    integer;
  v_moment   timestamptz;
begin
  states := '{}';
  outranked := '{}';
  for v_place in 1 .. cardinality(p_states) + 1 loop
    v_state := p_states[v_place];
    v_moment := coalesce(v_state.ingested_at, pgmem.now());
    -- The present state of that moment (settled).
    v_row := states[present];
    v_regions := case when v_dated then pgmem.regions_of(states) end;
    v_found := case when pgmem.is_live_status(v_row.status) then (
      select r.place from unnest(v_regions) with ordinality as r(region, place)
      where r.region @> v_moment and pgmem.is_live_status((states[r.place]).status) limit 1) end;
    if v_found <> present then
      v_other := states[v_found];
      v_other.replaced_at := 'infinity';
      states[v_found] := v_other;
      present := v_found;
      v_row := v_other;
      v_regions := pgmem.regions_of(states);
    end if;
    exit when v_place > cardinality(p_states);
    v_state.version := v_place;
    v_state.replaced_at := 'infinity';
    v_state.ends_at := null;
    v_state.yields := null;
    v_dated := v_dated or v_state.valid_from is not null or v_state.valid_to is not null;
    if v_place = 1 then
      present := 1;
    elsif v_state.trust_level < v_row.trust_level and (p_outranked[v_place] or p_arrived[v_place] <> p_arrived[present]) then
      outranked := outranked || v_place;
      v_state.begins_at := pgmem.state_begins(v_state.valid_from, v_state.valid_to, v_moment, v_row.begins_at);
      v_state.ends_at := '-infinity';
      v_state.replaced_at := v_moment + interval '1 microsecond';
    elsif v_state.valid_from is not null and v_state.status = 'active' and pgmem.is_live_status(v_row.status) then
      v_regions := coalesce(v_regions, pgmem.regions_of(states));
      v_state.begins_at := v_state.valid_from;
      select max(o.version) filter (where o.replaced_at = 'infinity' and o.begins_at = v_state.valid_from
                 and (o.title, o.props) = (v_state.title, v_state.props) and v_regions[o.version] @> v_state.valid_from::timestamptz),
             range_agg(v_regions[o.version]) filter (where o.begins_at > v_state.valid_from)
      into v_restated, v_later from unnest(states) o where o.valid_from is not null;
      select range_agg(v_regions[o.version]) into v_after from unnest(states) o where o.version > v_restated;
      v_state.yields := pgmem.told_yields(v_restated is not null, (states[v_restated]).yields, v_after, v_later,
                                          v_state.valid_to is null);
      v_holds := pgmem.takes_row(v_restated is not distinct from present,
        pgmem.state_period(v_row.begins_at, v_row.valid_to, v_row.yields),
        pgmem.state_period(v_state.begins_at, v_state.valid_to, v_state.yields), v_moment);
      v_other := states[v_restated];
      if v_restated is not null and v_other.replaced_at = 'infinity' and (v_restated <> present or v_holds) then
        v_other.replaced_at := v_moment;
        v_other.ends_at := '-infinity';
        states[v_restated] := v_other;
      end if;
      present := case when v_holds then v_place else present end;
    else
      v_state.begins_at := pgmem.state_begins(v_state.valid_from, v_state.valid_to,
        case when (v_state.title, v_state.props) <> (v_row.title, v_row.props) then v_moment end, v_row.begins_at);
      select range_agg(v_regions[o.version]) into v_after from unnest(states) o where v_dated and o.version > present;
      v_state.yields := nullif(coalesce(v_row.yields, '{}') + coalesce(v_after, '{}'), '{}');
      v_row.ends_at := pgmem.state_ends(v_row.valid_to, (v_state.title, v_state.props) = (v_row.title, v_row.props),
                                        v_state.begins_at);
      v_row.replaced_at := greatest(v_moment, v_row.ingested_at + interval '1 microsecond');
      states[present] := v_row;
      if v_row.valid_from is not null and v_state.valid_from is null and v_row.valid_to is null
          and (v_state.title, v_state.props) <> (v_row.title, v_row.props) then
        for v_other in
          select o.* from unnest(states) o
          where o.replaced_at = 'infinity' and o.valid_to is null and coalesce(o.begins_at, '-infinity') < v_row.begins_at
        loop
          v_other.replaced_at := v_row.replaced_at;
          v_other.ends_at := v_row.begins_at;
          states[v_other.version] := v_other;
        end loop;
      end if;
      present := v_place;
    end if;
    states[v_place] := v_state;
  end loop;
end;
$$;
comment on function pgmem.retold is
  'States in the order of their times, each with its period as the saves of one store would give it; which is present, and '
  'which had less trust than the state they met.';


-- Whoever sends back a state that is known here says nothing about who wrote it, but where it is known there by more trust.
create or replace function pgmem.known_states(p_record jsonb, p_mine jsonb, p_caller pgmem.caller) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  with mine as materialized (
    select m.at, m.digest, jsonb_build_object('trust_level', m.state -> 'trust_level', 'source', m.state -> 'source',
                                              'agent_id', m.state -> 'agent_id') as given,
           (m.state ->> 'trust_level')::float8 as trust_level
    from pgmem.states_of(p_mine) m)
  select p_record
    || coalesce((select m.given from pgmem.states_of(p_record - 'versions') s join mine m using (at, digest)
                 where least((s.state ->> 'trust_level')::float8, p_caller.trust_level) <= m.trust_level limit 1), '{}')
    || coalesce((
      select jsonb_build_object('versions', jsonb_agg(v.value || coalesce(m.given, '{}') order by v.place))
      from jsonb_array_elements(p_record -> 'versions') with ordinality as v(value, place)
      cross join lateral pgmem.states_of(v.value || jsonb_build_object('recorded_at', v.value -> 'ingested_at')) s
      left join mine m on (m.at, m.digest) = (s.at, s.digest)
        and least((v.value ->> 'trust_level')::float8, p_caller.trust_level) <= m.trust_level
      having count(*) > 0), '{}');
$$;
comment on function pgmem.known_states is
  'A record in which the states that are known here have the trust and the writer that they have here.';


create or replace function pgmem.join_states(
  p_node pgmem.node,
  p_record jsonb,
  p_owner pgmem.caller,
  p_caller pgmem.caller
) returns text
language plpgsql set search_path = pgmem, pg_temp set timezone = 'UTC' set extra_float_digits = 1 as $$
declare
  v_mine    jsonb := pgmem.node_record(p_node, false);
  v_given   pgmem.node := jsonb_populate_record(null::pgmem.node, p_record);
  v_node    pgmem.node := p_node;
  v_last    jsonb;
  v_states  jsonb[];
  v_arrived integer;
  v_unseen  integer;
  v_whole   boolean;
  v_wins    boolean;
  v_told    pgmem.node_version[];
  v_present integer;
  v_below   integer[];
  v_differs boolean;
  v_back    boolean;
  v_later   boolean := v_given.updated_at > p_node.updated_at;
begin
  p_record := pgmem.known_states(p_record, v_mine, p_caller);
  v_given := jsonb_populate_record(null::pgmem.node, p_record);
  with held as (select m.state, m.at, m.digest, (m.state ->> 'trust_level')::float8 as weight,
                       pgmem.was_outranked(m.state) as outranked from pgmem.states_of(v_mine) m),
    theirs as (select t.state, t.at, t.digest,
                      (pgmem.author_of((t.state ->> 'trust_level')::float8, p_caller)).trust_level as weight,
                      pgmem.vouches(p_caller) and pgmem.was_outranked(t.state) as outranked
               from pgmem.states_of(p_record) t),
    -- One that is known here by somebody of less trust arrives.
    new as (select t.* from theirs t
            where not exists (select from held h where (h.at, h.digest) = (t.at, t.digest) and h.weight >= least(t.weight, p_caller.trust_level))),
    mine as (select h.* from held h where not exists (select from new n where (n.at, n.digest) = (h.at, h.digest))),
    together as (select m.*, false as arrived from mine m union all select n.*, true from new n)
  select array_agg(t.state || jsonb_build_object('arrived', t.arrived, 'weight', t.weight, 'outranked', exists (
           select from (select * from held union all select * from theirs) o
           where (o.at, o.digest) = (t.at, t.digest) and o.outranked)) order by t.at, t.digest),
         count(*) filter (where t.arrived),
         (select count(*) from mine m where not exists (
            select from theirs o where (o.at, o.digest) = (m.at, m.digest))),
         (select h.digest from held h where h.state ? 'present')
           is distinct from (select o.digest from theirs o where o.state ? 'present'),
         exists (select from held h join theirs o on (o.at, o.digest) = (h.at, h.digest)
                 where h.state ? 'present' and not o.state ? 'present')
  into v_states, v_arrived, v_unseen, v_differs, v_back from together t;
  if v_arrived = 0 and not v_later and v_given.created_at >= p_node.created_at then
    return 'present';
  end if;
  -- A store that knows all states that are known here has put them in order, reported late, announced or not.
  v_whole := v_unseen = 0 and v_arrived > 0 and not exists (
    select from unnest(v_states) s(state)
    where (s.state ->> 'arrived')::boolean and (s.state ->> 'weight')::float8 < p_node.trust_level);
  if v_whole then
    v_last := (select o.state from pgmem.states_of(p_record) o where o.state ? 'present');
  else
    select r.states, r.present, r.outranked into v_told, v_present, v_below
    from pgmem.retold(
      array(select jsonb_populate_record(null::pgmem.node_version, s.state || jsonb_build_object('trust_level', s.state -> 'weight'))
            from unnest(v_states) with ordinality as s(state, place) order by s.place),
      array(select (s.state ->> 'arrived')::boolean from unnest(v_states) with ordinality as s(state, place) order by s.place),
      array(select (s.state ->> 'outranked')::boolean from unnest(v_states) with ordinality as s(state, place) order by s.place)) r;
    v_last := v_states[v_present] || jsonb_build_object('begins_at', (v_told[v_present]).begins_at);
  end if;
  v_wins := v_whole or (v_last ->> 'arrived')::boolean or not v_last ? 'present';
  perform pgmem.require_arrival(p_record, p_node, p_caller);
  -- An earlier state too: it would change the memory's past.
  if pgmem.outranked(p_node.trust_level, p_caller) then
    raise exception using errcode = 'PM004', message = format(
      'It has trust %s here and the caller %s: a person decides.', p_node.trust_level, p_caller.trust_level);
  -- The same text with less trust, by a store that had this state: somebody took a word back there.
  elsif (v_differs or v_back) and exists (
      select from unnest(v_states) with ordinality as s(state, place)
      where (s.state ->> 'arrived')::boolean and s.state ? 'present'
        and (s.place = any (v_below) or (s.place = v_present or v_whole) and (s.state ->> 'weight')::float8 < p_node.trust_level)) then
    raise exception using errcode = 'PM004', message = format(case when v_differs
      then 'It has trust %s here, and what was made of it there has %s (%s): a person decides.'
      else 'It has trust %s here and was taken back there, to %s (%s): a person decides, and reverts it here too.' end,
      p_node.trust_level, v_given.trust_level, v_given.source);
  end if;
  if v_wins then
    v_node.key := v_last ->> 'key';
    v_node.title := v_last ->> 'title';
    v_node.props := v_last -> 'props';
    v_node.status := v_last ->> 'status';
    v_node.valid_from := (v_last ->> 'valid_from')::timestamptz;
    v_node.valid_to := (v_last ->> 'valid_to')::timestamptz;
    v_node.trust_level := least((v_last ->> 'trust_level')::float8, p_caller.trust_level);
    v_node.source := v_last ->> 'source';
    v_node.initial_confidence := (v_last ->> 'initial_confidence')::float8;
    if v_last ? 'present' then
      v_node.agent_id := v_given.agent_id;
      v_node.session_id := v_given.session_id;
    end if;
    v_node := pgmem.update_node(v_node);
    if not pgmem.is_hidden_status(v_node.status) then
      perform pgmem.import_vectors(v_node, p_record -> 'vectors');
    end if;
    perform pgmem.import_parts(v_node, p_record);
  end if;
  update pgmem.node n
  set version = case when v_whole then v_given.version else v_present end,
      yields = case when v_whole then v_given.yields else (v_told[v_present]).yields end,
      recorded_at = (v_last ->> 'ingested_at')::timestamptz,
      begins_at = (v_last ->> 'begins_at')::timestamptz, created_at = least(p_node.created_at, v_given.created_at),
      updated_at = greatest(p_node.updated_at, v_given.updated_at),
      initial_confidence = case when v_later and v_given.trust_level >= p_node.trust_level then v_given.initial_confidence
        else v_node.initial_confidence end
  where n.seq = p_node.seq returning n.* into v_node;
  if v_arrived > 0 then
    delete from pgmem.node_version v where v.node_seq = p_node.seq;
    perform pgmem.import_versions(v_node, case when v_whole then (
      select coalesce(jsonb_agg(v.value || jsonb_build_object('created_at', v_node.created_at,
          'trust_level', least((v.value ->> 'trust_level')::float8, p_caller.trust_level))), '[]')
      from jsonb_array_elements(p_record -> 'versions') v)
    else (
      select jsonb_agg(s.state || jsonb_build_object(
          'version', s.place, 'created_at', v_node.created_at,
          'trust_level', case when (s.state ->> 'arrived')::boolean
            then least((s.state ->> 'trust_level')::float8, p_caller.trust_level)
            else (s.state ->> 'trust_level')::float8 end,
          'begins_at', o.begins_at, 'ends_at', case when o.replaced_at < 'infinity' then o.ends_at else o.valid_to end,
          'yields', o.yields, 'replaced_at', o.replaced_at) order by s.place)
      from unnest(v_states) with ordinality as s(state, place) cross join lateral (select (v_told[s.place]).*) o
      where s.place <> v_present) end, p_owner);
  end if;
  return case when v_unseen = 0 then 'updated'
    when v_arrived > 0 and v_differs and pgmem.is_memory(p_node.label) then 'conflict'
    else 'joined' end;
end;
$$;
comment on function pgmem.join_states is
  'Join the states of a memory here with those of a record: present; updated, as there; joined or conflict, not as there.';


-- The same pair is the same review, whichever store finds it.
create or replace function pgmem.hold_near(p_one pgmem.node, p_other pgmem.node, p_owner pgmem.caller) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_later   pgmem.node := case when (p_one.created_at, p_one.id) > (p_other.created_at, p_other.id)
                            then p_one else p_other end;
  v_earlier pgmem.node := case when v_later.id = p_one.id then p_other else p_one end;
  v_hash    bytea := pgmem.near_hash(v_earlier.id, v_later.id);
  v_save_id uuid := encode(substr(v_hash, 1, 16), 'hex')::uuid;
begin
  if exists (select from pgmem.save_attempt a where a.tenant = p_owner.tenant and a.save_id = v_save_id) then
    return;
  end if;
  p_owner.made_at := v_later.created_at;
  perform pgmem.record_attempt(p_owner, 'save_decision', jsonb_strip_nulls(jsonb_build_object('title', v_later.title,
      'rationale', v_later.props -> 'rationale', 'project_id', v_later.project, 'focus', v_later.focus)), v_hash,
    pgmem.make_result('failed', v_later.id, 'manual_review', v_earlier.id,
      'It was saved in another store than its candidate, and both are stored: supersede replaces the candidate by it, '
      'new keeps both, drop leaves them as they are.',
      pgmem.review_step('new | supersede | drop'), v_save_id));
end;
$$;
comment on function pgmem.hold_near is 'Put under review that two stored decisions of two stores have near titles.';


create or replace function pgmem.live_times(p_record jsonb) returns tstzmultirange
language sql immutable set search_path = pgmem, pg_temp as $$
  select coalesce(range_agg(tstzrange(s.at, s.until)) filter (where pgmem.is_live_status(s.state ->> 'status')), '{}')
  from (select o.state, o.at, lead(o.at, 1, 'infinity') over (order by o.at, o.digest) as until
        from pgmem.states_of(p_record) o) s;
$$;
comment on function pgmem.live_times is 'When the memory of a record was live, by the times at which its states were recorded.';


-- Not whether it is live by now: which store superseded its own first would decide how many memories there are. The
-- history of a row is read once its hash fits, whatever the size of the scope.
create or replace function pgmem.repeat_in(p_node pgmem.node, p_record jsonb) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp set enable_seqscan = off as $$
declare
  v_hash text;
  v_node pgmem.node;
begin
  if p_node.key is null then
    select c.content_hash into v_hash
    from pgmem.composed(p_node.label, p_node.key, p_node.title, p_node.props, p_node.content_hash) c;
  end if;
  if v_hash is null then
    return null;
  end if;
  for v_node in
    select n.* from pgmem.node n
    where n.scope_key = p_node.scope_key and n.tenant || '' = p_node.tenant and n.content_hash = v_hash
    order by n.created_at, n.seq
  loop
    if pgmem.live_times(pgmem.node_record(v_node, false)) && pgmem.live_times(p_record) then
      return v_node;
    end if;
  end loop;
  return null;
end;
$$;
comment on function pgmem.repeat_in is
  'The first memory of the same content that was live here while that of a record was live there: in one store they were one.';


create or replace function pgmem.near_since(p_node pgmem.node, p_since text, p_until text) returns table (
  node pgmem.node,
  apart boolean,
  differs boolean
)
language plpgsql stable set search_path = pgmem, pg_temp set enable_seqscan = off as $$
declare
  v_from record := pgmem.feed_place_or(p_since, null);
  v_end  record := pgmem.feed_place_or(p_until, 'now');
begin
  return query
  select row(n.*)::pgmem.node, t.apart, t.contradicts
  from pgmem.ranked_tokens(p_node.title_tokens, p_node.scope_key) r
  cross join lateral (select distinct t.node_seq from pgmem.title_candidates(r.ranked, p_node.scope_key) t) c
  cross join lateral (select * from pgmem.node o where o.seq = c.node_seq offset 0) n
  cross join lateral (select pgmem.jaccard(n.title_tokens, p_node.title_tokens) as score offset 0) s
  cross join lateral (select d.is_apart or d.leads and s.score < pgmem.setting_float('dedup_supersede') as apart,
    d.axis is not null as contradicts from pgmem.title_difference(n.title, p_node.title) d offset 0) t
  where n.tenant = p_node.tenant and n.status = 'active' and n.seq <> p_node.seq
    and s.score >= pgmem.setting_float('dedup_manual_review') and (t.contradicts or not t.apart)
    and exists (select from pgmem.change h
                where (h.stamp, h.seq) > (v_from.stamp, v_from.seq) and (h.stamp, h.seq) <= (v_end.stamp, v_end.seq)
                  and h.id = n.id and h.kind = 'saved');
end;
$$;
comment on function pgmem.near_since is
  'The decisions of near titles that were saved here between two cursors, so that a peer does not know them; whether each is '
  'of another thing, and whether it says otherwise of the same.';


create or replace function pgmem.apply_node(
  p_node pgmem.node,
  p_record jsonb,
  p_owner pgmem.caller,
  p_caller pgmem.caller,
  p_since text,
  p_until text
) returns text
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_old  pgmem.node := pgmem.imported_node(p_node.id, p_owner);
  v_near record;
  v_done text;
  v_purged float8;
begin
  if v_old.seq is null then
    select max(t.trust_level) into v_purged from pgmem.tombstone t
    where t.id = p_node.id and t.tenant = any (p_owner.tenants);
    if v_purged >= (pgmem.author_of(p_node.trust_level, p_caller)).trust_level then
      return 'purged';
    end if;
    perform pgmem.require_arrival(p_record, null, p_caller);
    v_old := pgmem.repeat_in(p_node, p_record);
    if v_old.seq is not null then
      insert into pgmem.imported (id, node_seq) values (p_node.id, v_old.seq);
      v_done := 'merged';
    end if;
  end if;
  if v_old.seq is null then
    p_node.trust_level := least(p_node.trust_level, p_caller.trust_level);
    p_record := p_record || jsonb_build_object('versions', (
      select coalesce(jsonb_agg(v.value || jsonb_build_object(
        'trust_level', least((v.value ->> 'trust_level')::float8, p_caller.trust_level))), '[]')
      from jsonb_array_elements(coalesce(p_record -> 'versions', '[]')) v));
    v_done := pgmem.import_node(p_node, p_record, p_owner, true);
    if v_purged is not null then
      -- Whoever had it purged may not purge this one; else it would be in one store and not in the other.
      delete from pgmem.tombstone t where t.id = p_node.id and t.tenant = any (p_owner.tenants);
    end if;
    if v_done = 'taken' and (p_node.label <> 'Decision' or p_node.status <> 'active' or p_until is null) then
      return v_done;
    end if;
    v_old := pgmem.imported_node(p_node.id, p_owner);
    if v_done = 'taken' then
      -- Near to one that the peer does not know: it was saved here since the peer was last sent changes.
      for v_near in select * from pgmem.near_since(v_old, p_since, p_until) loop
        perform pgmem.insert_edge(least((v_near.node).seq, v_old.seq), 'CONFLICTS_WITH',
          greatest((v_near.node).seq, v_old.seq));
        if not (v_near.apart or v_near.differs) then
          perform pgmem.hold_near(v_near.node, v_old, p_owner);
        end if;
        v_done := 'review';
      end loop;
      return v_done;
    end if;
  end if;
  begin
    v_done := coalesce(nullif(pgmem.join_states(v_old, p_record, p_owner, p_caller), 'present'), v_done, 'present');
  exception when sqlstate 'PM004' then
    -- A project that only says the same of itself in other words keeps its own; its contents arrive.
    if v_old.label not in ('Project', 'FocusArea') then
      raise;
    end if;
    v_done := coalesce(v_done, 'present');
  end;
  return v_done;
end;
$$;
comment on function pgmem.apply_node is 'Take a memory of another store: returns its outcome.';


create or replace function pgmem.apply_purge(p_record jsonb, p_owner pgmem.caller, p_caller pgmem.caller) returns text
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node   pgmem.node := pgmem.imported_node((p_record ->> 'id')::uuid, p_owner);
  v_author pgmem.caller := pgmem.author_of((p_record ->> 'trust_level')::float8, p_caller);
  v_done   text := 'present';
begin
  if v_node.seq is not null then
    perform pgmem.require_own(v_node, p_caller);
    if pgmem.needs_review(v_node, p_caller, true) then
      raise exception using errcode = 'PM004', message = 'It was purged there; here a person decides over that.';
    elsif pgmem.outranked(v_node.trust_level, v_author) then
      raise exception using errcode = 'PM004', message = format(
        'It was purged there with trust %s and has %s here: a person decides over that.', v_author.trust_level,
        v_node.trust_level);
    end if;
    perform pgmem.lock_scope(v_node.scope_key);
    perform pgmem.bury(array[v_node.seq], v_author);
    perform pgmem.delete_node(v_node.seq);
    v_done := 'purged';
  end if;
  perform pgmem.drop_outstanding((p_record ->> 'id')::uuid, p_caller.tenant);
  insert into pgmem.tombstone (id, label, org_id, user_id, trust_level, content_hash, purged_by, agent_id, source,
    purged_at)
  select t.id, t.label, p_owner.org_id, p_owner.user_id, t.trust_level, t.content_hash, t.purged_by, t.agent_id,
         t.source, t.purged_at
  from jsonb_populate_record(null::pgmem.tombstone, p_record) t
  on conflict (id, tenant) do update set trust_level = excluded.trust_level
    where excluded.trust_level > pgmem.tombstone.trust_level;
  return case when found then 'purged' else v_done end;
end;
$$;
comment on function pgmem.apply_purge is 'Purge a memory that was purged in another store, and keep its tombstone.';


create or replace function pgmem.apply_review(
  p_record jsonb,
  p_owner pgmem.caller,
  p_caller pgmem.caller
) returns text
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  if pgmem.import_save(p_record, p_owner) = 'taken' then
    return 'taken';
  end if;
  -- Who decided first has decided for both stores.
  update pgmem.save_attempt a
  set status = r.status, arguments = case when r.status <> 'saved' then a.arguments end, resolved_by = r.resolved_by,
      dedup_outcome = r.dedup_outcome, message = r.message, artifact_id = coalesce((pgmem.imported_node(r.artifact_id, p_owner)).id, r.artifact_id),
      updated_at = r.updated_at
  from jsonb_populate_record(null::pgmem.save_attempt, p_record) r
  where a.tenant = p_owner.tenant and a.save_id = r.save_id and r.status in ('saved', 'dropped')
    and (a.status not in ('saved', 'dropped') or r.updated_at < a.updated_at);
  return case when found then 'updated' else 'present' end;
end;
$$;
comment on function pgmem.apply_review is 'Take a save under review of another store, or the decision over one.';


create or replace function pgmem.change_line(p_change jsonb) returns jsonb
language sql immutable set search_path = pgmem, pg_temp as $$
  select coalesce(nullif(p_change -> 'record', 'null'), case
    when p_change ? 'type' then p_change
    when p_change ->> 'kind' = 'unrelated' then jsonb_build_object('type', 'unrelated', 'src', p_change -> 'id',
      'rel', p_change -> 'label', 'dst', p_change -> 'other_id') end);
$$;
comment on function pgmem.change_line is
  'The record of a change of a page, in the form of a line of an export; null for '
  'none.';


-- Once for a page: it is read for each kind.
create or replace function pgmem.apply_lines(p_changes jsonb, out records jsonb[], out kinds text[])
language sql immutable set search_path = pgmem, pg_temp as $$
  select array_agg(r.record order by r.place), array_agg(case
    when r.record ->> 'type' in ('label', 'relation', 'model') then 'vocabulary'
    when r.record ->> 'type' = 'node' then case when r.record ->> 'label' in ('Project', 'FocusArea')
      then r.record ->> 'label' else 'node' end
    when r.record ->> 'type' in ('edge', 'unrelated') then 'edge'
    when r.record ->> 'type' in ('purge', 'save') then r.record ->> 'type'
    when r.record is not null then 'unknown' end order by r.place)
  from (select c.place, pgmem.change_line(c.value) as record
        from jsonb_array_elements(p_changes) with ordinality as c(value, place) offset 0) r;
$$;
comment on function pgmem.apply_lines is
  'The records that the changes of a page bring, each at its place, and the kind of each; null for a change without one.';


-- Purged containers after their contents.
create or replace function pgmem.places_of_kind(p_records jsonb[], p_kinds text[], p_kind text) returns integer[]
language sql immutable set search_path = pgmem, pg_temp as $$
  select array_agg(k.place::integer order by
    case when p_kind = 'purge' then array_position('{FocusArea,Project}'::text[], p_records[k.place] ->> 'label') end nulls first,
    k.place)
  from unnest(p_kinds) with ordinality as k(kind, place) where k.kind = p_kind;
$$;
comment on function pgmem.places_of_kind is 'The places in a page of the records of one kind, in the order in which they are taken.';


-- Projects before their contents, as in every save.
create or replace function pgmem.lock_purged(p_records jsonb[], p_kinds text[], p_caller pgmem.caller) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_keys bigint[];
begin
  select array_agg(n.scope_key) into v_keys
  from unnest(p_records, p_kinds) as l(record, kind)
  cross join lateral pgmem.imported_node(case when pgmem.is_uuid(l.record ->> 'id') then (l.record ->> 'id')::uuid end,
    pgmem.import_owner(l.record, p_caller, false)) n
  where l.kind = 'purge' and n.seq is not null;
  if v_keys is not null then
    perform pgmem.lock_scopes(array(
      select pgmem.scope_key((pgmem.import_owner(l.record, p_caller, false)).tenant, null, 'Project')
      from unnest(p_records, p_kinds) as l(record, kind) where l.kind = 'Project'));
    perform pgmem.lock_scopes(v_keys);
  end if;
end;
$$;
comment on function pgmem.lock_purged is
  'Lock the scopes of the memories that a page purges, behind those of the projects that it brings.';


-- How far two stores are in step decides which changes are never read again, so a writer beside the person who keeps it does
-- not say it. The server says it for a store that has a token to exchange; a folder is kept by whoever reads it.
create or replace function pgmem.keeps_cursor(p_peer text, p_caller pgmem.caller) returns boolean
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if p_peer !~ '^(((folder|seen) )?[0-9a-f]{12}|folder|webhook [0-9a-f]{16})$' then
    raise exception using errcode = 'PM001',
      message = 'peer must be what the cursors of another store begin with: 12 hexadecimal digits.';
  end if;
  return pgmem.vouches(p_caller) or p_peer not like 'folder%' and pgmem.is_trusted();
end;
$$;
comment on function pgmem.keeps_cursor is
  'Whether the cursors that a caller sends for a peer are kept; an error where it names no store.';


select pgmem.declare_answer('arrival', $$
The fate of a change of another store.

place integer: Its place in the page, from 1 on.
outcome taken|present|merged|updated|conflict|review|purged|refused|waits
id text?, title text?
reason text?: Why it was refused.
$$);

create or replace function pgmem.apply_changes(
  p_changes pgmem.objects,
  p_peer text default null,
  p_cursor text default null,
  p_since text default null,
  p_until text default null,
  p_dry_run boolean default false,
  p_pushed text default null,
  p_keep boolean default false
) returns setof pgmem.arrival
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_kind   text;
  v_kinds  text[];
  v_lines  jsonb[];
  v_line   jsonb;
  v_places integer[];
  v_place  integer;
  v_owner  pgmem.caller;
  v_nodes  pgmem.node[];
  v_rows   jsonb[] := '{}';
  v_row    jsonb;
  v_done   text;
  v_src    uuid[] := '{}';
  v_dst    uuid[] := '{}';
  v_began  timestamptz := clock_timestamp();
  v_count  integer := 0;
  v_late   boolean := false;
  v_keeps  boolean := pgmem.keeps_cursor(p_peer, v_caller);
begin
  perform pgmem.require_objects(p_changes, 'changes', 'those of a page that changes has returned with content');
  select l.records, l.kinds into v_lines, v_kinds from pgmem.apply_lines(p_changes) l;
  begin
    -- No id lives again after its purge, so a purge comes before the memory that was saved after it under the same name.
    foreach v_kind in array '{vocabulary,purge,Project,FocusArea,node,edge,save,unknown}'::text[] loop
      v_places := pgmem.places_of_kind(v_lines, v_kinds, v_kind);
      continue when v_places is null;
      v_nodes := '{}';
      if v_late then
        null;
      elsif v_kind = 'purge' then
        perform pgmem.lock_purged(v_lines, v_kinds, v_caller);
      elsif v_kind in ('Project', 'FocusArea', 'node') then
        foreach v_place in array v_places loop
          begin
            v_lines[v_place] := pgmem.as_arrived(v_lines[v_place], v_caller);
            v_owner := pgmem.import_owner(v_lines[v_place], v_caller, false);
            v_nodes[v_place] := pgmem.import_place(v_lines[v_place], v_owner);
          exception when integrity_constraint_violation or data_exception or program_limit_exceeded or sqlstate 'PM001'
            or sqlstate 'PM002' or sqlstate 'PM004' or sqlstate 'PM010' or sqlstate 'PM011' then
            v_rows[v_place] := jsonb_build_object('outcome', 'refused', 'reason', sqlerrm);
          end;
        end loop;
        perform pgmem.lock_scopes(array(select n.scope_key from unnest(v_nodes) n where n.scope_key is not null));
      end if;
      foreach v_place in array v_places loop
        continue when v_rows[v_place] is not null;
        -- Others wait for the locks of this transaction. So many are taken in any case, so that whoever sends the rest comes to an end.
        v_late := v_late or not p_dry_run and v_count >= 50 and clock_timestamp() > v_began + interval '0.5 seconds';
        if v_late then
          v_rows[v_place] := '{"outcome": "waits"}';
          continue;
        end if;
        v_count := v_count + 1;
        begin
          v_line := v_lines[v_place];
          if v_nodes[v_place] is null then
            v_line := pgmem.as_arrived(v_line, v_caller);
          end if;
          v_owner := pgmem.import_owner(v_line, v_caller, false);
          v_done := case v_line ->> 'type'
            when 'node' then pgmem.apply_node(v_nodes[v_place], v_line, v_owner, v_caller, p_since, p_until)
            when 'purge' then pgmem.apply_purge(v_line, v_owner, v_caller)
            when 'edge' then pgmem.apply_edge(v_line, v_caller)
            when 'unrelated' then pgmem.remove_edge(v_line, v_caller)
            when 'save' then pgmem.apply_review(v_line, v_owner, v_caller)
            when 'label' then pgmem.apply_word(v_line, v_caller)
            when 'relation' then pgmem.apply_word(v_line, v_caller)
            when 'model' then 'present' end;
          if v_done is null then
            raise exception using errcode = 'PM001', message = format(
              case v_line ->> 'type' when 'unreadable' then 'It cannot be read: %2$s.'
                else 'Its type %1$s is not known to this release: upgrade pgmem.' end,
              left(v_line ->> 'type', 80), v_line ->> 'reason');
          end if;
          v_rows[v_place] := jsonb_build_object('outcome', case v_done when 'joined' then 'updated' else v_done end);
          if v_done in ('taken', 'updated') then
            v_src := v_src || coalesce(v_line ->> 'src', v_line ->> 'id')::uuid;
            v_dst := v_dst || coalesce(v_line ->> 'dst', v_line ->> 'id')::uuid;
          end if;
        exception
          when integrity_constraint_violation or data_exception or program_limit_exceeded or sqlstate 'PM001'
            or sqlstate 'PM002' or sqlstate 'PM004' or sqlstate 'PM010' or sqlstate 'PM011' or sqlstate 'PM099' then
            v_rows[v_place] := jsonb_build_object('outcome', 'refused', 'reason', sqlerrm);
        end;
      end loop;
    end loop;
    -- Records that are now the same on both sides: the peer need not read it.
    update pgmem.change c set origin = p_peer
    where p_peer is not null and c.stamp >= pg_current_xact_id()
      and (c.id, coalesce(c.other_id, c.id)) in (
        select u.src, u.dst from unnest(v_src, v_dst) as u(src, dst)
        union all select u.dst, u.src from unnest(v_src, v_dst) as u(src, dst));
    if p_keep and p_peer is not null then
      perform pgmem.keep_outstanding(v_caller, p_peer, 'here', p_changes, v_rows);
    end if;
    if p_peer is not null and coalesce(p_cursor, p_pushed) is not null and v_keeps and not v_late then
      insert into pgmem.peer as p (tenant, name, pulled, pushed, synced_at)
      values (v_caller.tenant, p_peer, p_cursor, p_pushed, pgmem.now())
      on conflict on constraint peer_pkey do update set pulled = coalesce(excluded.pulled, p.pulled),
        pushed = coalesce(excluded.pushed, p.pushed), synced_at = excluded.synced_at;
    end if;
    if p_dry_run then
      raise exception using errcode = 'PM098', message = 'a dry run is rolled back';
    end if;
  exception when sqlstate 'PM098' then
    null;
  end;
  return query
  select r.place::integer, r.value ->> 'outcome',
         coalesce(c.value ->> 'id', c.value #>> '{record,id}'),
         coalesce(c.value #>> '{record,title}', c.value ->> 'title', c.value ->> 'label'), r.value ->> 'reason'
  from unnest(v_rows) with ordinality as r(value, place)
  cross join lateral (select p_changes -> (r.place::integer - 1) as value) c
  where r.value is not null order by r.place;
end;
$$;
comment on function pgmem.apply_changes is $$
Take a page of another store's feed by the rules of a save; stored records stay.

Returns the outcome of each change that brings a record: taken, present, merged (it exists under another id), updated,
conflict (changed on both sides: both states are kept, the later one is current), review (a decision with a near title
exists), purged, or refused, with the reason. A part of a long page is taken, so that others wait for half a second only;
for the rest it returns waits, and it keeps no cursor: send the changes that wait again, in their order, until none does. A
dry run takes the whole page.

changes: The changes of a page that `changes` returned with content, or lines of an export.
peer: The beginning of the other store's cursors; `changes` without it leaves out changes that came from there.
cursor: The cursor of the page, kept for known_peer; of the owner and reviewers only, as pushed is.
since: The cursor of this feed up to which the other store knows it; unset, or one that cannot be used: all that it keeps is new.
until: The cursor of this feed when the exchange began; unset: near titles are not compared.
pushed: The cursor of this feed behind the last change that the peer has applied, kept for known_peer.
keep: Whether refused changes are kept for list_outstanding, which the caller offers again.

InvalidArgument: changes is not a list, or peer is not a store.
$$;
select pgmem.declare_verb('apply_changes', p_rights => 'writer', p_effect => 'repeat',
  p_answer => 'list[Arrival]', p_patience => 'report',
  p_reads => 2000);


-- The login of a server may be the owner and call for an agent, so init_schema does not ask enough.
create or replace function pgmem.apply_word(p_record jsonb, p_caller pgmem.caller) returns text
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  if pgmem.vouches(p_caller) then
    return pgmem.import_word(p_record);
  elsif not exists (select from pgmem.label l where l.name = p_record ->> 'name')
      and not exists (select from pgmem.relation r where r.name = p_record ->> 'name') then
    raise exception using errcode = 'PM004', message = format(
      '%s is new to this store, whose words all tenants share: its owner or a reviewer adds it.',
      quote_literal(left(p_record ->> 'name', 80)));
  end if;
  return 'present';
end;
$$;
comment on function pgmem.apply_word is 'Register a label or a relation of another store, where its caller vouches for it.';


create or replace function pgmem.require_link(
  p_src pgmem.node,
  p_rel text,
  p_dst pgmem.node,
  p_caller pgmem.caller
) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_other pgmem.node;
begin
  if p_rel not in ('SUPERSEDES', 'OUTDATES', 'MERGES_INTO', 'CONFLICTS_WITH', 'SIMILAR_TO') then
    return;
  elsif p_src.tenant <> p_dst.tenant then
    raise exception using errcode = 'PM004', message = format(
      '%s says which memory holds: it joins two of one owner.', p_rel);
  elsif pgmem.outranked(greatest(p_src.trust_level, p_dst.trust_level), p_caller) then
    raise exception using errcode = 'PM004', message = format(
      '%s says which memory holds, and one of the two has more trust than the caller: a person decides.', p_rel);
  elsif p_rel in ('SUPERSEDES', 'OUTDATES', 'MERGES_INTO') then
    -- Nobody says who made it: the author of the memory that holds by it, who may have done it.
    if p_rel = 'MERGES_INTO' then
      v_other := p_src;
      p_src := p_dst;
      p_dst := v_other;
    end if;
    if pgmem.is_live_status(p_dst.status) and pgmem.outranked(p_dst.trust_level, pgmem.author_of(p_src.trust_level, p_caller)) then
      raise exception using errcode = 'PM004', message = format(
        '%s says which memory holds, and the other one has more trust: a person decides.', p_rel);
    end if;
  end if;
end;
$$;
comment on function pgmem.require_link is
  'An error where a caller may not make or remove a relation that says which of two memories holds, or that both do.';


create or replace function pgmem.apply_edge(p_record jsonb, p_caller pgmem.caller) returns text
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_src pgmem.node := pgmem.imported_node((p_record ->> 'src')::uuid, p_caller);
  v_dst pgmem.node := pgmem.imported_node((p_record ->> 'dst')::uuid, p_caller);
begin
  if not exists (select from pgmem.edge e join pgmem.relation r on r.name = e.rel where e.rel = p_record ->> 'rel'
      and (e.src, e.dst) in ((v_src.seq, v_dst.seq), (v_dst.seq, v_src.seq)) and (e.src = v_src.seq or r.undirected)) then
    perform pgmem.require_link(v_src, p_record ->> 'rel', v_dst, p_caller);
  end if;
  return pgmem.import_edge(p_record, p_caller, false);
end;
$$;
comment on function pgmem.apply_edge is 'Join two memories as they are joined in another store.';


create or replace function pgmem.remove_edge(p_record jsonb, p_caller pgmem.caller) returns text
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_src pgmem.node := pgmem.imported_node((p_record ->> 'src')::uuid, p_caller);
  v_dst pgmem.node := pgmem.imported_node((p_record ->> 'dst')::uuid, p_caller);
begin
  if v_src.seq is null or v_dst.seq is null then
    return 'present';
  end if;
  if v_dst.tenant not in (p_caller.tenant, pgmem.tenant_of(p_caller.org_id)) then
    perform pgmem.require_own(v_src, p_caller);
  end if;
  perform pgmem.require_link(v_src, p_record ->> 'rel', v_dst, p_caller);
  delete from pgmem.edge e where e.rel = p_record ->> 'rel'
    and (e.src, e.dst) in ((v_src.seq, v_dst.seq), (v_dst.seq, v_src.seq))
    and (e.src = v_src.seq or (select r.undirected from pgmem.relation r where r.name = e.rel));
  return case when found then 'updated' else 'present' end;
end;
$$;
comment on function pgmem.remove_edge is 'Remove an edge that was removed in another store.';


select pgmem.declare_answer('peer_state', $$
The relation of a store to another one, and how far the two are in step.

feed text: Its cursors begin with this.
release text
at timestamptz: Its clock.
pulled text?: The cursor behind the last change of the other store that is applied here.
pushed text?: The cursor of this feed behind the last change that is applied there.
models text[] = {}: The models of its vectors.
build text?: The state of pgmem within its release: the beginning of the digest of its SQL.
seen text?: The cursor behind the last change that the other store has offered, whether or not it was taken.
$$);

create or replace function pgmem.known_peer(p_peer text default null) returns pgmem.peer_state
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_state pgmem.peer_state;
begin
  select p.pulled, p.pushed into v_state.pulled, v_state.pushed from pgmem.peer p
  where p.tenant = (pgmem.caller()).tenant and p.name = p_peer;
  v_state.seen := (select p.pulled from pgmem.peer p
                   where p.tenant = (pgmem.caller()).tenant and p.name = 'seen ' || p_peer);
  v_state.feed := pgmem.feed_name();
  select v.release, left(v.digest, 8) into v_state.release, v_state.build from pgmem.schema_version v;
  v_state.at := clock_timestamp();
  v_state.models := array(select m.name from pgmem.embedding_model m where pgmem.has_vectors() order by m.name);
  return v_state;
end;
$$;
comment on function pgmem.known_peer is $$
Describe this store to another one, and how far the two are in step.

peer: The beginning of the other store's cursors.
$$;
select pgmem.declare_verb('known_peer', p_rights => 'reader', p_effect => 'look', p_answer => 'PeerState');


create or replace function pgmem.change_about(p_change jsonb) returns text
language sql immutable set search_path = pgmem, pg_temp as $$
  select left(case
    when r.line ->> 'type' in ('edge', 'unrelated') then concat_ws(' ', r.line ->> 'src', r.line ->> 'rel', r.line ->> 'dst')
    when r.line ->> 'type' = 'save' then r.line ->> 'save_id'
    when r.line ->> 'type' in ('label', 'relation', 'model') then concat_ws(' ', r.line ->> 'type', r.line ->> 'name')
    else coalesce(r.line ->> 'id', md5(r.line::text)) end, 400)
  from (select coalesce(pgmem.change_line(p_change), p_change) as line) r;
$$;
comment on function pgmem.change_about is
  'The subject of a change: the same for all that is sent of one memory, relation, review or word.';


create or replace function pgmem.keep_outstanding(
  p_caller pgmem.caller,
  p_peer text,
  p_direction text,
  p_changes jsonb,
  p_outcomes jsonb[]
) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  delete from pgmem.outstanding o
  using jsonb_array_elements(p_changes) with ordinality as c(value, place)
  where o.tenant = p_caller.tenant and o.peer = p_peer and o.direction = p_direction
    and o.about = pgmem.change_about(c.value) and p_outcomes[c.place] ->> 'outcome' not in ('refused', 'waits');
  insert into pgmem.outstanding as o (tenant, peer, direction, about, change, title, reason, since, tried_at)
  select distinct on (pgmem.change_about(c.value)) p_caller.tenant, p_peer, p_direction, pgmem.change_about(c.value), c.value,
    left(coalesce(c.value #>> '{record,title}', c.value ->> 'title', c.value ->> 'label', c.value ->> 'rel'), 200),
    coalesce(p_outcomes[c.place] ->> 'reason', 'It was refused.'), pgmem.clock(), pgmem.clock()
  from jsonb_array_elements(p_changes) with ordinality as c(value, place)
  where p_outcomes[c.place] ->> 'outcome' = 'refused'
  order by pgmem.change_about(c.value), c.place desc
  on conflict on constraint outstanding_once do update set change = excluded.change, title = excluded.title,
    reason = excluded.reason, tried_at = excluded.tried_at, tries = o.tries + 1;
  if found and (select count(*) from pgmem.outstanding o
                where o.tenant = p_caller.tenant and o.peer = p_peer) > pgmem.setting_int('outstanding_limit') then
    raise exception using errcode = 'PM001', message = format(
      'More than %s changes of an exchange with %s are outstanding (outstanding_limit): see them with list_outstanding, solve or '
      'dismiss them, then sync again.', pgmem.setting_text('outstanding_limit'), p_peer);
  end if;
end;
$$;
comment on function pgmem.keep_outstanding is
  'Keep the refused ones of some changes, so that they are offered again, and forget those refused before that are done.';


create or replace function pgmem.note_outstanding(
  p_peer text,
  p_changes pgmem.objects,
  p_outcomes pgmem.objects
) returns integer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_rows   jsonb[] := '{}';
  v_row    jsonb;
begin
  for v_row in select r.value from jsonb_array_elements(p_outcomes) r(value) loop
    v_rows[(v_row ->> 'place')::integer] := v_row;
  end loop;
  perform pgmem.keep_outstanding(v_caller, p_peer, 'there', p_changes, v_rows);
  return (select count(*) from pgmem.outstanding o
          where o.tenant = v_caller.tenant and o.peer = p_peer and o.direction = 'there');
end;
$$;
comment on function pgmem.note_outstanding is $$
Keep the changes that another store refused, so that they are offered again; how many wait for it.

peer: The beginning of the other store's cursors.
changes: The changes that were sent.
outcomes: The answer of the other store: place, outcome and reason of each, as apply_changes returns them.

InvalidArgument: More than outstanding_limit changes of this store are refused.
$$;
select pgmem.declare_verb('note_outstanding', p_rights => 'writer', p_effect => 'repeat');


select pgmem.declare_answer('outstanding_answer', $$
A change that was refused in an exchange and is offered again at each sync.

`direction`: here, it came from the other store and this one refused it; there, the other way round. `change` was sent,
`about` names its memory, relation, review or word, `since` is when it was refused for the first time.

class Outstanding
id uuid, peer text, direction text, about text, title text?, reason text, since timestamptz, tried_at timestamptz
tries integer, change object
$$);

create or replace function pgmem.list_outstanding(
  p_peer text default null,
  p_direction text default null,
  p_after uuid default null,
  p_limit pgmem.row_limit default 500
) returns setof pgmem.outstanding_answer
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_tenant text := (pgmem.caller()).tenant;
begin
  return query
  select o.id, o.peer, o.direction, o.about, o.title, o.reason, o.since, o.tried_at, o.tries, o.change
  from pgmem.outstanding o
  where o.tenant = v_tenant and (p_peer is null or o.peer = p_peer) and (p_direction is null or o.direction = p_direction)
    and (p_after is null or (o.since, o.id) > (select b.since, b.id from pgmem.outstanding b
                                               where b.id = p_after and b.tenant = v_tenant))
  order by o.since, o.id limit p_limit;
end;
$$;
comment on function pgmem.list_outstanding is $$
List changes that were refused in exchanges and are offered again, the oldest first.

peer: The beginning of the other store's cursors; unset: all.
direction: here: refused here; there: refused by the other store; unset: both.
after: The id of the last one of the page before.
$$;
select pgmem.declare_verb('list_outstanding', p_rights => 'reader', p_effect => 'look', p_answer => 'list[Outstanding]');


create or replace function pgmem.dismiss_outstanding(p_id uuid default null, p_all boolean default false) returns integer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_gone   integer;
begin
  if (p_id is null) = not p_all then
    raise exception using errcode = 'PM001', message = 'Send the id of one change, as list_outstanding gives it, or all.';
  end if;
  delete from pgmem.outstanding o where o.tenant = v_caller.tenant and (p_all or o.id = p_id);
  get diagnostics v_gone = row_count;
  if v_gone = 0 and not p_all then
    raise exception using errcode = 'PM002',
      message = format('No outstanding change %s found; list_outstanding shows them.', p_id);
  end if;
  return v_gone;
end;
$$;
comment on function pgmem.dismiss_outstanding is $$
Give up changes that were refused in an exchange, so that they are not offered again; how many.

A memory that changes again travels again.

id: The id of one, as list_outstanding gives it.
all: All of them.

InvalidArgument: Neither or both are sent.
MemoryNotFound: no such change is outstanding.
$$;
select pgmem.declare_verb('dismiss_outstanding', p_rights => 'writer', p_effect => 'remove', p_answer => 'int');
