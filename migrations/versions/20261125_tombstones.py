"""Tombstones by tenant, since the id of a turn can be computed and one of another tenant must not take its place."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261125_tombstones", "20261125_title_order"


def upgrade() -> None:
    run(op.get_bind(), KEY)


KEY = "alter table pgmem.tombstone drop constraint tombstone_pkey, add primary key (id, tenant);"
