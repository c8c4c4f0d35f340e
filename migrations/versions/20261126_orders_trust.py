"""More weight of trust in a search, so that about equal memories come in the order of trust."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261126_orders_trust", "20261126_outstanding"


def upgrade() -> None:
    run(op.get_bind(), WEIGHT)


WEIGHT = """
update pgmem.setting set value = '0.3' where name = 'hybrid_trust_gamma' and value = '0.1';
"""
