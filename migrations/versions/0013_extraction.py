"""Extractions: turns shown to a model, the memories it was shown beside them, and what was made of its answer."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0013", "0012"


def upgrade() -> None:
    run(op.get_bind(), TOOLSET + TABLE + SETTINGS)


TOOLSET = """
alter table pgmem.verb drop constraint verb_toolset_check;
alter table pgmem.verb add constraint toolset_has_a_plain_name check (toolset ~ '^[a-z-]+$');
"""

# It holds ids, versions and outcomes; of texts, what the reasons of outcomes name, which a purge removes.
TABLE = """
create table pgmem.extraction (
  id              uuid primary key default gen_random_uuid(),
  org_id          text not null,
  user_id         text not null,
  tenant          text generated always as (org_id || e'\\x1f' || user_id) stored,
  session_id      text not null,
  project_seq     bigint not null references pgmem.node on delete cascade,
  turns           uuid[] not null,
  last_seq        bigint not null,
  candidates      jsonb not null,
  begun_at        timestamptz not null,
  applied_at      timestamptz,
  answer_hash     bytea,
  result          jsonb,
  constraint extraction_shows_turns check (cardinality(turns) > 0),
  constraint applied_extraction_has_its_result check (
    (applied_at is null) = (result is null) and (applied_at is null) = (answer_hash is null))
);
comment on table pgmem.extraction is
  'Turns that were shown to a model, with the candidates beside them, and the outcome of its answer.';
create index extraction_session on pgmem.extraction (tenant, session_id, last_seq) where applied_at is not null;
create index node_turn_session on pgmem.node (session_id, seq) where status = 'captured';
"""

SETTINGS = """
insert into pgmem.setting (name, value, description) values
  ('extraction_chars', '24000', 'Characters of turns that one extraction shows at most.'),
  ('extraction_overlap', '0.5', 'Share of the words of an extracted text that its quote must hold.')
on conflict (name) do nothing;
"""
