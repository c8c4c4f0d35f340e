"""Trajectories: merged commits and receipts as a rebuild reads them, and the label of what follows from them."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0017", "0016"


def upgrade() -> None:
    run(op.get_bind(), TRAJECTORIES)


TRAJECTORIES = """
alter table pgmem.card_intent add column receipt jsonb;
comment on column pgmem.card_intent.receipt is 'What finish_intent was told of the work: status, verify, tests, commit, claims.';

create table pgmem.card_commit (
  org_id          text not null,
  user_id         text not null,
  tenant          text generated always as (org_id || e'\\x1f' || user_id) stored,
  project_seq     bigint not null references pgmem.node on delete cascade,
  id              text not null,
  at              timestamptz not null,
  subject         text not null,
  paths           text[] not null,
  primary key (tenant, project_seq, id)
);
comment on table pgmem.card_commit is
  'Commits of the default branch, as the last scans told of them: the newest pieces of work, without sweeps.';
comment on column pgmem.card_commit.paths is 'The files that it changed, by their names of today, the first 30.';

insert into pgmem.label (name, key_field, title_field, text_fields, dedup, verb, vocabulary)
values ('Trajectory', 'name', 'line', '{intent,paths,verified}', 'none', 'manage_engineering_memory', 'engineering')
on conflict do nothing;
"""
