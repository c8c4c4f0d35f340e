"""Insights, what reflection counts, and the ages that hygiene goes by."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0005", "0004"


def upgrade() -> None:
    run(op.get_bind(), TABLES + VOCABULARY + SETTINGS)


TABLES = """
create table pgmem.reflection (
  tenant          text primary key,
  org_id          text not null,
  user_id         text not null,
  node_seq        bigint not null,
  insights        integer not null,
  reflected_at    timestamptz not null
);
comment on table pgmem.reflection is 'When each tenant''s memories were last reflected on, and how far they went then.';
comment on column pgmem.reflection.node_seq is 'The last node there was; what has a higher seq has come since.';
-- The hint is counted in every answer: a tenant's newest nodes without those of the others.
create index node_tenant on pgmem.node (tenant, seq);
"""

VOCABULARY = """
update pgmem.label set live_statuses = '{approved}', text_fields = '{summary}', verb = 'reflect' where name = 'Insight';
"""

SETTINGS = """
insert into pgmem.setting (name, value, description) values
  ('hygiene_decision_days', '180', 'A decision older than this in days, which superseded nothing, is reported as outdated.'),
  ('hygiene_pattern_days', '90', 'A pattern last validated longer ago than this in days is reported as obsolete.'),
  ('reflection_hint_limit', '10', 'Memories since the last reflection from which a hint says so.');
"""
