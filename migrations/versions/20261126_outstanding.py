"""What was refused in an exchange is kept, and offered again."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261126_outstanding", "20261126_reads"


def upgrade() -> None:
    run(op.get_bind(), TABLE + SETTING)


TABLE = """
create table pgmem.outstanding (
  id              uuid primary key default gen_random_uuid(),
  tenant          text not null,
  peer            text not null,
  direction       text not null constraint direction_known check (direction in ('here', 'there')),
  about           text not null,
  change          jsonb not null,
  title           text,
  reason          text not null,
  since           timestamptz not null,
  tried_at        timestamptz not null,
  tries           integer not null default 1 constraint tries_positive check (tries > 0),
  constraint outstanding_once unique (tenant, peer, direction, about)
);
create index outstanding_about on pgmem.outstanding (about);
comment on table pgmem.outstanding is
  'Changes that were refused in an exchange; each sync offers them again until they are taken or dismissed.';
comment on column pgmem.outstanding.tenant is 'As in node: whose exchange it was.';
comment on column pgmem.outstanding.peer is 'The store that it was with: what the cursors of its feed begin with.';
comment on column pgmem.outstanding.direction is 'here: it came from there and was refused here; there: the other way round.';
comment on column pgmem.outstanding.about is 'The memory, relation, review or word that it is about.';
comment on column pgmem.outstanding.change is 'The change as it was sent last.';
comment on column pgmem.outstanding.reason is 'Why it was refused the last time.';
comment on column pgmem.outstanding.since is 'When it was refused for the first time.';
comment on column pgmem.outstanding.tried_at is 'When it was refused for the last time.';
comment on column pgmem.outstanding.tries is 'How often it was refused.';
alter table pgmem.outstanding enable row level security;
revoke all on pgmem.outstanding from public;
"""

SETTING = """
insert into pgmem.setting (name, value, description) values
  ('outstanding_limit', '10000', 'Changes of an exchange with one store that may be refused and wait; then a sync ends, and loses none.');
"""
