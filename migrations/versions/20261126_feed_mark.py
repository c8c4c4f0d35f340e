"""No mark of a data folder: nothing wrote it, and a cursor names the past of its store by itself."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261126_feed_mark", "20261126_tables"


def upgrade() -> None:
    run(op.get_bind(), "alter table pgmem.feed drop column mark;")
