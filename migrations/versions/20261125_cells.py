"""A store may be one of several cells: its number, organisations that live elsewhere, and how a front reaches a verb."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261125_cells", "20261124_toolsets"


def upgrade() -> None:
    run(op.get_bind(), CELLS)


CELLS = """
alter table pgmem.schema_version add column cell smallint check (cell between 0 and 255);
comment on column pgmem.schema_version.cell is
  'The number of this store among the cells behind a front; null: it is the only one.';

create table pgmem.away (
  org_id  text primary key,
  state   text not null check (state in ('leaving', 'gone', 'arriving')),
  version bigint not null
);
alter table pgmem.away enable row level security;
comment on table pgmem.away is
  'Organisations that move between cells. leaving: reads only; gone, arriving: neither reads nor writes.';
comment on column pgmem.away.version is 'The version of its place in the directory of the front, of the move that wrote the row.';

alter table pgmem.verb
  add column reach text not null default 'caller'
    check (reach in ('caller', 'argument', 'token', 'every', 'sum', 'union', 'cell', 'front')),
  add column least text[] not null default '{}';
comment on column pgmem.verb.reach is
  'Which cells a front asks. caller: that of the caller''s organisation; argument: that of the organisation in its arguments; token: that of the token; every: all, the same answer; sum, union: all, answers added up or together; cell: one cell, never all; front: none.';
comment on column pgmem.verb.least is 'Columns of which a front returns the least of all cells, not the sum.';

alter type pgmem.caller add attribute away text;
comment on type pgmem.caller is
  'Who calls, by which way in, as the server found it. is_shared: whether the store has tenants; on_behalf: whether it '
  'carries out what a caller asked for who does not decide; away: leaving, while its organisation moves to another cell.';
"""
