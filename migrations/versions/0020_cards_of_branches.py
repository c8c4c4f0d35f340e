"""The cards that belong to a branch, apart: each retrieval leaves those of other branches out."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0020", "0019"


def upgrade() -> None:
    run(op.get_bind(), BRANCHES)


BRANCHES = "create index node_branch on pgmem.node (scope_key) where label = 'Card' and props ? 'branch';"
