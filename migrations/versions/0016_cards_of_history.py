"""Cards of history: the state that a report gives a card, the digests of symbols, and a store that follows its files."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0016", "0015"


def upgrade() -> None:
    run(op.get_bind(), CARDS)


CARDS = """
alter type pgmem.report_card add attribute status text;
alter table pgmem.card_file add column symbols jsonb not null default '{}';
comment on column pgmem.card_file.symbols is
  'Digest of the syntax of each function, class and method of the file, by its name within the file.';
create index card_file_digest on pgmem.card_file (tenant, project_seq, digest);

-- A scan reads only what changed, so that every retrieval can follow the files.
update pgmem.setting set value = 'refresh_when_stale'
where name = 'cards_sync_policy' and value = 'bootstrap_if_missing';
"""
