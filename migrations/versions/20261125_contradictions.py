"""A plain statement is compared with those of the same beginning: its form, and the relation to what it outdates."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261125_contradictions", "20261125_file_terms"


def upgrade() -> None:
    run(op.get_bind(), STATEMENTS + RENEWAL)


STATEMENTS = """
alter table pgmem.node add column statement text;
comment on column pgmem.node.statement is
  'The form of a plain statement, with a tab behind its verb: what contradictions are found by; null: it is none.';
create index node_statement on pgmem.node (place, tenant, statement text_pattern_ops) where statement is not null;

alter type pgmem.save_result add attribute conflicts jsonb;

insert into pgmem.relation (name, from_labels, to_labels, by_verb, is_column, undirected, vocabulary)
values ('OUTDATES', '{Context,EntityFact}', '{Context,EntityFact}', true, false, false, 'graphbase')
on conflict (name) do nothing;
"""

# What was saved before has no statement yet.
RENEWAL = """
insert into pgmem.renewal (step) select 'memories' where exists (select from pgmem.node n where n.seq > 1)
on conflict (step) do update set last_seq = 0, up_to = null, changed = 0, done_at = null;
"""
