"""States without their texts in one index: a page counts and lists them at any time without a look at the memories."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0021", "0020"


def upgrade() -> None:
    run(op.get_bind(), STATES)


STATES = """
create index node_states on pgmem.node (tenant, seq)
  include (label, project_seq, version, status, begins_at, valid_from, valid_to, created_at, recorded_at);
drop index pgmem.node_tenant;
create index node_replaced on pgmem.node (tenant, seq) where status = 'superseded';
"""
