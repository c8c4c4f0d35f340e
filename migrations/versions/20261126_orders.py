"""The rules of agents that a person left notes, and the indexes of what persons said."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261126_orders", "20261126_arrival"


def upgrade() -> None:
    run(op.get_bind(), TABLES)


TABLES = """
create table pgmem.declined_rule (
  node_seq        bigint primary key references pgmem.node (seq) on delete cascade,
  text_hash       text not null constraint hash_is_sha256 check (text_hash ~ '^[0-9a-f]{64}$'),
  declined_by     text not null,
  declined_at     timestamptz not null
);
comment on table pgmem.declined_rule is 'Rules and patterns of agents that a person left ordinary notes.';
comment on column pgmem.declined_rule.text_hash is
  'SHA-256 of the text that was declined; with another text the memory is offered again.';
comment on column pgmem.declined_rule.declined_by is 'The person who declined it, as they named themselves.';
comment on column pgmem.declined_rule.declined_at is 'When it was declined.';
alter table pgmem.declined_rule enable row level security;
revoke all on pgmem.declined_rule from public;

drop index pgmem.node_instructs;
create index node_instructs on pgmem.node (tenant, project_seq, seq) where instructs;
create index node_orders on pgmem.node (place, tenant, created_at desc) where instructs and source in ('cli', 'ui');
create index node_said on pgmem.node (place, tenant, created_at desc, seq desc)
  where source in ('cli', 'ui') and scope is not null and status in ('active', 'approved') and label <> 'Card';
"""
