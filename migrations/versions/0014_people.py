"""A person's way in: its trust, and bearer tokens that are a person's."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0014", "0013"


def upgrade() -> None:
    run(op.get_bind(), PEOPLE)


PEOPLE = """
insert into pgmem.setting (name, value, description) values
  ('trust_ui', '1.0', 'Trust of what a person writes on the page.')
on conflict (name) do nothing;
alter table pgmem.api_token add column for_person boolean not null default false;
comment on column pgmem.api_token.for_person is
  'True: a person signs in to the page with it and decides there, and no agent is let in; false: an agent''s.';
comment on column pgmem.node.source is 'The way in that wrote it (cli, ui, sync, sdk, mcp, sql); stamped, never taken from the caller.';
"""
