"""A tool may be in several toolsets: in core, and in the one that it was in before."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261124_toolsets", "20261123_asked_by"


def upgrade() -> None:
    run(op.get_bind(), TOOLSETS)


TOOLSETS = """
alter table pgmem.verb drop constraint toolset_has_a_plain_name;
alter table pgmem.verb
  add constraint toolset_has_plain_names check (toolset ~ '^[a-z-]+(,[a-z-]+)*$');
comment on column pgmem.verb.toolset is 'The toolsets of the tool for agents, separated by commas; null: it is no tool.';
"""
