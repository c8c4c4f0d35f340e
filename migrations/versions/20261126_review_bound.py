"""The setting for open reviews counts those of all agents of a user: an agent gives itself its name."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261126_review_bound", "20261126_orders_trust"


def upgrade() -> None:
    run(op.get_bind(), SETTING)


SETTING = """
update pgmem.setting set description = 'Saves and changes of the agents of a user that may wait for a person; more are refused, those of persons are not counted.'
where name = 'max_open_reviews';
"""
