"""A token without a tenant: for the one user of a store over HTTP."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0015", "0014"


def upgrade() -> None:
    run(op.get_bind(), TOKENS)


TOKENS = """
alter table pgmem.api_token drop constraint token_has_tenant;
comment on table pgmem.api_token is
  'Bearer tokens of the HTTP transport (hashed), each bound to a tenant; to none in a store with one user.';
"""
