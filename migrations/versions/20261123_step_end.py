"""Where the renewal of the memories ends: what is saved meanwhile needs none."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "20261123_step_end", "20261123_scope_keys"


def upgrade() -> None:
    run(op.get_bind(), COLUMN)


COLUMN = """
alter table pgmem.renewal add column up_to bigint;
comment on column pgmem.renewal.up_to is
  'The last node there was when the step began; what has been saved since is stored by the rules of this release.';
"""
