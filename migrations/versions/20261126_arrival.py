"""Indexes for what arrives of other stores: the memories of a content, whatever their status, and the saves of the feed by their memory."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261126_arrival", "20261126_exchange_tokens"


def upgrade() -> None:
    run(op.get_bind(), INDEXES)


INDEXES = """
create index node_content on pgmem.node (scope_key, content_hash) where content_hash is not null;
create index change_saved on pgmem.change (id) where kind = 'saved';
"""
