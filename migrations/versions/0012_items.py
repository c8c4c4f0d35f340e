"""What programs keep by names of their own: the labels Item, File and Message, and the vectors of items."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0012", "0011"


def upgrade() -> None:
    run(op.get_bind(), ITEMS)


# The names that programs give are longer than those that people give: a namespace of three UUIDs and a key. An entry of
# the index node_key_unique holds a key twice, within 2700 bytes.
ITEMS = """
alter domain pgmem.node_key drop constraint key_length;
alter domain pgmem.node_key add constraint key_length check (length(value) between 1 and 500 and octet_length(value) <= 1200);
comment on domain pgmem.node_key is 'A name: 1 to 500 characters, at most 1200 bytes.';

insert into pgmem.label (name, key_field, title_field, text_fields, dedup, verb, vocabulary) values
  ('Item',    'path', 'title', '{}',     'key', 'put_items',    'programs'),
  ('File',    'path', 'path',  '{text}', 'key', 'create_file',  'programs'),
  ('Message', 'path', 'title', '{}',     'key', 'add_messages', 'programs');

create index node_expiry on pgmem.node (valid_to) where label = 'Item' and valid_to is not null;

create table pgmem.item_vector (
  node_seq bigint not null references pgmem.node on delete cascade,
  place    integer not null,
  vector   real[] not null,
  primary key (node_seq, place)
);
comment on table pgmem.item_vector is 'The vectors that a program made of an item, one for each indexed text of it.';

insert into pgmem.setting (name, value, description) values
  ('max_item_chars', '10000000', 'Characters of one item, file or message at most, as JSON.');
"""
