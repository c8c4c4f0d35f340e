"""What an item of a context is measured by, as one type: a look-up for each item costs more than the item."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision = "0022"
down_revision = "0016"


def upgrade() -> None:
    run(op.get_bind(), AGES)


AGES = """
create type pgmem.ages as (
  at timestamptz,
  recent timestamptz,
  stale timestamptz,
  decay_rate float8,
  decay_max_age_days integer
);
comment on type pgmem.ages is
  'The present moment, and by which age and decay a memory is current, recent or stale, and how certain.';
"""
