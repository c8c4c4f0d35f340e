"""The memories that others took the place of, newest first: lines of decisions are drawn at any size of the store."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    run(op.get_bind(), REPLACED)


REPLACED = "create index node_replaced on pgmem.node (tenant, seq) where status = 'superseded';"
