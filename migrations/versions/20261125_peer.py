"""The stores that this one is kept in step with, and how far."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261125_peer", "20261125_contradictions"


def upgrade() -> None:
    run(op.get_bind(), TABLES)


TABLES = """
create table pgmem.peer (
  tenant          text not null,
  name            text not null,
  pulled          text,
  pushed          text,
  synced_at       timestamptz not null,
  primary key (tenant, name)
);
comment on table pgmem.peer is 'The stores that a tenant keeps this one in step with (pgmem sync), and how far each has been read and told.';
comment on column pgmem.peer.name is 'What the cursors of its feed begin with.';
comment on column pgmem.peer.pulled is 'The cursor behind the last of its changes that is applied here.';
comment on column pgmem.peer.pushed is 'The cursor of this feed behind the last change that is applied there.';
alter table pgmem.peer enable row level security;
revoke all on pgmem.peer from public;
"""
