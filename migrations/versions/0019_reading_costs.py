"""What an item of a context is judged by, as one type; and a short list of texts that wait to be indexed.

A look-up of settings for each item costs more than the item. A search reads all texts that wait in the list of the
full-text index one by one: with the 4 MB of the default, a search among 2 000 new memories takes half as long again.

A session counts for more: its weight falls with its length, and at 0.6 the evidence of long chats is found earlier (R@10
from 52.2 to 53.9) while short ones lose nothing (LoCoMo, even conversations, on which weights are chosen: 82.7 to 83.1).
"""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0019", "0018"


def upgrade() -> None:
    run(op.get_bind(), AGES + PENDING + SESSION)


AGES = """
create type pgmem.ages as (
  at timestamptz,
  recent timestamptz,
  stale timestamptz,
  decay_rate float8,
  decay_max_age_days integer
);
comment on type pgmem.ages is
  'The present moment, and by which age and decay a memory is current, recent or stale, and how certain.';
"""

PENDING = """
alter index pgmem.node_tsv set (gin_pending_list_limit = 256);
alter index pgmem.node_turn_tsv set (gin_pending_list_limit = 256);
"""

SESSION = "update pgmem.setting set value = '0.6' where name = 'hybrid_session_weight' and value = '0.5';"
