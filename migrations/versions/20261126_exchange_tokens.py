"""Tokens by which another store exchanges changes, and nothing else."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261126_exchange_tokens", "20261126_keys"


def upgrade() -> None:
    run(op.get_bind(), KIND)


KIND = """
alter table pgmem.api_token
  add column for_sync boolean not null default false,
  add column vouches boolean not null default false,
  add constraint token_has_one_purpose check (not (for_person and for_sync)),
  add constraint exchange_alone_vouches check (vouches <= for_sync);
comment on column pgmem.api_token.for_sync is
  'True: another store exchanges changes with it (pgmem sync), and neither an agent nor a person is let in.';
comment on column pgmem.api_token.vouches is
  'Whether the other store is believed about who wrote and who approved what it brings.';
"""
