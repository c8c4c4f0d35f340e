"""How many rows a verb may read, whatever the size of the store."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261126_reads", "20261126_reviews"


def upgrade() -> None:
    run(op.get_bind(), READS)


READS = """
alter table pgmem.verb
  add column reads integer constraint reads_are_counted check (reads > 0),
  add column reads_all text,
  -- The rows of the release before go with this upgrade.
  add constraint reads_are_bounded_or_explained check (num_nonnulls(reads, reads_all) < 2);
comment on column pgmem.verb.reads is
  'The most rows of memories and their records that a call reads in a store of 20 000 memories; null: see reads_all.';
comment on column pgmem.verb.reads_all is 'Why it reads more the larger the store or the scope is; null: it does not.';
"""
