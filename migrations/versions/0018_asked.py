"""Approvals that a person gave where the client asked for them."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0018", "0017"


def upgrade() -> None:
    run(op.get_bind(), ASKED)


ASKED = """
alter table pgmem.governance_token add column asked boolean not null default false;
comment on column pgmem.governance_token.asked is
  'Whether the client showed the preview to its person, who said yes; the server that asked says so.';
alter table pgmem.setting drop constraint approval_known;
alter table pgmem.setting add constraint approval_known
  check (name <> 'approval' or value in ('self', 'client', 'person'));
update pgmem.setting
set description = 'Who approves a global write and an insight. self: the agent shows its person the text and sends the token at once; the store cannot tell whether it did. client: the MCP client asks its person, and where it cannot, the write waits for pgmem review. person: it waits always.'
where name = 'approval';
"""
