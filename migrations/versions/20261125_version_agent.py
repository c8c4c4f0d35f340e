"""Who made an earlier state of a memory is kept beside it; of states before this, it is not known."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261125_version_agent", "20261125_wording"


def upgrade() -> None:
    run(op.get_bind(), AGENT)


AGENT = """
alter table pgmem.node_version add column agent_id text;
comment on column pgmem.node_version.agent_id is
  'The agent that made the state, as it named itself; null: it named none, or an earlier release kept it.';
"""
