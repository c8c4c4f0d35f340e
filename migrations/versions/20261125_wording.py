"""What four settings mean, in plainer words."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261125_wording", "20261125_tombstones"


def upgrade() -> None:
    run(op.get_bind(), MEANINGS)


MEANINGS = """
update pgmem.setting set description = replace(description, 'the store cannot tell whether it did', 'the store cannot check it')
where name = 'approval';
update pgmem.setting set description = 'Days a card of a deleted file is kept; -1: always.' where name = 'card_days_historical';
update pgmem.setting set description = 'Weight of a memory whose date is the date asked for.' where name = 'hybrid_date_weight';
update pgmem.setting set description = 'Memories since the last reflection from which search suggests another.'
where name = 'reflection_hint_limit';
"""
