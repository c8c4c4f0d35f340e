"""What was named as noise: true, and brought where it did not help."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261127_noise", "20261127_words"


def upgrade() -> None:
    run(op.get_bind(), TABLES)


TABLES = """
alter table pgmem.usefulness add column noise integer not null default 0;
comment on column pgmem.usefulness.noise is 'How often it was brought where it did not help; searches do not count it.';
alter table pgmem.recall_event drop constraint act_known;
alter table pgmem.recall_event add constraint act_known
  check (act in ('retrieved', 'injected', 'used', 'noise', 'wrong', 'outdated'));
drop index pgmem.recall_event_named;
create index recall_event_named on pgmem.recall_event ((memory_ids[1]), tenant)
  where act in ('used', 'noise', 'wrong', 'outdated');
"""
