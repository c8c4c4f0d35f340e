"""The feed of changes: one row for each change of a memory, an edge, a review or a project."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261125_feed", "20261125_last_conversation"


def upgrade() -> None:
    run(op.get_bind(), DOMAINS + TABLES + SETTINGS)


DOMAINS = """
create domain pgmem.change_subject as text constraint subject_known
  check (value in ('memory', 'edge', 'review', 'project'));
comment on domain pgmem.change_subject is 'What changed.';
create domain pgmem.change_kind as text constraint kind_known check (value in (
  'saved', 'changed', 'confirmed', 'superseded', 'forgotten', 'restored', 'expired', 'merged', 'approved', 'dismissed',
  'adopted', 'purged', 'related', 'unrelated', 'held', 'dropped'));
comment on domain pgmem.change_kind is 'How it changed.';
"""

TABLES = """
create table pgmem.change (
  stamp           xid8 not null,
  seq             bigint generated always as identity,
  subject         pgmem.change_subject not null,
  kind            pgmem.change_kind not null,
  id              uuid not null,
  other_id        uuid,
  label           text not null,
  version         integer,
  project         text,
  tenant          text not null,
  at              timestamptz not null,
  primary key (stamp, seq)
);
comment on table pgmem.change is 'The feed: every committed change, in the order of commits; kept for feed_days.';
comment on column pgmem.change.stamp is
  'The last transaction that had ended when the change was written, or the one that wrote it, whichever is later.';
comment on column pgmem.change.seq is 'The order of changes with one stamp.';
comment on column pgmem.change.id is 'Of the memory, the project, the source of the edge, or the save under review.';
comment on column pgmem.change.other_id is 'The target of an edge.';
comment on column pgmem.change.label is 'The label of the memory, the relation of the edge, or the verb of the review.';
comment on column pgmem.change.version is 'The version of the memory after the change.';
comment on column pgmem.change.project is 'The name of its project.';
comment on column pgmem.change.tenant is 'As in node; of an edge that of the end that fewer callers see.';
comment on column pgmem.change.at is 'When it was written.';
alter table pgmem.change enable row level security;
revoke all on pgmem.change from public;

create table pgmem.feed (
  one             boolean primary key default true constraint one_feed check (one),
  id              uuid not null default gen_random_uuid(),
  system          text not null,
  kept_stamp      xid8 not null default '0',
  kept_seq        bigint not null default 0
);
comment on table pgmem.feed is 'One row: which feed this is, and the last change that is no longer kept.';
comment on column pgmem.feed.id is 'Part of what a cursor belongs to, with the server and the database.';
comment on column pgmem.feed.system is 'The server whose transactions the stamps are of.';
comment on column pgmem.feed.kept_stamp is 'The stamp of the last change that was removed; 0: none was.';
comment on column pgmem.feed.kept_seq is 'The place of that change.';
alter table pgmem.feed enable row level security;
revoke all on pgmem.feed from public;
insert into pgmem.feed (system) select c.system_identifier::text from pg_control_system() c;

create table pgmem.listener (
  pid             integer primary key,
  until           timestamptz not null
);
comment on table pgmem.listener is 'The sessions that listen to pgmem_change: writers notify only while there is one.';
comment on column pgmem.listener.pid is 'The process of the session.';
comment on column pgmem.listener.until is 'Until when it counts, unless it says so again.';
alter table pgmem.listener enable row level security;
revoke all on pgmem.listener from public;
"""

SETTINGS = """
insert into pgmem.setting (name, value, description) values
  ('feed_days', '30', 'Days that the feed of changes is kept; a reader that comes later starts anew from an export.');
"""
