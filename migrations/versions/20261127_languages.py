"""Notes in other languages are found by their own stems, and names beside Chinese and Japanese as wholes."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261127_languages", "20261127_labels"


def upgrade() -> None:
    run(op.get_bind(), RENEWAL)


# The words of what was saved before are made anew.
RENEWAL = """
insert into pgmem.renewal (step) select 'memories' where exists (select from pgmem.node n where n.seq > 1)
on conflict (step) do update set last_seq = 0, up_to = null, changed = 0, done_at = null;
"""
