"""Turns of conversations: source text of low trust, found by search only where its label is named."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0011", "0010"


def upgrade() -> None:
    run(op.get_bind(), STATUS + VOCABULARY)


# A status of its own keeps turns out of every read of live memories: context, search, hygiene, reflection, dedup, counts.
STATUS = """
alter domain pgmem.node_status drop constraint status_known;
alter domain pgmem.node_status add constraint status_known check (value in (
  'active', 'superseded', 'archived', 'expired', 'merged', 'stub', 'pending', 'approved', 'dismissed', 'draft', 'stale',
  'historical', 'rejected', 'captured'));
drop index pgmem.node_tsv;
create index node_tsv on pgmem.node using gin (tsv) where status <> 'captured';
create index node_turn_tsv on pgmem.node using gin (tsv) where status = 'captured';
create index node_captured on pgmem.node (created_at) where status = 'captured';
"""

VOCABULARY = """
insert into pgmem.label (name, key_field, title_field, text_fields, dedup, verb, vocabulary)
values ('Turn', null, 'content', '{content}', 'none', 'capture_turns', 'graphbase') on conflict do nothing;
insert into pgmem.setting (name, value, description) values
  ('turn_days', '90', 'Days until a captured turn of a conversation is deleted; 0: never.'),
  ('trust_turn', '0.3', 'Trust of a captured turn at most: what was said in a conversation is a source, not a memory.')
on conflict (name) do nothing;
"""
