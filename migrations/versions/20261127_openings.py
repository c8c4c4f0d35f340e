"""A person's word on the place of a decision in the opening of a session."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261127_openings", "20261127_acts"


def upgrade() -> None:
    run(op.get_bind(), COLUMN)


COLUMN = """
alter table pgmem.usefulness add column opening text constraint opening_known check (opening in ('first', 'never'));
comment on column pgmem.usefulness.opening is
  'A person''s word on its place in the opening of a session: first, or never; null: as its age and use say.';
create index usefulness_opening on pgmem.usefulness (tenant) where opening is not null;
"""
