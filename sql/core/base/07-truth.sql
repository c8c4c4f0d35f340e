-- Truth, labels and places
--
-- One rule each, as a function that is inlined where it is used: without SET clause and subquery, so that an index
-- serves it. Live memories are those that retrieval, search, dedup and counts show: a live status, and valid_from and
-- valid_to around this moment. Confidence is computed when it is read and never stored.
--
-- Every recorded state of a memory has an effective period, begins_at to ends_at. valid_from and valid_to stay as
-- somebody set them; state_begins and state_ends follow from them and from the next state. States that
-- differ in title or properties differ in content. Other content takes the place of the earlier state from where it
-- begins; the same content with another period, status or trust restates the earlier state as a whole. A state that is
-- saved with its own valid_from is kept beside the others (16-states).
-- docs/decisions/0029 and 0037 have the reasons, 40-time-travel reads the periods.
--
-- A memory lives in a tenant (tenant_of) and in a place (place_of: global, a project, or a focus area of a project).
-- With its label they make one number, the scope_key, by which rows are found and locks are kept. It is a hash, so it
-- decides nothing: whoever reads or writes by it compares the tenant too, and its unique indexes hold the tenant. The
-- tenant is compared as an expression (tenant || ''), as in fits: while a store fills, an index by tenant looks as good
-- as that of the scope, and reads all memories of the tenant. That nobody can choose a name whose key is that of another
-- tenant, and let it wait for a lock, rests on the secret of the store (store_secret), which no client reads and no
-- export holds.
--
-- Locks: none.


create or replace function pgmem.valid_at(
  p_valid_from timestamptz,
  p_valid_to timestamptz,
  p_as_of timestamptz
) returns boolean
language sql immutable parallel safe
begin atomic
  select (p_valid_from is null or p_valid_from <= p_as_of) and (p_valid_to is null or p_valid_to >= p_as_of);
end;
comment on function pgmem.valid_at is
  'Whether a period holds a moment; both ends belong to it, and a null end is open.';


create or replace function pgmem.state_begins(
  p_valid_from timestamptz,
  p_valid_to timestamptz,
  p_replaced_at timestamptz,
  p_kept timestamptz
) returns timestamptz
language sql immutable parallel safe
begin atomic
  select case
    when p_valid_from is not null then p_valid_from
    when p_replaced_at <= coalesce(p_valid_to, 'infinity') then p_replaced_at
    when p_kept <= coalesce(p_valid_to, 'infinity') then p_kept end;
end;
comment on function pgmem.state_begins is $$
Where the period of a state begins; null is an open start.

That is valid_from if it is set, else the time at which the state took the place of other content, else the start it
keeps: that of the state before it, or for a first state the time it was made (an end without a start leaves that
open). No start lies after a set end: a state that ended before it was recorded keeps its start, or has an open one.
$$;


create or replace function pgmem.first_begins(
  p_valid_from timestamptz,
  p_valid_to timestamptz,
  p_created_at timestamptz
) returns timestamptz
language sql immutable parallel safe
begin atomic
  select coalesce(p_valid_from, case when p_valid_to is null then p_created_at end);
end;
comment on function pgmem.first_begins is
  'Where the first state of a memory begins: at valid_from, or when it was made; with an end alone the start is open.';


create or replace function pgmem.state_ends(
  p_valid_to timestamptz,
  p_same_content boolean,
  p_next_begins timestamptz
) returns timestamptz
language sql immutable parallel safe
begin atomic
  select case
    when not p_same_content then coalesce(p_valid_to, p_next_begins, '-infinity')
    when p_next_begins > p_valid_to then p_valid_to
    else '-infinity' end;
end;
comment on function pgmem.state_ends is $$
Where the period of a state ends once another state has followed it.

An end that was set stays. Other content closes an open end where it begins. The same content restates the whole
period, so that the earlier state holds nowhere (-infinity), unless it begins after the set end: then it is true again.
$$;


create or replace function pgmem.state_period(
  p_begins_at timestamptz,
  p_ends_at timestamptz,
  p_yields tstzmultirange
) returns tstzmultirange
language sql immutable parallel safe
begin atomic
  select case when p_ends_at < coalesce(p_begins_at, '-infinity') or p_ends_at = '-infinity' then '{}'::tstzmultirange
    else tstzmultirange(tstzrange(p_begins_at, p_ends_at, '[]')) - coalesce(p_yields, '{}') end;
end;
comment on function pgmem.state_period is
  'When a state is true but for the states that were saved after it: its period without the parts of others.';


create or replace function pgmem.told_yields(
  p_restates boolean,
  p_restated tstzmultirange,
  p_after tstzmultirange,
  p_later tstzmultirange,
  p_is_open boolean
) returns tstzmultirange
language sql immutable parallel safe
begin atomic
  select nullif(case when p_restates then coalesce(p_restated, '{}') + coalesce(p_after, '{}')
                  when p_is_open then coalesce(p_later, '{}') else '{}' end, '{}');
end;
comment on function pgmem.told_yields is
  'The parts that a dated state leaves to others. One that restates another: the parts of that one, and the times of later '
  'ones; an open one: the times of those that begin later; any other one: none. A save (add_state) and a sync (retold) ask here.';


create or replace function pgmem.takes_row(
  p_restates_row boolean,
  p_row tstzmultirange,
  p_told tstzmultirange,
  p_at timestamptz
) returns boolean
language sql immutable parallel safe
begin atomic
  select p_restates_row or not p_row @> p_at or p_told @> p_at;
end;
comment on function pgmem.takes_row is
  'Whether a dated state that is saved at a moment becomes the row of its node: it restates the row, or is true, or the row is not.';


-- The live statuses are a constant: the partial indexes of node have it in their predicates, and a plan uses them only
-- for a query that has the same constant. With a list in the registry, the ten latest of 100 000 memories took 51 ms,
-- not 0.1.
create or replace function pgmem.is_live_status(p_status text) returns boolean
language sql immutable parallel safe
begin atomic
  select p_status in ('active', 'approved');
end;
comment on function pgmem.is_live_status is 'Whether a status is live: drafts, stubs and pending insights are not.';


create or replace function pgmem.is_live(
  p_status text,
  p_valid_from timestamptz,
  p_valid_to timestamptz
) returns boolean
language sql stable parallel safe
begin atomic
  select pgmem.is_live_status(p_status) and (p_valid_from is null or p_valid_from <= pgmem.now())
    and (p_valid_to is null or p_valid_to >= pgmem.now());
end;
comment on function pgmem.is_live is
  'Whether a memory is live: its status is, and it is true now by valid_from and valid_to.';


-- A second write in one microsecond counts as recorded in the next one.
create or replace function pgmem.present_moment(p_recorded_at timestamptz) returns timestamptz
language sql stable parallel safe
begin atomic
  select greatest(pgmem.now(), p_recorded_at);
end;
comment on function pgmem.present_moment is
  'The moment at which the present state of a node is looked for: now, and not before its row was recorded.';


create or replace function pgmem.state_regions(p_seq bigint) returns table (
  version integer,
  status text,
  dated boolean,
  begins_at timestamptz,
  open boolean,
  region tstzmultirange
)
language sql stable rows 4 set search_path = pgmem, pg_temp as $$
  with state as materialized (
    select n.version, n.status::text, n.valid_from is not null as dated, n.begins_at, n.valid_to as ends_at, n.yields
    from pgmem.node n where n.seq = p_seq and pgmem.was_live_status(n.status)
    union all
    select v.version, v.status, v.valid_from is not null, v.begins_at,
           case when v.replaced_at < 'infinity' then v.ends_at else v.valid_to end, v.yields
    from pgmem.node_version v where v.node_seq = p_seq and pgmem.was_live_status(v.status)
  ), held as materialized (
    select s.*, pgmem.state_period(s.begins_at, s.ends_at, s.yields) as region from state s
  )
  select h.version, h.status, h.dated, h.begins_at, h.ends_at is null,
         h.region - coalesce((select range_agg(l.region) from held l where l.version > h.version), '{}')
  from held h;
$$;
comment on function pgmem.state_regions is
  'When each state of a node is true, for who knows all that was recorded: its period without the parts that others have '
  'taken.';


-- Where another state on record has become the present one since the node was written, that state is read in its place.
-- A present state is returned without turns_at.
create or replace function pgmem.present(p_node pgmem.node) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_version integer;
  v_state   pgmem.node_version;
begin
  if p_node.turns_at is null or p_node.turns_at > pgmem.now() then
    return p_node;
  end if;
  select r.version into v_version from pgmem.state_regions(p_node.seq) r
  where r.region @> pgmem.present_moment(p_node.recorded_at) and pgmem.is_live_status(r.status);
  if v_version is null or pgmem.is_hidden_status(p_node.status) then
    return p_node;
  elsif v_version = p_node.version then  -- another state was the present one for a while, and its period is over
    p_node.turns_at := null;
    return p_node;
  end if;
  select v.* into v_state from pgmem.node_version v where v.node_seq = p_node.seq and v.version = v_version;
  p_node.version := v_state.version;
  p_node.title := v_state.title;
  p_node.props := v_state.props;
  p_node.status := v_state.status;
  p_node.source := v_state.source;
  p_node.trust_level := v_state.trust_level;
  p_node.initial_confidence := v_state.initial_confidence;
  p_node.valid_from := v_state.valid_from;
  p_node.valid_to := v_state.valid_to;
  p_node.begins_at := v_state.begins_at;
  p_node.yields := v_state.yields;
  p_node.recorded_at := v_state.ingested_at;
  -- It is as fresh as the day on which it became true.
  p_node.updated_at := least(pgmem.now(), greatest(p_node.created_at, v_state.ingested_at, v_state.begins_at));
  select d.tsv, d.text_length, d.asks, d.instructs, d.titled
  into p_node.tsv, p_node.text_length, p_node.asks, p_node.instructs, p_node.titled
  from pgmem.derived(p_node.label, p_node.title, p_node.props, p_node.tenant, p_node.project_seq, p_node.session_id,
                     p_node.text_config) d;
  p_node.agent_id := null;
  p_node.session_id := null;
  p_node.turns_at := null;
  return p_node;
end;
$$;
comment on function pgmem.present is
  'A node in its present state: as it is stored, or as the state that has become true since says.';


-- By the index of turns_at alone: one of tenants would read every memory of theirs.
-- Not written into the statement that calls it: nearly every search and context has no such node, and the conditions would
-- be made ready in all of them.
create or replace function pgmem.turned(p_node pgmem.node) returns setof pgmem.node
language plpgsql stable rows 1 set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node := pgmem.present(p_node);
begin
  if v_node.turns_at is null and pgmem.is_live(v_node.status, v_node.valid_from, v_node.valid_to) then
    return next v_node;
  end if;
end;
$$;
comment on function pgmem.turned is
  'A node whose turn has come as its present state, if that is live; none otherwise.';


create or replace function pgmem.turned_nodes(p_tenants text[]) returns setof pgmem.node
language sql stable rows 1 as $$
  select p.* from pgmem.node n cross join lateral pgmem.turned(n) p
  where n.turns_at <= pgmem.now() and n.tenant || '' = any (p_tenants);
$$;
comment on function pgmem.turned_nodes is
  'The live nodes of some tenants of which another state has become the present one since they were written.';


-- A source text that was captured does not count as a memory: it is found where a search names its label.
create or replace function pgmem.is_searched(p_status text, p_labels text[]) returns boolean
language sql immutable parallel safe
begin atomic
  select p_status in ('active', 'approved') or p_status = 'captured' and pgmem.name_source_texts(p_labels);
end;
comment on function pgmem.is_searched is
  'Whether a search over some labels finds a memory of this status: live ones, and source texts where they are named.';


create or replace function pgmem.is_found_status(p_status text) returns boolean
language sql immutable parallel safe
begin atomic
  select p_status in ('active', 'approved') or p_status = 'captured';
end;
comment on function pgmem.is_found_status is 'Whether some search finds memories of a status, so that their words are counted.';


-- A memory that was superseded since was true then; a forgotten one stays hidden.
create or replace function pgmem.was_live_status(p_status text) returns boolean
language sql immutable parallel safe
begin atomic
  select p_status in ('active', 'approved', 'superseded', 'expired');
end;
comment on function pgmem.was_live_status is 'Whether a state of this status is shown in an answer about a past time.';


create or replace function pgmem.is_hidden_status(p_status text) returns boolean
language sql immutable parallel safe
begin atomic
  select p_status in ('archived', 'merged', 'rejected', 'dismissed');
end;
comment on function pgmem.is_hidden_status is
  'Whether a status hides a memory with all of its earlier states, at whatever time it was true.';


-- The predicate of the index node_content_unique, word for word, so that a query that asks here reads the index.
create or replace function pgmem.keeps_content(p_status text) returns boolean
language sql immutable parallel safe
begin atomic
  select p_status not in ('superseded', 'archived', 'expired', 'merged', 'dismissed', 'historical', 'rejected');
end;
comment on function pgmem.keeps_content is
  'Whether a memory of this status is the only one of its content in its scope; with another status the content is free again.';


create or replace function pgmem.is_true_at(
  p_status text,
  p_valid_from timestamptz,
  p_valid_to timestamptz,
  p_created_at timestamptz,
  p_as_of timestamptz
) returns boolean
language sql stable parallel safe
begin atomic
  -- A memory that was superseded since was true then; a forgotten one stays hidden.
  select case when p_as_of is null
    then pgmem.is_live(p_status, p_valid_from, p_valid_to)
    else (pgmem.is_live_status(p_status) or p_status in ('superseded', 'expired'))
      and pgmem.valid_at(coalesce(p_valid_from, p_created_at), p_valid_to, p_as_of) end;
end;
comment on function pgmem.is_true_at is
  'Whether a state is shown: live now, or, with a date, true then by valid_from and valid_to alone.';


-- A decision holds until another one replaces it, and an instruction until somebody takes it back: their age says nothing.
create or replace function pgmem.aged_since(p_label text, p_instructs boolean, p_updated_at timestamptz)
returns timestamptz
language sql immutable parallel safe
begin atomic
  select case when p_label = 'Decision' or p_instructs then null else p_updated_at end;
end;
comment on function pgmem.aged_since is
  'From when on a memory ages: its last change; null where it holds until it is replaced.';


create or replace function pgmem.decayed(
  p_initial float8,
  p_updated_at timestamptz,
  p_at timestamptz,
  p_rate float8,
  p_max_age_days integer
) returns float8
language sql immutable parallel safe
begin atomic
  -- Below e^-700 a float8 underflows, which PostgreSQL makes an error.
  select case when p_updated_at is null or p_at - p_updated_at <= interval '1 day' * p_max_age_days then p_initial
    else p_initial * exp(greatest(-700, -p_rate * extract(epoch from p_at - p_updated_at)::float8 / 86400)) end;
end;
comment on function pgmem.decayed is
  'initial * exp(-rate * days since update) after p_max_age_days without an update; until then the initial, and so where no '
  'update is given.';


create or replace function pgmem.confidence(
  p_initial float8,
  p_label text,
  p_instructs boolean,
  p_updated_at timestamptz
) returns float8
language sql stable parallel safe
begin atomic
  select pgmem.decayed(p_initial, pgmem.aged_since(p_label, p_instructs, p_updated_at), pgmem.now(),
    pgmem.setting_float('decay_rate'), pgmem.setting_int('decay_max_age_days'));
end;
comment on function pgmem.confidence is
  'The confidence at this moment, by the store''s decay_rate and decay_max_age_days.';


-- Read once for many items: a look-up of settings for each of them costs more than the item.
create or replace function pgmem.ages_of(p_settings jsonb) returns pgmem.ages
language sql stable parallel safe
begin atomic
  select row(
    pgmem.now(),
    pgmem.now() - make_interval(days => (p_settings ->> 'freshness_recent_days')::integer),
    pgmem.now() - make_interval(days => (p_settings ->> 'freshness_stale_days')::integer),
    (p_settings ->> 'decay_rate')::float8,
    (p_settings ->> 'decay_max_age_days')::integer)::pgmem.ages;
end;
comment on function pgmem.ages_of is
  'The present moment with the settings of freshness and decay, from an object that holds these.';


create or replace function pgmem.ages() returns pgmem.ages
language sql stable parallel safe set search_path = pgmem, pg_temp as $$
  select pgmem.ages_of((
    select jsonb_object_agg(s.name, s.value) from pgmem.setting s
    where s.name in ('freshness_recent_days', 'freshness_stale_days', 'decay_rate', 'decay_max_age_days')));
$$;
comment on function pgmem.ages is
  'The present moment with the settings of freshness and decay, for functions that judge many memories.';


create or replace function pgmem.freshness(p_at timestamptz, p_ages pgmem.ages) returns text
language sql immutable parallel safe
begin atomic
  select case when p_at is null or p_at >= (p_ages).recent then 'current' when p_at >= (p_ages).stale then 'recent' else 'stale' end;
end;
comment on function pgmem.freshness is
  'current, recent or stale, by age: at most freshness_recent_days, freshness_stale_days, or more.';


-- A look-up in the registry would cost every search a join.
create or replace function pgmem.is_place(p_label text) returns boolean
language sql immutable parallel safe
begin atomic
  select p_label in ('Project', 'FocusArea');
end;
comment on function pgmem.is_place is 'Whether nodes of a label are places: memories belong to them.';


create or replace function pgmem.is_memory(p_label text) returns boolean
language sql immutable parallel safe
begin atomic
  select not (pgmem.is_place(p_label) or pgmem.is_of_store(p_label));
end;
comment on function pgmem.is_memory is
  'Whether nodes of a label are memories; the others are infrastructure, neither searched nor forgotten.';


create or replace function pgmem.tenant_of(p_org_id text default '', p_user_id text default '') returns text
language sql immutable parallel safe
begin atomic
  select p_org_id || e'\x1f' || p_user_id;
end;
comment on function pgmem.tenant_of is $$
The tenant of an organisation and a user, as the generated columns hold it.

Without a user it is the shared part of the organisation; without both it is the public tenant, the separator alone.
$$;


-- As the generated column node.place.
create or replace function pgmem.place_of(p_scope text, p_project_seq bigint, p_focus text) returns text
language sql immutable parallel safe
begin atomic
  select case p_scope when 'global' then 'global' when 'focus' then p_project_seq::text || '/' || p_focus
    else p_project_seq::text end;
end;
comment on function pgmem.place_of is
  'Where a memory lives: global, the number of its project, or that and its focus area.';


-- Where the tenant ends is said by its length, as a name may hold any separator.
create or replace function pgmem.place_seed(p_secret bytea, p_tenant text, p_place text) returns bigint
language sql stable parallel safe
begin atomic
  select ('x' || encode(substr(sha256(
    p_secret || convert_to(length(p_tenant) || ' ' || p_tenant || coalesce(p_place, ''), 'UTF8')), 1, 8),
    'hex'))::bit(64)::bigint;
end;
comment on function pgmem.place_seed is
  'The key of the scope keys of a place: the first 64 bits of SHA-256 of a secret, a tenant and a place.';


-- Tenant and place are names that somebody chooses, so they are hashed under the secret; labels are those of the store,
-- and there are many to a place.
create or replace function pgmem.seeded_key(p_seed bigint, p_label text) returns bigint
language sql immutable parallel safe
begin atomic
  select hashtextextended(p_label, p_seed);
end;
comment on function pgmem.seeded_key is 'The scope key of a label in the place of a place_seed.';


-- By the index of the table, as callers forbid scans: a forbidden one that is needed makes servers with jit compile.
-- The look-up takes no argument, so that it is planned once and not in every call.
create or replace function pgmem.scope_key(p_tenant text, p_place text, p_label text) returns bigint
language plpgsql stable parallel safe as $$
begin
  return pgmem.seeded_key(pgmem.place_seed((select s.secret from pgmem.store_secret s where s.one), p_tenant, p_place),
                          p_label);
end;
$$;
comment on function pgmem.scope_key is
  'One number for (tenant, place, label), by which rows are found and locks are kept, under the secret of the store.';
