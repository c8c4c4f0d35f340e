"""The list of what is renewed after an upgrade."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "20261123_renewal", "0027"


def upgrade() -> None:
    run(op.get_bind(), TABLE + NEEDED + LOCKS)


TABLE = """
create table pgmem.renewal (
  step            text primary key constraint step_known check (step in ('graph', 'memories', 'titles')),
  last_seq        bigint not null default 0,
  changed         bigint not null default 0,
  begun_at        timestamptz not null default now(),
  done_at         timestamptz
);
comment on table pgmem.renewal is
  'What is stored by the rules of an earlier release and is written again by those of this one, a step a row.';
comment on column pgmem.renewal.step is
  'graph: the graph is made again from the tables; memories: search text, hashes and marks of each memory; titles: the index of near duplicates.';
comment on column pgmem.renewal.last_seq is 'The node up to which the step is done; an interrupted step goes on after it.';
comment on column pgmem.renewal.changed is 'How many rows the step has written.';
comment on column pgmem.renewal.done_at is 'When the step ended; null: the next pgmem init or worker goes on with it.';
alter table pgmem.renewal enable row level security;
revoke all on pgmem.renewal from public;
"""

# A new store has one node, the global scope, and nothing to renew.
NEEDED = """
insert into pgmem.renewal (step)
select step from unnest(string_to_array(current_setting('pgmem.renew', true), ', ')) as step
where exists (select from pgmem.node n where n.seq > 1);
"""

# In a store of the development state before this one it is unlogged. A server that is killed while a transaction makes
# an unlogged table may not start again: the session that sees it die removes one of its two files, and recovery cannot
# make the other.
LOCKS = "alter table pgmem.held_lock set logged;"
