"""A memory that names a time ranks higher where the query asks for one."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0026", "0025"


def upgrade() -> None:
    run(op.get_bind(), WEIGHT)


WEIGHT = """
insert into pgmem.setting (name, value, description) values
  ('hybrid_time_weight', '0.3', 'Weight of a short memory that names a time, where the query asks when.');
"""
