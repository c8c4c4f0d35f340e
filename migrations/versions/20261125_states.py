"""States of a memory told beside each other: their order, what each leaves to others, and when one takes over."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261125_states", "20261125_peer"


def upgrade() -> None:
    run(op.get_bind(), STATES)


STATES = """
alter table pgmem.node add column told integer, add column turns_at timestamptz, add column yields tstzmultirange;
alter table pgmem.node_version add column yields tstzmultirange;
comment on column pgmem.node.told is
  'The number of the latest state on record, where that is not this one: a period in the past or the future.';
comment on column pgmem.node.turns_at is
  'From when on another state on record is the present one; null: none is known. Reads compare it with the clock.';
comment on column pgmem.node.yields is
  'The parts of its period that this state leaves to states told before it; null: none.';
comment on column pgmem.node_version.yields is
  'The parts of its period that this state leaves to states told before it; null: none.';
comment on column pgmem.node_version.replaced_at is
  'When another state took its place on record; infinity: it is on record, for another period than the present.';
alter table pgmem.field drop constraint field_kept_known, add constraint field_kept_known
  check (kept in ('property', 'title', 'key', 'valid_from', 'valid_to', 'confidence', 'nothing', 'view'));
comment on column pgmem.field.kept is
  'Where it is kept: property, title, key, valid_from, valid_to, confidence, nothing; view: computed.';
create index node_turns on pgmem.node (turns_at) where turns_at is not null;
drop index pgmem.node_states;
create index node_states on pgmem.node (tenant, seq) include (label, project_seq, version, status, begins_at, valid_from,
  valid_to, created_at, recorded_at, told, yields);
"""
