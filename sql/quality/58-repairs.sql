-- Repairs: one memory takes the place of another
--
-- A person decides on a repair, so these verbs are for the owner and reviewers. Both memories must be live, different,
-- and the caller's own; a shared memory never gives way to a private one, because the others would lose it. The one
-- that goes keeps its history; its relation (SUPERSEDES or MERGES_INTO) records who decided, and revert brings it back.
--
-- Locks: the scopes of both memories, sorted, before the read that the decision rests on (repair_pair).


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
      message = format('A shared %s never gives way to a private one, because the others would lose it; '
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
  perform pgmem.set_status(v_old.seq, 'superseded', pgmem.now());
  perform pgmem.insert_edge(v_new.seq, 'SUPERSEDES', v_old.seq,
                            jsonb_strip_nulls(jsonb_build_object('by', pgmem.clean_key(p_by, 'by'))));
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
  v_pair   record;
  v_from   pgmem.node;
  v_into   pgmem.node;
begin
  v_pair := pgmem.repair_pair('merge_entities', 'EntityFact', p_entity, p_into, p_project_id);
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
    perform pgmem.store_embedding(v_into, null);
  end if;
  return pgmem.repaired(v_from.seq, 'MERGES_INTO', v_into);
end;
$$;
comment on function pgmem.merge_entities is $$
Merge one entity into another; `revert` brings it back.

The facts of the first stay in its history.

entity: The entity that is merged, by id or name.
into: The entity that stays, by id or name.
fact: The fact of the merged entity; unset: the fact of `into` stays.

NotPermitted: the login is neither owner nor reviewer, or an entity is not the caller's.
MemoryNotFound: no such entity or project is visible here.
AmbiguousName: a name fits several entities.
InvalidArgument: one of the entities is not live.
RelationNotAllowed: they are one, of two projects, or the second is private and the first shared.
$$;
select pgmem.declare_verb('merge_entities', p_rights => 'reviewer', p_effect => 'write', p_answer => 'Repair',
  p_reach => 'caller');
