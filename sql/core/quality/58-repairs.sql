-- Repairs: one memory takes the place of another, or of itself corrected
--
-- A person decides on a repair, so these verbs are for the owner and reviewers. Both memories must be live, different,
-- and the caller's own; a private memory cannot replace a shared one, because the others would lose it. The one
-- that goes keeps its history; its relation (SUPERSEDES or MERGES_INTO) records who decided, and revert brings it back.
--
-- An edit of a part makes a memory of two sources: it is trusted as the less trusted of them. To take over the whole of it,
-- or to write all of its texts anew, makes it the editor's.
--
-- Locks: the scopes of both memories, sorted, before the read that the decision rests on (repair_pair);
-- that of a memory that is edited, then its row.


create or replace function pgmem.derived_trust(p_own float8, p_sources bigint[]) returns float8
language sql stable set search_path = pgmem, pg_temp as $$
  select least(p_own, (select min(n.trust_level) from pgmem.visible_node n where n.seq = any (p_sources)));
$$;
comment on function pgmem.derived_trust is
  'The trust of a derived memory: the least of its writer''s and its sources'', so that deriving adds none.';


create or replace function pgmem.repair_pair(
  p_verb text,
  p_label text,
  p_gone text,
  p_stays text,
  p_project_id text,
  out gone pgmem.node,
  out stays pgmem.node
)
language plpgsql set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_seq    bigint := pgmem.find_project(p_project_id);
begin
  perform pgmem.require_reviewer(p_verb);
  gone := pgmem.find_node(p_label, p_gone, v_seq);
  stays := pgmem.find_node(p_label, p_stays, v_seq);
  perform pgmem.require_own(gone, v_caller);
  perform pgmem.require_own(stays, v_caller);
  if gone.seq = stays.seq then
    raise exception using errcode = 'PM011',
      message = format('Both names mean one %s; send two different ones.', p_label);
  end if;
  if stays.tenant <> gone.tenant and stays.user_id <> '' then
    raise exception using errcode = 'PM011',
      message = format('A private %s cannot replace a shared one: other users would lose it; '
                       'save the private one with share = org first.', p_label);
  end if;
  perform pgmem.lock_scope(least(gone.scope_key, stays.scope_key));
  perform pgmem.lock_scope(greatest(gone.scope_key, stays.scope_key));
  select n.* into gone from pgmem.visible_node n where n.seq = gone.seq;
  select n.* into stays from pgmem.visible_node n where n.seq = stays.seq;
  gone := pgmem.settled(gone);
  stays := pgmem.settled(stays);
  if gone.status <> 'active' or stays.status <> 'active' then
    raise exception using errcode = 'PM001',
      message = format('Both must be live: %s is %s, %s is %s.', gone.id, gone.status, stays.id, stays.status);
  end if;
end;
$$;
comment on function pgmem.repair_pair is
  'The two memories of a repair, the one that goes and the one that stays: found, checked and locked.';


create or replace function pgmem.repaired(p_gone bigint, p_rel text, p_stays pgmem.node) returns pgmem.repair_answer
language sql stable set search_path = pgmem, pg_temp as $$
  select n.id, n.title, n.status, n.version, p_rel, (p_stays).id, (p_stays).title, (p_stays).version
  from pgmem.visible_node n where n.seq = p_gone;
$$;
comment on function pgmem.repaired is 'The answer of a repair: the memory that went, and the one that stays.';


select pgmem.declare_answer('repair_answer', $$
A memory that was merged into or superseded by another one.

class Repair
id uuid, title text, status text, version integer, rel_type MERGES_INTO|SUPERSEDES, into_id uuid, into_title text
into_version integer
$$);

create or replace function pgmem.supersede(
  p_old text,
  p_new text,
  p_project_id text default null,
  p_by text default null
) returns pgmem.repair_answer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_pair record;
  v_old  pgmem.node;
  v_new  pgmem.node;
begin
  v_pair := pgmem.repair_pair('supersede', 'Decision', p_old, p_new, p_project_id);
  v_old := v_pair.gone;
  v_new := v_pair.stays;
  if exists (
      with recursive line(seq) as (
        select v_old.seq union select e.dst from line join pgmem.edge e on e.src = line.seq and e.rel = 'SUPERSEDES')
      select from line where line.seq = v_new.seq) then
    raise exception using errcode = 'PM011',
      message = format('%s was superseded by %s before: the line of decisions would run in a circle.',
                       v_new.id, v_old.id);
  end if;
  perform pgmem.supersede_decision(v_new, v_old.seq, jsonb_strip_nulls(jsonb_build_object('by', pgmem.clean_key(p_by, 'by'))));
  return pgmem.repaired(v_old.seq, 'SUPERSEDES', v_new);
end;
$$;
comment on function pgmem.supersede is $$
Let one decision supersede another; `revert` brings the old one back.

old: The decision that is superseded, by id or exact title.
new: The decision that supersedes it, by id or exact title.

NotPermitted: the login is neither owner nor reviewer, or a decision is not the caller's.
MemoryNotFound: no such decision or project is visible here.
AmbiguousName: a title fits several decisions.
InvalidArgument: one of the decisions is not live.
RelationNotAllowed: they are one, the new one is private and the old one shared, or they would form a circle.
$$;
select pgmem.declare_verb('supersede', p_rights => 'reviewer', p_effect => 'write', p_answer => 'Repair',
  p_reach => 'caller');


create or replace function pgmem.merge_entities(
  p_entity text,
  p_into text,
  p_project_id text default null,
  p_fact text default null,
  p_by text default null
) returns pgmem.repair_answer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_fact   text := pgmem.clean_text(p_fact, 'fact');
  v_label  text;
  v_pair   record;
  v_from   pgmem.node;
  v_into   pgmem.node;
begin
  -- By its id an entity of any named label is meant.
  if pgmem.is_uuid(p_entity) then
    select n.label into v_label from pgmem.visible_node n
    where n.id = p_entity::uuid and n.key is not null and pgmem.is_memory(n.label);
  end if;
  if v_fact is not null and v_label <> 'EntityFact' then
    raise exception using errcode = 'PM001', message = format('fact is of an EntityFact; leave it out for a %s.', v_label);
  end if;
  v_pair := pgmem.repair_pair('merge_entities', coalesce(v_label, 'EntityFact'), p_entity, p_into, p_project_id);
  v_from := v_pair.gone;
  v_into := v_pair.stays;
  if v_into.scope <> 'global' and v_into.project_seq is distinct from v_from.project_seq then
    raise exception using errcode = 'PM011',
      message = 'The two belong to different projects; the first project would lose what it knows.';
  end if;
  perform pgmem.set_status(v_from.seq, 'merged');
  perform pgmem.insert_edge(v_from.seq, 'MERGES_INTO', v_into.seq,
                            jsonb_strip_nulls(jsonb_build_object('by', pgmem.clean_key(p_by, 'by'))));
  if v_fact is not null and v_fact is distinct from v_into.props ->> 'fact' then
    v_into.props := v_into.props || jsonb_build_object('fact', v_fact);
    -- The fact is made of both, so it is trusted as the less trusted of them.
    v_into.trust_level := pgmem.derived_trust(v_caller.trust_level, array[v_from.seq, v_into.seq]);
    v_into.source := v_caller.source;
    v_into := pgmem.update_node(v_into);
    perform pgmem.store_embedding(v_into);
  end if;
  return pgmem.repaired(v_from.seq, 'MERGES_INTO', v_into);
end;
$$;
comment on function pgmem.merge_entities is $$
Merge one entity into another; `revert` brings it back.

The facts of the first stay in its history.

entity: The entity that is merged, by id or name; by its id also a thing of another named label, such as Technology.
into: The entity that stays, by id or name; of the same label.
fact: The fact of the merged entity; unset: the fact of `into` stays.

NotPermitted: the login is neither owner nor reviewer, or an entity is not the caller's.
MemoryNotFound: no such entity or project is visible here.
AmbiguousName: a name fits several entities.
InvalidArgument: one of the entities is not live.
RelationNotAllowed: they are one, of two projects, or the second is private and the first shared.
$$;
select pgmem.declare_verb('merge_entities', p_rights => 'reviewer', p_effect => 'write', p_answer => 'Repair',
  p_reach => 'caller');


select pgmem.declare_answer('titled_memory', $$
A memory by its id and title, with its status.

like labelled_memory
status text
$$);

select pgmem.declare_answer('conflict_entry', $$
Two live memories that contradict each other; neither is preferred until a person decides.

id uuid, label text, title text, project text?, with_id uuid, with_label text, with_title text, with_project text?
created_at timestamptz
by person|agent?: Who said it; agent: also a program or a file.
with_by person|agent?: Who said the other one.
$$);

create or replace function pgmem.list_conflicts(
  p_project_id text default null,
  p_id uuid default null,
  p_limit pgmem.row_limit default 50
) returns setof pgmem.conflict_entry
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_project bigint := pgmem.find_project(p_project_id);
begin
  return query
  select c.id, c.label, c.title::text, c.project, c.with_id, c.with_label, c.with_title::text, c.with_project,
         c.created_at::timestamptz, c.by, c.with_by
  from pgmem.open_conflict c
  where (v_project is null or v_project in (c.project_seq, c.with_project_seq))
    and (p_id is null or p_id in (c.id, c.with_id))
  order by c.seq limit p_limit;
end;
$$;
comment on function pgmem.list_conflicts is $$
List the pairs of live memories that contradict each other, the oldest conflict first.

project_id: Only of this project; unset: of all.
id: Only those of this memory; unset: of all.
$$;
select pgmem.declare_verb('list_conflicts', p_rights => 'reader', p_effect => 'look', p_answer => 'list[ConflictEntry]');


create or replace function pgmem.settle_conflict(
  p_id uuid,
  p_with_id uuid,
  p_by text,
  p_holds uuid default null,
  p_reason text default null
) returns pgmem.titled_memory
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.titled_memory;
  v_caller pgmem.caller := pgmem.require_writer();
  v_by     jsonb := jsonb_strip_nulls(jsonb_build_object(
                      'by', pgmem.clean_key(p_by, 'by'), 'reason', pgmem.clean_text(p_reason, 'reason')));
  v_stays  pgmem.node;
  v_goes   pgmem.node;  -- the first, where both hold
  v_newer  bigint;      -- of a replacement that nobody has said
begin
  perform pgmem.require_reviewer('settle_conflict');
  if p_holds is not null and p_holds not in (p_id, p_with_id) then
    raise exception using errcode = 'PM001', message = 'holds is one of the two ids; leave it out if both hold.';
  end if;
  select n.* into v_stays from pgmem.visible_node n where n.id = case when p_holds = p_id then p_id else p_with_id end;
  select n.* into v_goes from pgmem.visible_node n where n.id = case when p_holds = p_id then p_with_id else p_id end;
  if v_stays.seq is null or v_goes.seq is null then
    raise exception using errcode = 'PM002', message = 'One of the two memories was not found.';
  end if;
  perform pgmem.require_own(v_stays, v_caller);
  perform pgmem.require_own(v_goes, v_caller);
  perform pgmem.lock_scopes(array[v_stays.scope_key, v_goes.scope_key]);
  v_newer := (
    select e.src from pgmem.edge e
    where (e.src, e.dst) in ((v_stays.seq, v_goes.seq), (v_goes.seq, v_stays.seq)) and e.rel = 'SUPERSEDES'
      and e.props ? 'likeness' and 'superseded' in (v_stays.status, v_goes.status)
      and 'active' in (v_stays.status, v_goes.status));
  if v_newer is null and not (
      pgmem.is_live(v_stays.status, v_stays.valid_from, v_stays.valid_to)
      and pgmem.is_live(v_goes.status, v_goes.valid_from, v_goes.valid_to)
      and exists (
        select from pgmem.edge e where e.rel = 'CONFLICTS_WITH'
          and (e.src, e.dst) in ((v_stays.seq, v_goes.seq), (v_goes.seq, v_stays.seq)))) then
    raise exception using errcode = 'PM001',
      message = 'No open conflict joins the two; another person may have decided it.';
  end if;
  if v_newer is not null and p_holds is not null and v_stays.seq = v_newer then
    update pgmem.edge e set props = e.props - 'likeness' - 'words' || v_by
    where e.src = v_newer and e.rel = 'SUPERSEDES' and e.dst = v_goes.seq;
  elsif p_holds is null or v_newer is not null then
    perform pgmem.hold_both(v_goes, v_stays, v_by);
  end if;
  if p_holds is not null and v_newer is distinct from v_stays.seq then
    if v_stays.label = 'Decision' and v_goes.label = 'Decision' then
      delete from pgmem.edge e where e.rel = 'SIMILAR_TO' and e.props ? 'by'
        and (e.src, e.dst) in ((v_stays.seq, v_goes.seq), (v_goes.seq, v_stays.seq));
      perform pgmem.supersede(v_goes.id::text, v_stays.id::text, null, p_by);
    else
      delete from pgmem.edge e where e.rel in ('CONFLICTS_WITH', 'SIMILAR_TO')
        and (e.src, e.dst) in ((v_stays.seq, v_goes.seq), (v_goes.seq, v_stays.seq));
      perform pgmem.insert_edge(v_stays.seq, 'OUTDATES', v_goes.seq, v_by);
    end if;
  end if;
  select n.id, n.label, n.title, n.status into v_answer from pgmem.visible_node n where n.seq = v_goes.seq;
  return v_answer;
end;
$$;
comment on function pgmem.settle_conflict is $$
Decide a conflict, or a replacement by likeness alone: one of two memories holds, or both.

The answer is the one that does not hold, or the first where both do.

The holding decision of two supersedes the other. Another memory outdates the other, which stays and is
found after it. Where both hold they are joined by SIMILAR_TO with the reason, and are not compared again; a decision that was
replaced by the likeness of titles alone (list_replacements) comes back.

id: The id of one of the two.
with_id: The id of the other.
holds: The id of the one that holds; unset: both do.
reason: Why; kept with the decision.

NotPermitted: the login is neither owner nor reviewer, or a memory is not the caller's.
MemoryNotFound: one of the two is not visible here.
InvalidArgument: no open conflict or replacement joins them, or holds is neither of them.
$$;
select pgmem.declare_verb('settle_conflict', p_rights => 'reviewer', p_effect => 'write', p_answer => 'TitledMemory',
  p_reach => 'caller');


-- Only properties that the memory has, in their form: a text stays a text, a list of texts a list of texts.
create or replace function pgmem.edited_properties(p_node pgmem.node, p_properties jsonb) returns jsonb
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_wrong text;
begin
  if jsonb_typeof(p_properties) is distinct from 'object' then
    raise exception using errcode = 'PM001', message = 'properties must be an object; send {"rationale": "…"}.';
  end if;
  -- A property of its kind keeps its form; an added one is free.
  select e.name into v_wrong from jsonb_each(p_properties) as e(name, value)
  left join pgmem.field f on f.label = p_node.label and f.name = e.name
  where case when f.name is not null and f.kept <> 'property' and f.kept <> 'key' then true
    when e.value = 'null' then coalesce(f.required, false)
    when f.name is not null and not p_node.props ? e.name
      then f.type in ('text', 'title', 'key', 'date', 'time') and jsonb_typeof(e.value) <> 'string'
        or f.type = 'texts' and jsonb_typeof(e.value) <> 'array'
    else f.name is not null and jsonb_typeof(e.value) is distinct from jsonb_typeof(p_node.props -> e.name) end limit 1;
  if v_wrong is not null then
    raise exception using errcode = 'PM001', message = format('%s of this %s cannot be edited so; edit its texts: %s.',
      quote_literal(left(v_wrong, 80)), p_node.label,
      (select string_agg(name, ', ' order by name) from jsonb_each(p_node.props) as e(name, value)
       where jsonb_typeof(e.value) in ('string', 'array')));
  end if;
  return (
    select coalesce(jsonb_object_agg(e.name, e.value), '{}') from (
      select e.name, case
        when f.type = 'texts' and e.value <> 'null' then pgmem.clean_texts(e.value, e.name)
        when f.type in ('text', 'title', 'key') and e.value <> 'null'
          then to_jsonb(pgmem.clean_text(e.value #>> '{}', e.name, true))
        else pgmem.clean_properties(jsonb_build_object(e.name, e.value)) -> e.name end
      from jsonb_each(pgmem.require_length(p_properties)) as e(name, value)
      left join pgmem.field f on f.label = p_node.label and f.name = e.name) as e(name, value)
    where e.value is not null);
end;
$$;
comment on function pgmem.edited_properties is
  'The properties of an edit, cleaned; an error names one that the memory has not, or has in another form.';


create or replace function pgmem.writes_all(p_node pgmem.node, p_properties jsonb, p_title text) returns boolean
language sql stable set search_path = pgmem, pg_temp as $$
  select p_node.key is null and not exists (
    select from jsonb_each(p_node.props || case when l.title_field is null or not p_node.props ? l.title_field
                             then jsonb_build_object('', p_node.title) else '{}' end) as e(name, value)
    left join pgmem.field f on f.label = p_node.label and f.name = e.name
    where jsonb_typeof(e.value) in ('string', 'array', 'object') and coalesce(f.type, '') not in ('date', 'time')
      and case e.name when '' then p_title is null else not p_properties ? e.name end)
  from pgmem.label l where l.name = p_node.label;
$$;
comment on function pgmem.writes_all is
  'Whether an edit sends every text that a memory has, its title too; a named memory keeps its name, and so never.';


create or replace function pgmem.edit_node(
  p_node pgmem.node,
  p_caller pgmem.caller,
  p_by text,
  p_properties jsonb,
  p_title text default null,
  p_period jsonb default null,
  p_whole boolean default false
) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node  pgmem.node := p_node;
  v_title text := case when p_title is not null then pgmem.clean_title(p_title, 'title') end;
  v_label pgmem.label := pgmem.require_label(p_node.label);
begin
  if not pgmem.is_live_status(v_node.status) then
    raise exception using errcode = 'PM001',
      message = format('The memory is %s; only a live one is edited. revert brings it back.', v_node.status);
  end if;
  v_node.props := jsonb_strip_nulls(v_node.props || pgmem.edited_properties(v_node, p_properties));
  if p_period is not null then
    if jsonb_typeof(p_period) <> 'object' then
      raise exception using errcode = 'PM001', message = 'period must be an object; send {"valid_from": …, "valid_to": …}.';
    end if;
    v_node.valid_from := pgmem.argument_time(p_period, 'valid_from');
    v_node.valid_to := pgmem.argument_time(p_period, 'valid_to');
    perform pgmem.require_period(v_node.valid_from, v_node.valid_to);
  end if;
  if v_node.key is not null and (v_node.props ->> v_label.key_field is distinct from v_node.key
                                 or coalesce(v_title, v_node.title) <> v_node.title) then
    raise exception using errcode = 'PM001',
      message = format('A %s keeps its name; save another one under the new name.', v_node.label);
  elsif v_node.key is null then
    v_node.title := coalesce(pgmem.excerpt(v_node.props ->> v_label.title_field), v_title, v_node.title);
  end if;
  v_node.content_hash := coalesce(pgmem.memory_hash(v_node.label, v_node.title, v_node.props), v_node.content_hash);
  if v_node.content_hash is not null then
    perform pgmem.require_no_twin(v_node);
  end if;
  if p_whole or pgmem.writes_all(p_node, p_properties, p_title) then
    return pgmem.taken_over(v_node, p_caller.source, p_caller.trust_level, p_by);
  end if;
  v_node.trust_level := least(p_node.trust_level, p_caller.trust_level);
  if p_caller.trust_level < p_node.trust_level
      or p_caller.trust_level = p_node.trust_level and p_node.source in ('cli', 'ui') then
    v_node.source := p_caller.source;
  end if;
  v_node.agent_id := p_by;
  v_node := pgmem.update_node(v_node);
  perform pgmem.store_embedding(v_node);
  return v_node;
end;
$$;
comment on function pgmem.edit_node is
  'Correct a live memory, which the caller has locked: of a part with the lesser trust of both, of the whole with the caller''s.';


select pgmem.declare_answer('edited_memory', $$
A memory after a person has corrected it.

like titled_memory
version integer
by person|agent?: Who said it; agent: also a program or a file.
$$);

create or replace function pgmem.edit_memory(
  p_id uuid,
  p_version integer,
  p_properties jsonb,
  p_by text,
  p_title text default null,
  p_period jsonb default null,
  p_whole boolean default false
) returns pgmem.edited_memory
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_by     text;
  v_node   pgmem.node;
begin
  perform pgmem.require_reviewer('edit_memory');
  v_by := pgmem.require_key(p_by, 'by');
  v_node := pgmem.require_memory(p_id);
  perform pgmem.require_forgettable(v_node, v_caller);
  v_node := pgmem.locked(v_node);
  if v_node.version is distinct from p_version then
    raise exception using errcode = 'PM001', message = format(
      'The memory has changed since it was shown: it is at version %s. Look at it, then edit it again.',
      v_node.version);
  end if;
  v_node := pgmem.edit_node(v_node, v_caller, v_by, p_properties, p_title, p_period, p_whole);
  return row(v_node.id, v_node.label, v_node.title, v_node.status, v_node.version,
             pgmem.said_by(v_node.source, v_node.trust_level))::pgmem.edited_memory;
end;
$$;
comment on function pgmem.edit_memory is $$
Correct a live memory in place, as a person: a new version.

The earlier version stays in its history. A text of its kind stays a text and a list of texts a list; a memory that is
named keeps its name.

An edit of a part of another's text leaves the memory the lesser trust of both, and its source. It has the
person's trust where the edit sends every text of it, or where the person takes over the whole.

id: The id of the memory.
version: The version that the person was shown; another one since is refused.
properties: The properties that change, an object; the others stay, and null removes one that its kind does not require.
title: The title, of a memory whose title is not a property, such as a decision; unset: as it is.
period: {"valid_from": …, "valid_to": …} instead of the period that it has; an end that is missing is open.
whole: The person has read all of it and takes it over: it has their trust from now on.

NotPermitted: the login is neither owner nor reviewer, or the memory belongs to all tenants.
MemoryNotFound: no such memory is visible to the caller.
InvalidArgument: it has changed since it was shown, it is not live, a property is unknown or has another form, or the
  same content is live under another id.
RelationNotAllowed: the memory is a card.
IdentityRequired: the store has tenants and the caller has no identity.
WrongIsolation: the transaction is not READ COMMITTED.
$$;
select pgmem.declare_verb('edit_memory', p_rights => 'reviewer', p_effect => 'write', p_answer => 'EditedMemory',
  p_reach => 'caller');
