"""A word of a query has a weight, the most that it can give a text, in place of its inverse document frequency."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0027", "0026"


def upgrade() -> None:
    run(op.get_bind(), "alter type pgmem.search_words rename attribute idf to weights;")
