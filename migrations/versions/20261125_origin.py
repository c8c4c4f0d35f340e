"""Where a change came from, so that the store that sent it need not read it again."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261125_origin", "20261125_recall"


def upgrade() -> None:
    run(op.get_bind(), ORIGIN)


ORIGIN = """
alter table pgmem.change add column origin text;
comment on column pgmem.change.origin is
  'What the cursors of the store begin with that it came from, where it is as there; null: none.';
"""
