"""The declarations of the tables: whose their rows are, and what follows from that."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261126_tables", "20261126_review_bound"


def upgrade() -> None:
    run(op.get_bind(), TABLE)


TABLE = """
create table pgmem.table_rule (
  place           integer not null,
  name            text primary key,
  chapter         text not null,
  rows_of         text not null,
  nodes           text[] not null,
  shown_to        text not null,
  moves           text not null,
  adopted         text not null,
  counts          boolean not null,
  part            text unique,
  ordered_by      text[] not null,
  exported_by     text,
  imported_by     text,
  fed_by          text[] not null,
  constraint owner_known check (rows_of in ('owner', 'tenant', 'node', 'store')),
  constraint nodes_named check (nodes <> '{}' or 'node' not in (rows_of, shown_to)),
  constraint readers_known check (shown_to in ('tenant', 'node', 'nobody', 'all')),
  constraint all_see_the_store check (shown_to <> 'all' or rows_of = 'store'),
  constraint moves_known check (moves in ('always', 'organisation', 'no')),
  constraint adoption_known check (adopted in ('no', 'all', 'missing'))
);
comment on table pgmem.table_rule is 'Every table of this schema as a chapter declares it (declare_table): all that handles rows of tenants reads this.';
comment on column pgmem.table_rule.place is 'The order of the declarations, in which rows are copied.';
comment on column pgmem.table_rule.chapter is 'The file in sql/, without its number, that declares the table.';
comment on column pgmem.table_rule.rows_of is 'The owner of a row: owner (org_id and user_id), tenant (the column tenant), node (the nodes that it points at) or store.';
comment on column pgmem.table_rule.nodes is 'The columns with the nodes that a row belongs to, where its owner or its readers are those of a node.';
comment on column pgmem.table_rule.shown_to is 'The logins that row security lets read a row, if they are granted the table: of its tenant, of its node, nobody, or all.';
comment on column pgmem.table_rule.moves is 'Whether rows move between cells: always, with an organisation alone and not with the public memories, or no.';
comment on column pgmem.table_rule.adopted is 'The rows that adopt gives to another tenant: no, all, or those whose key is missing there.';
comment on column pgmem.table_rule.counts is 'Whether the rows are counts, which the worker makes again.';
comment on column pgmem.table_rule.part is 'The part of an export that holds the rows, and the type of its records; null: another record holds them, or none.';
comment on column pgmem.table_rule.ordered_by is 'The columns by which an export orders the rows.';
comment on column pgmem.table_rule.exported_by is 'The function that writes the records of the part; null: each row is one.';
comment on column pgmem.table_rule.imported_by is 'The function that stores a record of the part; null: as the row that it is.';
comment on column pgmem.table_rule.fed_by is 'The triggers of the table that enter its changes in the feed.';
revoke all on pgmem.table_rule from public;
"""
