-- The feed of changes
--
-- Every committed change of a memory, an edge, a review or a project is one row of pgmem.change, written in the transaction
-- that made the change (14-feed-entries). changes reads them for a caller, in the order of commits.
--
-- A sequence does not follow the order of commits: a number may be taken first and committed last. So a change carries a stamp: the
-- transaction that wrote it, or the last one that had ended by then, if that is later. Two things follow. Whoever has
-- seen a committed change writes behind it (the stamp is not less, and the sequence is greater), so that the order
-- (stamp, seq) agrees with the order of commits, for each memory and between memories. And a transaction that has not
-- ended writes no stamp below its own number, so that all below the oldest transaction of this database that is still
-- running is final: a reader that stops there (feed_horizon) misses nothing and reads nothing twice.
-- docs/explanation/order-of-commits.md has the proof.
--
-- A store may be set back: by a restored snapshot, to a point in time, or to a standby that was promoted late. It then gives
-- the same numbers to other changes. So a cursor has a digest of the change that it names, and one of a past that is no more
-- is lost.
--
-- A writer notifies only while somebody listens: listen_changes keeps a row in pgmem.listener for a few minutes, and a
-- listener calls it again before they are over. A listener that was killed costs
-- the store some notifications that nobody hears.
--
-- Locks: the row of a listener.


select pgmem.declare_table(name, 'store') from unnest('{feed,listener}'::text[]) as name;


create or replace function pgmem.feed_name() returns text
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_system text := (select c.system_identifier::text from pg_control_system() c);
  v_feed   pgmem.feed;
begin
  select * into strict v_feed from pgmem.feed;
  if v_feed.system <> v_system then
    raise exception using errcode = 'PM012', message =
      'This store was copied from another server, whose changes its feed holds: run pgmem init, then export anew.';
  end if;
  return left(md5(concat_ws('/', v_feed.id, v_system,
    (select d.oid from pg_database d where d.datname = current_database()))), 12);
end;
$$;
comment on function pgmem.feed_name is 'The beginning of the cursors of this feed: it differs in every store and copy.';


create or replace function pgmem.feed_horizon() returns xid8
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_snapshot pg_snapshot := pg_current_snapshot();
  v_elsewhere integer[];
begin
  if not exists (select from pgmem.change c where c.stamp >= pg_snapshot_xmin(v_snapshot)) then
    return pg_snapshot_xmin(v_snapshot);
  end if;
  -- A snapshot has the transactions of the whole server; those of other databases write nothing here. The sessions are
  -- read before the locks: one that still holds the lock of its transaction then has had its number since the snapshot,
  -- and a transaction that has ended meanwhile, or was prepared, counts as one of this database.
  perform pg_stat_clear_snapshot();
  v_elsewhere := array(select a.pid from pg_stat_activity a
    where a.datid <> (select d.oid from pg_database d where d.datname = current_database()));
  return least(pg_current_xact_id_if_assigned(), coalesce(
    (select min(x) from pg_snapshot_xip(v_snapshot) x
     where x::xid not in (select l.transactionid from pg_locks l
                          where l.locktype = 'transactionid' and l.mode = 'ExclusiveLock' and l.granted
                            and l.pid = any (v_elsewhere))),
    pg_snapshot_xmax(v_snapshot)));
end;
$$;
comment on function pgmem.feed_horizon is
  'The stamp below which the feed is final: the oldest transaction of this database that runs; on a standby, of the server.';


-- Not the horizon itself: numbers of transactions that left nothing behind are given again after a crash.
create or replace function pgmem.feed_end(p_horizon xid8, out stamp xid8, out seq bigint)
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_kept record;
begin
  select c.stamp, c.seq into stamp, seq from pgmem.change c where c.stamp < p_horizon
  order by c.stamp desc, c.seq desc limit 1;
  select f.kept_stamp, f.kept_seq into strict v_kept from pgmem.feed f;
  -- An earlier change of one time may be left, although a later one is kept no longer.
  if stamp is null or (stamp, seq) < (v_kept.kept_stamp, v_kept.kept_seq) then
    stamp := v_kept.kept_stamp;
    seq := v_kept.kept_seq;
  end if;
end;
$$;
comment on function pgmem.feed_end is
  'The last change below a horizon; where there is none, the last that is kept no longer.';


create or replace function pgmem.change_digest(p_stamp xid8, p_seq bigint, p_id uuid, p_at timestamptz) returns text
language sql immutable
begin atomic
  select left(md5(p_stamp::text || '/' || p_seq::text || '/' || p_id::text || '/' || extract(epoch from p_at)::text), 8);
end;
comment on function pgmem.change_digest is
  'The mark of a change in a cursor: a store that was set back gives its number to another one.';


create or replace function pgmem.feed_cursor(p_stamp xid8, p_seq bigint) returns text
language sql stable set search_path = pgmem, pg_temp as $$
  select format('%s.%s.%s.%s', pgmem.feed_name(), p_stamp, p_seq, coalesce(
    (select pgmem.change_digest(c.stamp, c.seq, c.id, c.at) from pgmem.change c where (c.stamp, c.seq) = (p_stamp, p_seq)),
    (select nullif(f.kept_digest, '') from pgmem.feed f where (f.kept_stamp, f.kept_seq) = (p_stamp, p_seq)), '00000000'));
$$;
comment on function pgmem.feed_cursor is 'The cursor of a place in the feed.';


create or replace function pgmem.feed_place(p_after text, out stamp xid8, out seq bigint)
language plpgsql stable set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_name   text := pgmem.feed_name();
  v_part   text[] := regexp_match(p_after, '^([0-9a-f]{12})\.([0-9]{1,19})\.([0-9]{1,18})(?:\.([0-9a-f]{8}))?$');
  v_feed   pgmem.feed;
  v_digest text;
  v_lost   text;
begin
  select * into strict v_feed from pgmem.feed;
  if p_after = 'now' then
    select e.stamp, e.seq into stamp, seq from pgmem.feed_end(pgmem.feed_horizon()) e;
    return;
  elsif p_after is null then
    stamp := v_feed.kept_stamp;
    seq := v_feed.kept_seq;
    return;
  elsif v_part is null then
    raise exception using errcode = 'PM001',
      message = 'after must be a cursor that changes has returned, or now; leave it out to read from the beginning.';
  end if;
  stamp := v_part[2]::xid8;
  seq := v_part[3]::bigint;
  select pgmem.change_digest(c.stamp, c.seq, c.id, c.at) into v_digest
  from pgmem.change c where (c.stamp, c.seq) = (feed_place.stamp, feed_place.seq);
  v_lost := case
    when v_part[1] <> v_name then 'This cursor is of another store'
    when v_part[4] is null then
      'This cursor is of an earlier release, which did not say of which past of the store it is'
    when (stamp, seq) < (v_feed.kept_stamp, v_feed.kept_seq) then format(
      'The changes after this cursor are kept no longer (feed_days is %s, feed_rows %s)',
      pgmem.setting_text('feed_days'), pgmem.setting_text('feed_rows'))
    when (stamp, seq) = (v_feed.kept_stamp, v_feed.kept_seq) then
      case when v_part[4] <> coalesce(nullif(v_feed.kept_digest, ''), '00000000') then 'past' end
    -- A standby may not have it yet; an erasure takes the changes of a tenant along.
    when v_digest is null and not (pg_is_in_recovery() and stamp >= pgmem.feed_horizon()
      or (stamp, seq) <= (v_feed.erased_stamp, v_feed.erased_seq)) then 'past'
    when v_digest <> v_part[4] then 'past' end;
  if v_lost is not null then
    raise exception using errcode = 'PM012', message = case v_lost
      when 'past' then 'This cursor is of another past of the store, which was set back to an earlier state or copied'
      else v_lost end || ': export the store, then read on from the cursor of its header.';
  end if;
end;
$$;
comment on function pgmem.feed_place is 'The place in the feed that a cursor names; an error for one that cannot be used.';


create or replace function pgmem.feed_place_or(p_after text, p_else text, out stamp xid8, out seq bigint)
language plpgsql stable set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
begin
  select f.stamp, f.seq into stamp, seq from pgmem.feed_place(p_after) f;
exception when sqlstate 'PM012' or sqlstate 'PM001' then
  select f.stamp, f.seq into stamp, seq from pgmem.feed_place(p_else) f;
end;
$$;
comment on function pgmem.feed_place_or is
  'The place in the feed that a cursor names, or that of another one where the first cannot be used.';


select pgmem.declare_answer('change_answer', $$
A committed change, as the feed has it.

`id` is of the memory, of the project, of the source of the edge, whose target is `other_id`, or of the save under
review. `label` is the label of the memory, the relation of the edge or the verb of the review. `record` is what
changed as it is now, in the form of a line of an export, if the content was asked for.

class Change
cursor text, subject memory|edge|review|project, kind text, id uuid, other_id uuid?, label text, version integer?
project text?, at timestamptz, record object?
$$);

select pgmem.declare_answer('change_page', $$
A page of the feed: `cursor` is where the next one begins, `held` whether changes wait for a transaction.

changes change_answer[], cursor text, more boolean, held boolean
$$);

create or replace function pgmem.changes(
  p_after text default null,
  p_limit pgmem.row_limit default 500,
  p_project_id text default null,
  p_content boolean default false,
  p_all_tenants boolean default false,
  p_vectors boolean default false,
  p_without text default null
) returns pgmem.change_page
language plpgsql stable security definer set search_path = pgmem, pg_temp set timezone = 'UTC' set enable_seqscan = off as $$
declare
  v_answer  pgmem.change_page;
  -- Null: all of them.
  v_tenants text[] := case when p_all_tenants then null else pgmem.visible_tenants() end;
  v_project text := pgmem.clean_key(p_project_id, 'project_id');
  v_horizon xid8 := pgmem.feed_horizon();
  v_from    record;
  v_end     record;
  v_rows    pgmem.change[];
begin
  if p_all_tenants then
    perform pgmem.require_reviewer('To read the changes of all tenants');
  end if;
  perform pgmem.find_project(p_project_id);
  v_from := pgmem.feed_place(p_after);
  v_rows := array(
    select row(c.*)::pgmem.change from pgmem.change c
    where (c.stamp, c.seq) > (v_from.stamp, v_from.seq) and c.stamp < v_horizon
      and (v_tenants is null or c.tenant = any (v_tenants))
      and (v_project is null or pgmem.folded(c.project) = pgmem.folded(v_project))
      and (p_without is null or c.origin is distinct from p_without)
    order by c.stamp, c.seq limit p_limit);
  v_answer.more := cardinality(v_rows) = p_limit;
  v_answer.held := not v_answer.more and exists (
    select from pgmem.change c
    where c.stamp >= v_horizon and (v_tenants is null or c.tenant = any (v_tenants)));
  if v_answer.more then
    v_end := v_rows[cardinality(v_rows)];
  else
    -- All below the horizon was read: the next page begins behind it, whatever others wrote in between.
    v_end := pgmem.feed_end(v_horizon);
    if (v_end.stamp, v_end.seq) < (v_from.stamp, v_from.seq) then
      v_end := v_from;
    end if;
  end if;
  v_answer.cursor := pgmem.feed_cursor(v_end.stamp, v_end.seq);
  select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(r) - '{stamp,seq,tenant,origin}'::text[])
      || jsonb_build_object('cursor', format('%s.%s.%s.%s', split_part(v_answer.cursor, '.', 1), r.stamp, r.seq,
                                            pgmem.change_digest(r.stamp, r.seq, r.id, r.at)))
      || case when p_content and r.place = r.last_place
           then jsonb_build_object('record', pgmem.change_record(row(r.stamp, r.seq, r.subject, r.kind, r.id,
             r.other_id, r.label, r.version, r.project, r.tenant, r.at, r.origin)::pgmem.change, v_tenants, p_vectors)) else '{}' end
      - '{place,last_place}'::text[]
    order by r.place), '[]')
  into v_answer.changes
  from (select c.*, u.place, max(u.place) over (partition by c.subject, c.id, c.other_id,
                                                case when c.subject = 'edge' then c.label end) as last_place
        from unnest(v_rows) with ordinality as u(stamp, seq, subject, kind, id, other_id, label, version, project,
                                                 tenant, at, origin, place)
        cross join lateral (select u.stamp, u.seq, u.subject, u.kind, u.id, u.other_id, u.label, u.version, u.project,
                                   u.tenant, u.at, u.origin) c) r;
  return v_answer;
end;
$$;
comment on function pgmem.changes is $$
Read a page of the feed: changes, in the order of commits, to memories that the caller sees.

A change has subject (memory, edge, review, project), kind, id, label, version, project, at, and the cursor behind it.
A reader that goes on with the cursor of the page misses nothing and reads nothing twice, whatever transactions overlap.
A change is shown when no transaction that began before it is still running; held says that some wait for that, so
that a reader looks again soon. more says that the page is full.

after: The cursor of the page before; unset: from the oldest change that is kept; now: only the cursor of this moment.
content: The present state of each memory, edge or review too, as a line of an export, beside its last change.
all_tenants: The changes of every tenant, instead of those that the caller sees.
vectors: Whether the content holds vectors.
without: The beginning of another store's cursors: changes that came from there and are the same on both sides are left out.

CursorLost: The cursor is of another store, of a past of it that is no more, or older than the oldest change that the feed
  keeps.
InvalidArgument: after is not a cursor.
MemoryNotFound: no such project exists.
NotPermitted: All tenants, and the login is neither owner nor reviewer.
$$;
select pgmem.declare_verb('changes', p_rights => 'reader', p_effect => 'look', p_answer => 'ChangePage');


create or replace function pgmem.change_record(p_change pgmem.change, p_tenants text[], p_vectors boolean) returns jsonb
language sql stable set search_path = pgmem, pg_temp set timezone = 'UTC' set extra_float_digits = 1
set bytea_output = 'hex' as $$
  select case p_change.subject
    when 'edge' then (
      select jsonb_build_object('type', 'edge', 'src', s.id, 'rel', e.rel, 'dst', d.id, 'props', e.props,
                                'created_at', e.created_at)
      from pgmem.node s join pgmem.edge e on e.src = s.seq and e.rel = p_change.label
      join pgmem.node d on d.seq = e.dst
      where s.id = p_change.id and d.id = p_change.other_id
        and (p_tenants is null or s.tenant = any (p_tenants) and d.tenant = any (p_tenants)))
    when 'review' then (
      select jsonb_strip_nulls(to_jsonb(a) - '{tenant,arguments,batch}'::text[])
             || jsonb_build_object('type', 'save', 'arguments', a.arguments, 'batch', a.batch)
      from pgmem.save_attempt s cross join lateral pgmem.held_texts(s, pgmem.caller()) a
      where s.save_id = p_change.id and s.tenant = p_change.tenant)
    else coalesce(
      (select pgmem.node_record(n, p_vectors) || pgmem.approval_record(n) from pgmem.node n
       where n.id = p_change.id and (p_tenants is null or n.tenant = any (p_tenants))),
      (select jsonb_strip_nulls(to_jsonb(t) - 'tenant') || '{"type": "purge"}' from pgmem.tombstone t
       where t.id = p_change.id and t.tenant = p_change.tenant))
    end;
$$;
comment on function pgmem.change_record is
  'The subject of a change, as it is now, in the form of a line of an export; of a purged memory its tombstone.';


create or replace function pgmem.prune_feed(p_limit integer) returns integer
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_gone integer;
begin
  with old as (
    select c.stamp, c.seq from pgmem.change c
    where c.at < pgmem.now() - make_interval(days => pgmem.setting_int('feed_days'))
      or c.seq <= (select l.seq from pgmem.change l order by l.stamp desc, l.seq desc limit 1)
                  - pgmem.setting_int('feed_rows')
    order by c.stamp, c.seq limit p_limit
  ), gone as (
    delete from pgmem.change c using old where (c.stamp, c.seq) = (old.stamp, old.seq) returning c.*
  ), last as (
    select g.stamp, g.seq, pgmem.change_digest(g.stamp, g.seq, g.id, g.at) as digest
    from gone g order by g.stamp desc, g.seq desc limit 1
  ), moved as (
    update pgmem.feed f set kept_stamp = l.stamp, kept_seq = l.seq, kept_digest = l.digest from last l
    where (l.stamp, l.seq) > (f.kept_stamp, f.kept_seq)
  )
  select count(*) into v_gone from gone;
  return v_gone;
end;
$$;
comment on function pgmem.prune_feed is
  'Remove changes that are older than feed_days or more than feed_rows, the oldest first; how many it removed.';


create or replace function pgmem.begin_feed() returns void
language sql set search_path = pgmem, pg_temp as $$
  delete from pgmem.change;
  update pgmem.feed set id = gen_random_uuid(), kept_stamp = '0', kept_seq = 0, kept_digest = '',
    erased_stamp = '0', erased_seq = 0,
    system = (select c.system_identifier::text from pg_control_system() c);
$$;
comment on function pgmem.begin_feed is
  'Begin another feed: the stamps of this one are of another server, or of a state that the store was set back from.';

create or replace function pgmem.settle_feed(p_new boolean default false) returns boolean
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  if p_new or (select f.system from pgmem.feed f) <> (select c.system_identifier::text from pg_control_system() c) then
    perform pgmem.begin_feed();
    return true;
  end if;
  return false;
end;
$$;
comment on function pgmem.settle_feed is
  'Begin another feed in a store that was copied from another server, or where it is asked for; whether it did.';


create or replace function pgmem.follow_install(p_given jsonb) returns boolean
language sql set search_path = pgmem, pg_temp as $$
  select pgmem.settle_feed(coalesce((p_given ->> 'new_feed')::boolean, false));
$$;
comment on function pgmem.follow_install is 'Give the store a new feed at an install that asks for one, or on another server.';
select pgmem.declare_step('installed', 'follow_install');


create or replace function pgmem.listen_changes(out until timestamptz)
language plpgsql security definer set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
begin
  execute 'listen pgmem_change';
  delete from pgmem.listener l where l.until < now();
  insert into pgmem.listener as l (pid, until) values (pg_backend_pid(), now() + interval '3 minutes')
  on conflict (pid) do update set until = excluded.until
  returning l.until into until;
end;
$$;
comment on function pgmem.listen_changes is $$
Listen in this session: PostgreSQL notifies it on the channel pgmem_change when a transaction has changed something.

A notification says nothing more; read the changes with changes. Call it again before the returned time, as writers notify
only while somebody listens. Behind a pooler of transactions no session can listen, and a front, which answers null, is
not notified: ask changes from time to time.
$$;
select pgmem.declare_verb('listen_changes', p_rights => 'reader', p_effect => 'repeat', p_reach => 'front');


create or replace function pgmem.changed_tenants(
  p_after text,
  out tenants text[],
  out cursor text,
  out held boolean
)
language plpgsql stable security definer set search_path = pgmem, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_horizon xid8 := pgmem.feed_horizon();
  v_from    record;
  v_end     record := pgmem.feed_end(v_horizon);
begin
  if not pgmem.is_trusted() then
    raise exception using errcode = 'PM004',
      message = 'changed_tenants looks at all tenants: connect as the owner or a member of pgmem_trusted.';
  end if;
  v_from := pgmem.feed_place(coalesce(
    (select c.word from string_to_table(p_after, ' ') c(word) where c.word like pgmem.feed_name() || '.%'), p_after));
  tenants := array(select distinct c.tenant from pgmem.change c
                   where (c.stamp, c.seq) > (v_from.stamp, v_from.seq) and c.stamp < v_horizon);
  held := exists (select from pgmem.change c where c.stamp >= v_horizon);
  if (v_end.stamp, v_end.seq) < (v_from.stamp, v_from.seq) then
    v_end := v_from;
  end if;
  cursor := pgmem.feed_cursor(v_end.stamp, v_end.seq);
end;
$$;
comment on function pgmem.changed_tenants is $$
Whose memories have changed after a cursor, for a server that wakes those of its clients who listen.

A front asks all cells; its cursor is that of each, with a space between them.

after: The cursor of the call before, or now.

CursorLost: The cursor is of another store, of a past of it that is no more, or older than the oldest change that the feed
  keeps.
NotPermitted: The login is neither the owner nor a member of pgmem_trusted.
$$;
select pgmem.declare_verb('changed_tenants', p_rights => 'worker', p_effect => 'look', p_reach => 'sum');


create or replace function pgmem.feed_position() returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select jsonb_build_object('cursor', (pgmem.changes('now')).cursor);
$$;
comment on function pgmem.feed_position is 'The cursor of this moment in the feed, for the first line of an export.';
select pgmem.declare_step('export header', 'feed_position');
select pgmem.declare_step('sweep', 'prune_feed');
