"""Who asked for a save that is open, so that a retry and a review store it in that name and with that trust."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261123_asked_by", "20261123_kinds"


def upgrade() -> None:
    run(op.get_bind(), COLUMNS)


COLUMNS = """
alter table pgmem.save_attempt
  add column source text,
  add column trust_level float8,
  add column agent_id text,
  add column decides boolean;
comment on column pgmem.save_attempt.source is
  'The way in of the caller who asked first, while the save is open; null: of an earlier release, as of an agent.';
comment on column pgmem.save_attempt.trust_level is 'The least trust with which it was asked for, while it is open.';
comment on column pgmem.save_attempt.agent_id is 'The agent that asked first, while it is open.';
comment on column pgmem.save_attempt.decides is 'Whether who asked first decides as a person does.';
alter type pgmem.caller add attribute on_behalf boolean;
comment on type pgmem.caller is
  'Who calls, by which way in, as the server found it. is_shared: whether the store has tenants; on_behalf: whether it '
  'carries out what a caller asked for who does not decide.';
"""
