"""Memories that say how to answer are marked: a search finds them sooner, and a context always offers them."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0025", "0024"


def upgrade() -> None:
    run(op.get_bind(), MARK)


MARK = """
alter table pgmem.node add column instructs boolean not null default false;
comment on column pgmem.node.instructs is
  'The text says how to go on from now on (always, never, when I ask): a standing instruction.';
create index node_instructs on pgmem.node (place, tenant, created_at desc) where instructs;
insert into pgmem.setting (name, value, description) values
  ('hybrid_instruction_weight', '0.25', 'Weight of a memory that is a standing instruction.'),
  ('instruction_limit', '10', 'Most standing instructions at the beginning of a context; 0: none.');
select set_config('pgmem.mark_instructions', 'on', true);
"""
