"""The steps that features add to calls of the core, and the behaviour of labels when they leave and arrive."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261127_steps", "20261126_feed_mark"


def upgrade() -> None:
    run(op.get_bind(), TABLES)


TABLES = """
create table pgmem.step (
  place    integer primary key,
  point    text not null,
  function name not null,
  chapter  text not null,
  constraint step_once unique (point, function)
);
comment on table pgmem.step is 'The functions that features add to a call of the core, by the point at which it runs them (declare_step).';
comment on column pgmem.step.place is 'The order of the declarations, in which the steps of a point run.';
comment on column pgmem.step.point is 'The place in a call of the core: the head of the chapter 07-steps lists them.';
comment on column pgmem.step.chapter is 'The file in sql/, without its number, that declares the step.';
revoke all on pgmem.step from public;
alter table pgmem.label
  add column statuses text[] not null default '{active,superseded,archived,expired,merged,stub}',
  add column kept_as_sent boolean not null default false,
  add column arrives_by name,
  add column exported_by name,
  add column imported_by name,
  add column vouched_parts text[] not null default '{}',
  add column decided_by text;
comment on column pgmem.label.statuses is 'The statuses that a memory of the label can have.';
comment on column pgmem.label.kept_as_sent is 'Whether programs keep its texts: nothing cleans them, and they steer nobody.';
comment on column pgmem.label.arrives_by is 'The function that checks and cleans a state that another store brings; null: as the kind says.';
comment on column pgmem.label.exported_by is 'The function that adds parts to its record in an export.';
comment on column pgmem.label.imported_by is 'The function that stores the parts of its record.';
comment on column pgmem.label.vouched_parts is 'The parts of its record that are taken from a caller who vouches for it alone.';
comment on column pgmem.label.decided_by is 'The sentence for who would forget or revert one; null: who may save one may do that.';
"""
