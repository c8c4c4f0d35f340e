"""The behaviour of labels in searches, counts, vectors and histories, of which the install makes constant functions."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261127_labels", "20261127_ranking"


def upgrade() -> None:
    run(op.get_bind(), COLUMNS)


COLUMNS = """
alter table pgmem.label
  add column derived boolean not null default false,
  add column of_store boolean not null default false,
  add column embedded boolean not null default true,
  add column titled boolean not null default true,
  add column exact boolean not null default false,
  add column source_text boolean not null default false,
  add column branched boolean not null default false,
  add column end_moves boolean not null default false,
  add column other_texts text not null default 'all',
  add column counted_apart integer not null default 0,
  add column counted_in text,
  add column removed_by name,
  add column removed_as text,
  add column read_by text,
  add column sources_by name,
  add column reverted_by name,
  add constraint label_other_texts_known check (other_texts in ('all', 'value', 'none')),
  add constraint label_counted_apart_few check (counted_apart between 0 and 9);
comment on column pgmem.label.derived is 'Whether pgmem writes most of its memories: they are counted apart, and neither hygiene nor reflection looks at them.';
comment on column pgmem.label.of_store is 'Whether the store makes its nodes: they are no memories, and neither exported, imported nor named.';
comment on column pgmem.label.embedded is 'Whether its memories have vectors.';
comment on column pgmem.label.titled is 'Whether its title says more than the beginning of its text.';
comment on column pgmem.label.exact is 'Whether its texts are kept byte for byte, and not composed (NFC).';
comment on column pgmem.label.source_text is 'Whether its memories are source texts: of the status captured, known by their names, found where the label is named.';
comment on column pgmem.label.branched is 'Whether its property branch keeps a memory to a branch until it is merged.';
comment on column pgmem.label.end_moves is 'Whether reads postpone its end, so that another end makes no version.';
comment on column pgmem.label.other_texts is 'The texts besides its text fields by which it is found: all, those in its property value, or none.';
comment on column pgmem.label.counted_apart is 'The number of the counts of words that it has for itself; 0: it shares those of all others.';
comment on column pgmem.label.counted_in is 'The part of memory_health that counts its memories by status; null: those of memories.';
comment on column pgmem.label.removed_by is 'The verb that takes the newer of two equal ones away; null: forget, or as the kind says.';
comment on column pgmem.label.removed_as is 'The argument of that verb that takes the id.';
comment on column pgmem.label.read_by is 'The sentence for who asks for it in a context; null: a context may hold it.';
comment on column pgmem.label.sources_by is 'The function that returns the sources of a memory besides those that it cites.';
comment on column pgmem.label.reverted_by is 'The function that gives a memory the properties of an earlier version; null: its title and properties come back.';
"""
