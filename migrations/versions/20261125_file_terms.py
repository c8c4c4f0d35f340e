"""The words of a file are kept with it, so that a text finds its files; nothing is called a hot spot any more."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261125_file_terms", "20261125_feed"


def upgrade() -> None:
    run(op.get_bind(), FILES)


FILES = """
alter table pgmem.card_file add column terms text[] not null default '{}';
comment on column pgmem.card_file.terms is
  'The words of the file and the parts of its names, those that it uses most first, at most 120.';
create index card_file_terms on pgmem.card_file using gin (terms);
delete from pgmem.setting where name = 'cards_hotspot_changes';
"""
