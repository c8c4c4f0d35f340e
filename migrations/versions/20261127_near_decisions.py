"""A decision that was replaced by the likeness of titles alone is found by its own words; titles get the form of orders."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261127_near_decisions", "20261127_steps"


def upgrade() -> None:
    run(op.get_bind(), INDEXES + RENEWAL)


INDEXES = """
create index edge_likened on pgmem.edge (src, dst) where rel = 'SUPERSEDES' and props ? 'likeness';
create index edge_replaced_words on pgmem.edge using gin ((props -> 'words')) with (fastupdate = off)
  where rel = 'SUPERSEDES' and props ? 'likeness';
"""

# The titles that are stored have no form of an order yet.
RENEWAL = """
insert into pgmem.renewal (step) select 'memories' where exists (select from pgmem.node n where n.seq > 1)
on conflict (step) do update set last_seq = 0, up_to = null, changed = 0, done_at = null;
"""
