-- Entries of the feed of changes
--
-- Triggers (95-triggers) write each change of a memory, an edge, a review or a project to pgmem.change, in the transaction
-- that made the change; 84-feed says how their order agrees with that of commits.
--
-- A notification takes a lock at commit, so a writer notifies only while somebody listens (listen_changes).
--
-- Locks: none.


create or replace function pgmem.change_stamp() returns xid8
language sql volatile
begin atomic
  select greatest(pg_current_xact_id(), ((pg_snapshot_xmax(pg_current_snapshot())::text)::bigint - 1)::text::xid8);
end;
comment on function pgmem.change_stamp is
  'The stamp of a change that is written now: this transaction, or the last one that has ended if that is later.';


create or replace function pgmem.change_subject_of(p_label text) returns pgmem.change_subject
language sql immutable parallel safe
begin atomic
  select case when p_label in ('Project', 'FocusArea') then 'project' else 'memory' end::pgmem.change_subject;
end;
comment on function pgmem.change_subject_of is 'Whether a node of a label is a memory or a project.';


create or replace function pgmem.change_kind_of(p_old text, p_new text) returns pgmem.change_kind
language sql immutable parallel safe
begin atomic
  select case
    when p_old = p_new then 'changed'
    when p_new = 'archived' then 'forgotten'
    when p_new in ('superseded', 'expired', 'merged', 'approved', 'dismissed') then p_new
    when p_new = 'rejected' then 'dismissed'
    when p_new = 'active' and p_old in ('archived', 'superseded', 'expired', 'merged', 'dismissed', 'rejected')
      then 'restored'
    else 'changed' end::pgmem.change_kind;
end;
comment on function pgmem.change_kind_of is 'How a memory changed whose status was the first and is the second.';


create or replace function pgmem.notify_change() returns boolean
language plpgsql as $$
begin
  -- A session that listens and does not read fills the queue of the server, and a full one would refuse the commit.
  if exists (select from pgmem.listener l where l.until > now()) and pg_notification_queue_usage() < 0.5 then
    -- The same text again in a transaction is one notification.
    perform pg_notify('pgmem_change', '');
    return true;
  end if;
  return false;
end;
$$;
comment on function pgmem.notify_change is
  'Wake the listeners when this transaction commits, if there are any and the queue has room; else they look by themselves.';


create or replace function pgmem.record_made() returns trigger
language plpgsql as $$
declare
  v_told boolean;
begin
  insert into pgmem.change (stamp, subject, kind, id, label, version, project, tenant, at)
  values (pgmem.change_stamp(), pgmem.change_subject_of(new.label), 'saved', new.id, new.label, new.version,
          case new.label when 'Project' then new.key else new.project end, new.tenant, pgmem.clock());
  v_told := pgmem.notify_change();
  return null;
end;
$$;
comment on function pgmem.record_made is 'Trigger: a new memory or project enters the feed.';


create or replace function pgmem.drop_outstanding(p_id uuid, p_tenant text) returns void
language sql set search_path = pgmem, pg_temp as $$
  delete from pgmem.outstanding o
  where o.tenant = p_tenant and p_id::text in (o.about, split_part(o.about, ' ', 1), split_part(o.about, ' ', 3));
$$;
comment on function pgmem.drop_outstanding is
  'Offer a purged memory and its relations to no other store any more: they are not taken anywhere, and hold its text.';


create or replace function pgmem.record_gone() returns trigger
language plpgsql as $$
declare
  v_told boolean;
begin
  insert into pgmem.change (stamp, subject, kind, id, label, version, project, tenant, at)
  values (pgmem.change_stamp(), pgmem.change_subject_of(old.label), 'purged', old.id, old.label, old.version,
          case old.label when 'Project' then old.key else old.project end, old.tenant, pgmem.clock());
  perform pgmem.drop_outstanding(old.id, old.tenant);
  v_told := pgmem.notify_change();
  return null;
end;
$$;
comment on function pgmem.record_gone is 'Trigger: a memory that was deleted enters the feed, without its content.';


create or replace function pgmem.record_edge() returns trigger
language plpgsql as $$
declare
  v_edge pgmem.edge := coalesce(new, old);
  v_told boolean;
begin
  -- The rows of an edge that goes with a memory say nothing beyond that. Where both ends are in one organisation, the one
  -- with the longer list of owners is seen by fewer callers.
  insert into pgmem.change (stamp, subject, kind, id, other_id, label, project, tenant, at)
  select pgmem.change_stamp(), 'edge', case tg_op when 'INSERT' then 'related' else 'unrelated' end, s.id, d.id,
         v_edge.rel, coalesce(s.project, d.project),
         case when (d.user_id <> '', d.org_id <> '') > (s.user_id <> '', s.org_id <> '') then d.tenant
              else s.tenant end,
         pgmem.clock()
  from pgmem.node s, pgmem.node d where s.seq = v_edge.src and d.seq = v_edge.dst;
  if found then
    v_told := pgmem.notify_change();
  end if;
  return null;
end;
$$;
comment on function pgmem.record_edge is 'Trigger: an edge that was made or removed enters the feed.';


create or replace function pgmem.record_review() returns trigger
language plpgsql as $$
declare
  v_told boolean;
begin
  insert into pgmem.change (stamp, subject, kind, id, other_id, label, project, tenant, at)
  values (pgmem.change_stamp(), 'review',
          case new.status when 'saved' then 'approved' when 'dropped' then 'dropped' else 'held' end,
          new.save_id, new.candidate_id, new.verb, new.project, new.tenant, pgmem.clock());
  v_told := pgmem.notify_change();
  return null;
end;
$$;
comment on function pgmem.record_review is 'Trigger: a save that waits for a person, or was decided, enters the feed.';


create or replace function pgmem.note_erased() returns void
language sql set search_path = pgmem, pg_temp as $$
  update pgmem.feed f set erased_stamp = c.stamp, erased_seq = c.seq
  from (select l.stamp, l.seq from pgmem.change l order by l.stamp desc, l.seq desc limit 1) c
  where (c.stamp, c.seq) > (f.erased_stamp, f.erased_seq);
$$;
comment on function pgmem.note_erased is
  'Note before the changes of a tenant are erased how far the feed reaches: a cursor up to there may name one of them.';
