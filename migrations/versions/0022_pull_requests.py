"""Commits of one pull request as one piece of work, and what a commit takes back."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0022", "0021"


def upgrade() -> None:
    run(op.get_bind(), PULL_REQUESTS)


PULL_REQUESTS = """
alter table pgmem.card_commit
  add column commits text[] not null default '{}',
  add column reverts text[] not null default '{}';
comment on column pgmem.card_commit.commits is
  'Of the merge of a pull request the commits that it brought in; empty for a commit alone.';
comment on column pgmem.card_commit.reverts is 'The commits that it takes back, as its message says.';
"""
