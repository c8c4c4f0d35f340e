"""The last turn of a project is found by an index."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261125_last_conversation", "20261125_cells"


def upgrade() -> None:
    run(op.get_bind(), TURNS)


TURNS = """
create index if not exists node_turn_project on pgmem.node (project_seq, seq) where status = 'captured';
"""
