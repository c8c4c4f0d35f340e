"""What the sources of a memory were found to be, and the weight of a source that changed."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261125_source_checks", "20261125_version_agent"


def upgrade() -> None:
    run(op.get_bind(), TABLES)


TABLES = """
create table pgmem.source_check (
  node_seq        bigint not null references pgmem.node (seq) on delete cascade,
  target          text not null,
  state           text not null constraint state_known check (state in ('FRESH', 'STALE', 'GONE', 'UNCHECKABLE')),
  checked_at      timestamptz not null,
  primary key (node_seq, target)
);
comment on table pgmem.source_check is 'What the last check of a source of a memory found.';
comment on column pgmem.source_check.target is 'The source as the memory names it.';
comment on column pgmem.source_check.state is
  'FRESH: it says what the memory rests on; STALE: it has changed; GONE: it is no more; UNCHECKABLE: not known.';
comment on column pgmem.source_check.checked_at is 'When it was checked.';
alter table pgmem.source_check enable row level security;
revoke all on pgmem.source_check from public;
create index node_cites on pgmem.node (seq) where props ? 'citation' or props ? 'turn';

insert into pgmem.setting (name, value, description) values
  ('hybrid_citation_weight', '0.1', 'What a search takes from a memory whose source no longer exists, half of it where it has changed; 0 turns it off.');
"""
