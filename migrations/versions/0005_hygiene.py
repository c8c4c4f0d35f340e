"""Insights and what reflection counts."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    run(op.get_bind(), TABLES)


TABLES = """
select 1;
"""
