-- Forgetting
--
-- To forget is to hide: the status becomes archived, the vectors are set aside, and the history stays, so revert or a
-- later save of the same name brings the memory back as it was, found by meaning at once. To purge is to delete the
-- node with its edges, versions and vectors.
--
-- forget is for one memory. forget_by_ttl and decay_scores are maintenance, for the owner and reviewers: they do
-- one bounded batch a call and return how many remain, and Python calls them until nothing does. Without an
-- identity they work on all tenants, else on the caller's and on the shared ones of its organisation.
--
-- Confidence decays when it is read (decayed in 07-truth), so decay itself writes nothing. Only archiving below a
-- threshold is a change: it makes a version and keeps updated_at.
--
-- Locks: the governance token, the scopes (of a batch sorted), the rows.


create or replace function pgmem.forget_node(
  p_node pgmem.node,
  p_caller pgmem.caller,
  p_purge boolean,
  out status text,
  out edges integer,
  out versions integer,
  out vectors integer
)
language plpgsql set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
begin
  edges := 0;
  versions := 0;
  if p_purge then
    status := 'purged';
    perform pgmem.bury(array[p_node.seq], p_caller);
    select d.edges, d.versions, d.vectors into edges, versions, vectors from pgmem.delete_node(p_node.seq) d;
  else
    status := 'archived';
    vectors := pgmem.set_aside_embeddings(array[p_node.seq]);
    if p_node.status <> 'archived' then
      perform pgmem.set_status(p_node.seq, 'archived');
    end if;
  end if;
end;
$$;
comment on function pgmem.forget_node is
  'Hide a node, or purge it and leave its tombstone. The caller holds its scope lock.';


create or replace function pgmem.namesakes(p_node pgmem.node) returns text
language sql stable set search_path = pgmem, pg_temp as $$
  select 'Under this name is still stored: ' || string_agg(format('%s (%s)', other.id, other.status), ', ')
    || '. Purge it too, by its id, if it is to be gone.'
  from (
    select n.id, n.status from pgmem.visible_node n
    where n.label = p_node.label and n.tenant = p_node.tenant and n.seq <> p_node.seq
      and n.project_seq is not distinct from p_node.project_seq
      and pgmem.folded(coalesce(n.key, n.title)) = pgmem.folded(coalesce(p_node.key, p_node.title))
      and pgmem.name_hash(coalesce(n.key, n.title)) = pgmem.name_hash(coalesce(p_node.key, p_node.title))
    order by n.seq desc limit 5) other
  having count(*) > 0
$$;
comment on function pgmem.namesakes is
  'The other memories of a project under the name of a memory that is purged, forgotten or not; null if none.';


create or replace function pgmem.still_replaced(p_node pgmem.node) returns text
language sql stable set search_path = pgmem, pg_temp as $$
  select 'Still hidden, as it replaced them: ' || string_agg(format('%s (%s)', quote_literal(left(o.title, 80)), o.id), ', ' order by o.seq)
    || '. revert brings it back.'
  from pgmem.visible_edge e join pgmem.visible_node o on o.seq = e.dst
  where e.src = p_node.seq and e.rel = 'SUPERSEDES' and o.status = 'superseded' and pgmem.is_live_status(p_node.status)
  having count(*) > 0
$$;
comment on function pgmem.still_replaced is
  'The memories that a forgotten one had replaced, which do not come back by themselves; null if none.';


select pgmem.declare_answer('forgotten', $$
A memory that is hidden (archived) or gone (purged); failed: a person decides under save_id.

like keyed_memory
status archived|purged|failed, edges integer, versions integer, vectors integer, dedup_outcome text?, next_step text?
save_id uuid?
by person|agent?: Who said what was forgotten; agent: also a program or a file.
same said_again[] = {}: Other memories that say the same, with their state now; those in also go with it.
rests resting_memory[] = {}: Those that rest on it.
$$);


create or replace function pgmem.hold_forgetting(
  p_node pgmem.node,
  p_caller pgmem.caller,
  p_purge boolean
) returns pgmem.save_result
language sql set search_path = pgmem, pg_temp as $$
  select * from pgmem.hold_change(p_caller, 'forget', jsonb_strip_nulls(jsonb_build_object('label', p_node.label,
    'key', p_node.id, 'title', p_node.title, 'purge', p_purge, 'project_id', p_node.project)), p_node);
$$;
comment on function pgmem.hold_forgetting is 'Keep the wish to forget a memory for a person, who decides about it.';


create or replace function pgmem.forget_also(
  p_ids text[],
  p_caller pgmem.caller,
  p_purge boolean
) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_states jsonb := '{}';
  v_node   pgmem.node;
  v_id     text;
  v_gone   record;
begin
  foreach v_id in array p_ids loop
    v_node := pgmem.named_memory(v_id);
    perform pgmem.require_forgettable(v_node, p_caller);
    v_node := pgmem.settled(pgmem.locked(v_node));
    if v_node.seq is null then
      continue;
    elsif pgmem.needs_review(v_node, p_caller, p_purge) then
      perform pgmem.hold_forgetting(v_node, p_caller, p_purge);
      v_states := v_states || jsonb_build_object(v_node.id, 'failed');
    elsif v_node.scope = 'global' and not pgmem.decides(p_caller) then
      raise exception using errcode = 'PM004', message = format(
        '%s %s holds in all projects: forget it by itself, with its governance_token.', v_node.label, pgmem.short_name(v_node.title));
    else
      select f.* into v_gone from pgmem.forget_node(v_node, p_caller, p_purge) f;
      v_states := v_states || jsonb_build_object(v_node.id, v_gone.status);
    end if;
  end loop;
  return v_states;
end;
$$;
comment on function pgmem.forget_also is
  'Forget memories that say the same as a forgotten one: the state of each by its id; failed where a person decides.';

create or replace function pgmem.forget(
  p_label text,
  p_key text,
  p_purge boolean default false,
  p_project_id text default null,
  p_governance_token text default null,
  p_also text[] default '{}'
) returns pgmem.forgotten
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.forgotten;
  v_caller pgmem.caller := pgmem.require_writer();
  v_change record;
  v_node   pgmem.node;
  v_same   pgmem.said_again[];
  v_states jsonb;
begin
  if p_also <> '{}' then
    perform pgmem.lock_scopes((pgmem.find_recorded(p_label, p_key, pgmem.find_project(p_project_id))).scope_key
      || array(select (pgmem.named_memory(a.id)).scope_key from unnest(p_also) as a(id)));
  end if;
  v_change := pgmem.begin_change('forget', v_caller, p_label, p_key, p_project_id, p_purge, p_governance_token);
  v_node := v_change.node;
  v_same := array(select s from pgmem.said_again(v_node, v_caller) s);
  v_answer.rests := (select coalesce(jsonb_agg(to_jsonb(r)), '[]') from pgmem.resting_on(v_node, v_caller) r);
  v_answer.id := v_node.id;
  v_answer.label := v_node.label;
  v_answer.key := v_node.key;
  v_answer.title := v_node.title;
  v_answer.by := pgmem.said_by(v_node.source, v_node.trust_level);
  if pgmem.needs_review(v_node, v_caller, p_purge) then
    v_answer := jsonb_populate_record(v_answer, '{"edges": 0, "versions": 0, "vectors": 0}' || to_jsonb(
      pgmem.hold_forgetting(v_node, v_caller, p_purge)));
  else
    v_answer.next_step := pgmem.still_replaced(v_node);
    select f.status, f.edges, f.versions, f.vectors
    into v_answer.status, v_answer.edges, v_answer.versions, v_answer.vectors
    from pgmem.forget_node(v_node, v_caller, p_purge) f;
    if p_purge then
      v_answer.next_step := nullif(concat_ws(' ', v_answer.next_step, pgmem.namesakes(v_node)), '');
    end if;
  end if;
  v_states := pgmem.forget_also(p_also, v_caller, p_purge);
  v_answer.same := (
    select coalesce(jsonb_agg(to_jsonb(s) || jsonb_build_object('status', coalesce(v_states ->> s.id::text, s.status))
                              order by s.likeness desc, s.id), '[]') from unnest(v_same) s);
  if exists (select from unnest(v_same) s where not v_states ? s.id::text) then
    v_answer.next_step := concat_ws(' ', v_answer.next_step, 'Others say the same: give their ids as also to forget them too.');
  end if;
  perform pgmem.spend_token(v_change.token_id, v_node.id);
  return v_answer;
end;
$$;
comment on function pgmem.forget is $$
Hide a memory everywhere, or purge it with its edges, vectors and versions.

Hiding takes the vectors out of the search, and puts them back with the memory when revert or a save brings it back.

Memories that it had replaced stay hidden, and next_step names it. A purge leaves a tombstone without content
(list_tombstones); next_step names other memories of the same name. A
memory of more trust than the caller's stays as it is, and so does a shared one that is to be purged: the answer has
status `failed` and dedup_outcome `manual_review`, and a person decides under its save_id.

purge: Delete it for good; false: hide it, so that revert can bring it back.
project_id: Project name; unset: everywhere.
governance_token: For a global memory; a token of request_global_write_approval.
also: Ids that go too; memories that say the same, as `same` of an answer or list_said_again names them. Those of more
  trust than the caller's wait for a person.

MemoryNotFound: no such memory is visible to the caller.
AmbiguousName: a name fits several memories; the message lists their ids.
InvalidArgument: an unknown label, or an empty key.
NotPermitted: the memory belongs to all tenants, or it is global and the token is missing or spent.
RelationNotAllowed: the memory is a project, a focus area or a card.
$$;
select pgmem.declare_verb('forget', p_rights => 'writer', p_effect => 'remove', p_answer => 'Forgotten',
  p_toolset => 'core', p_reads_all => 'It looks at all insights, and for the statement in the whole store.',
  p_description =>
    'Call this to hide a memory; saving it again brings it back. Send purge only when a person asks.');


select pgmem.declare_answer('expiry', $$
How many memories exceeded a time to live and were forgotten, and how many remain.

affected integer, remaining bigint
$$);

create or replace function pgmem.forget_by_ttl(
  p_days integer,
  p_label text default null,
  p_project_id text default null,
  p_purge boolean default false,
  p_dry_run boolean default false,
  p_limit integer default 1000
) returns pgmem.expiry
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer      pgmem.expiry;
  v_caller      pgmem.caller := pgmem.require_keeper('forget_by_ttl');
  v_project_seq bigint := pgmem.find_project(p_project_id);
  v_before      timestamptz := pgmem.now() - make_interval(days => p_days);
  v_seqs        bigint[];
begin
  if coalesce(p_days, -1) < 0 or coalesce(p_limit, 0) not between 1 and 5000 then
    raise exception using errcode = 'PM001', message = 'days is 0 or more, limit from 1 to 5000.';
  end if;
  if p_label is not null then
    p_label := (pgmem.require_label(p_label)).name;
  end if;
  v_answer.affected := 0;
  select count(*), (array_agg(n.seq order by n.seq))[1 : p_limit] into v_answer.remaining, v_seqs
  from pgmem.node n
  where pgmem.is_memory(n.label) and n.updated_at < v_before and (p_label is null or n.label = p_label)
    and (p_project_id is null or n.project_seq = v_project_seq)
    and (p_purge or pgmem.is_live_status(n.status) or n.status = 'stub')
    and (not v_caller.identified or n.tenant in (v_caller.tenant, pgmem.tenant_of(v_caller.org_id)));
  if p_dry_run or v_answer.remaining = 0 then
    return v_answer;
  end if;
  perform pgmem.lock_scopes(array(select n.scope_key from pgmem.node n where n.seq = any (v_seqs)));
  -- Without those that changed before the locks were taken.
  select coalesce(array_agg(n.seq), '{}') into v_seqs
  from pgmem.node n where n.seq = any (v_seqs) and n.updated_at < v_before;
  if p_purge then
    perform pgmem.bury(v_seqs, v_caller);
    perform pgmem.delete_embeddings(v_seqs);
    delete from pgmem.node n where n.seq = any (v_seqs);
  else
    perform pgmem.set_aside_embeddings(v_seqs);
    update pgmem.node n set status = 'archived', updated_at = greatest(pgmem.now(), n.created_at)
    where n.seq = any (v_seqs);
  end if;
  v_answer.affected := cardinality(v_seqs);
  v_answer.remaining := v_answer.remaining - v_answer.affected;
  return v_answer;
end;
$$;
comment on function pgmem.forget_by_ttl is $$
Forget, or purge, the memories that have not changed for some days, batch by batch.

Without an identity all tenants are meant, else the caller's tenant and the shared part of its organisation.

days: Forget memories that have not changed for this many days, 0 or more.
label: Only this kind of memory; unset: all kinds.
project_id: Only this project; unset: all.
purge: True: delete for good, and also hidden memories; false: hide.
limit: How many memories a batch holds, 1 to 5000.

InvalidArgument: days, limit or label are not valid.
MemoryNotFound: the project does not exist.
WrongIsolation: the transaction is not READ COMMITTED.
$$;
select pgmem.declare_verb('forget_by_ttl', p_rights => 'reviewer', p_effect => 'remove', p_answer => 'Expiry',
  p_reach => 'sum',
  p_reads_all => 'It looks at the age of all memories.');


select pgmem.declare_answer('decay', $$
How many memories have decayed, how many of them were archived, and how many remain to be archived.

affected bigint, archived integer, remaining bigint
$$);

create or replace function pgmem.decay_scores(
  p_max_age_days integer default null,
  p_decay_rate float8 default null,
  p_archive_below float8 default null,
  p_dry_run boolean default false,
  p_limit integer default 2000
) returns pgmem.decay
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.decay;
  v_caller pgmem.caller := pgmem.require_keeper('decay_scores');
  v_rate   float8 := coalesce(p_decay_rate, pgmem.setting_float('decay_rate'));
  v_days   integer := coalesce(p_max_age_days, pgmem.setting_int('decay_max_age_days'));
  v_before timestamptz;
  v_dead   timestamptz;
  v_seqs   bigint[];
begin
  if v_rate < 0 or v_days < 0 or not coalesce(p_archive_below, 0) between 0 and 1
      or coalesce(p_limit, 0) not between 1 and 5000 then
    raise exception using errcode = 'PM001',
      message = 'decay_rate and max_age_days are 0 or more, archive_below is from 0 to 1, limit from 1 to 5000.';
  end if;
  if coalesce(p_archive_below, 0) = 0 and not p_dry_run
      and (v_rate, v_days) <> (pgmem.setting_float('decay_rate'), pgmem.setting_int('decay_max_age_days')) then
    raise exception using errcode = 'PM001', message = format(
      'A rate or an age would change nothing here: confidence is computed when it is read, by the settings decay_rate (%s) '
      'and decay_max_age_days (%s). Change these (set_setting), or send archive_below or dry_run.',
      pgmem.setting_float('decay_rate'), pgmem.setting_int('decay_max_age_days'));
  end if;
  v_before := pgmem.now() - make_interval(days => v_days);
  select count(*) into v_answer.affected
  from pgmem.node n
  where pgmem.is_memory(n.label) and n.label <> 'Decision' and not n.instructs and v_rate > 0 and n.updated_at < v_before and pgmem.is_live_status(n.status)
    and (not v_caller.identified or n.tenant in (v_caller.tenant, pgmem.tenant_of(v_caller.org_id)));
  v_answer.archived := 0;
  v_answer.remaining := 0;
  if coalesce(p_archive_below, 0) = 0 or v_rate = 0 then
    return v_answer;
  end if;
  -- initial * exp(-rate * days) < below, as a bound on updated_at: where initial is 1 no row needs a power.
  v_dead := least(v_before, pgmem.now() - make_interval(secs => greatest(0, -ln(p_archive_below)) / v_rate * 86400));
  select count(*), (array_agg(n.seq order by n.seq))[1 : p_limit] into v_answer.remaining, v_seqs
  from pgmem.node n
  where pgmem.is_memory(n.label) and n.label <> 'Decision' and not n.instructs and n.updated_at < v_before and pgmem.is_live_status(n.status)
    and (n.updated_at < v_dead
         or n.initial_confidence * exp(-v_rate * (extract(epoch from pgmem.now() - n.updated_at) / 86400)::float8)
            < p_archive_below)
    and (not v_caller.identified or n.tenant in (v_caller.tenant, pgmem.tenant_of(v_caller.org_id)));
  if p_dry_run or v_answer.remaining = 0 then
    return v_answer;
  end if;
  perform pgmem.lock_scopes(array(select n.scope_key from pgmem.node n where n.seq = any (v_seqs)));
  with gone as (
    update pgmem.node n set status = 'archived'
    where n.seq = any (v_seqs) and pgmem.is_live_status(n.status) and n.updated_at < v_before returning n.seq)
  select count(*) into v_answer.archived from gone;
  perform pgmem.set_aside_embeddings(v_seqs);
  v_answer.remaining := v_answer.remaining - cardinality(v_seqs);
  return v_answer;
end;
$$;
comment on function pgmem.decay_scores is $$
Count the memories whose confidence has decayed; archive those below a threshold.

Decisions and standing instructions do not decay: they hold until they are replaced.

Reads compute confidence by the settings decay_rate and decay_max_age_days, which set_setting changes. Another rate or age
holds for this call alone, with archive_below or dry_run; without them it would change nothing and is refused. Without an
identity all tenants are meant, else the caller's tenant and the shared part of its organisation. A call archives one batch
and returns how many remain; the method in Python goes on until none does.

max_age_days: Days without a change before confidence decays; unset: the setting decay_max_age_days.
decay_rate: The rate of the decay by day, 0 or more; unset: the setting decay_rate.
archive_below: Archive memories of less confidence than this, 0 to 1; unset or 0: archive none.
limit: How many memories a batch archives at most, 1 to 5000.

InvalidArgument: a number is out of bounds, or a rate or an age that would change nothing.
WrongIsolation: the transaction is not READ COMMITTED.
$$;
select pgmem.declare_verb('decay_scores', p_rights => 'reviewer', p_effect => 'remove', p_answer => 'Decay',
  p_reach => 'sum',
  p_reads_all => 'It computes the confidence of all memories.');
