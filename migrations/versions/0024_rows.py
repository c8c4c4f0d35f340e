"""Types for rows that several functions return: a file, an insight, a repair, what a detector or a report found."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0024", "0023"


def upgrade() -> None:
    run(op.get_bind(), ROWS)


ROWS = """
create type pgmem.memory_file as (
  id uuid,
  path text,
  text text,
  bytes integer,
  version integer,
  updated_at timestamptz
);
comment on type pgmem.memory_file is 'A file of a memory directory; its text is null where a directory is listed.';
create type pgmem.detected as (
  title text,
  summary text,
  confidence float8,
  sources bigint[]
);
comment on type pgmem.detected is 'What a detector has seen in the graph: the text of an insight, and the seqs of its sources.';
create type pgmem.insight_answer as (
  id uuid,
  title text,
  summary text,
  detector text,
  confidence float8,
  trust_level float8,
  status text,
  sources uuid[],
  created_at timestamptz
);
comment on type pgmem.insight_answer is 'An insight as the verbs of reflection return it.';
create type pgmem.repair_answer as (
  id uuid,
  title text,
  status text,
  version integer,
  rel_type text,
  into_id uuid,
  into_title text,
  into_version integer
);
comment on type pgmem.repair_answer is 'A memory that a repair replaced, and the one that stays.';
create type pgmem.found_card as (
  rank integer,
  record_type text,
  path text,
  facet text,
  ingest_source text,
  kind text,
  last_commit text,
  statement text,
  subjects jsonb,
  links jsonb,
  details jsonb
);
comment on type pgmem.found_card is 'A card that a report gives, and its rank by value.';
"""
