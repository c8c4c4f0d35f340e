"""Names are found by their parts and as wholes, and a title is a field of its own."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261127_words", "20261127_near_decisions"


def upgrade() -> None:
    run(op.get_bind(), COLUMN + SETTING + RENEWAL)


COLUMN = """
alter table pgmem.node add column titled boolean not null default false;
comment on column pgmem.node.titled is 'Whether its text begins with a title that says more than that beginning; follows from the text.';
alter type pgmem.search_words add attribute titles tsquery[], add attribute pairs tsquery[], add attribute pair_weights float8[];
"""

SETTING = """
alter table pgmem.setting drop constraint weights_in_range;
insert into pgmem.setting (name, value, description) values
  ('hybrid_titled_alpha', '0.2', 'Weight of the vector arm in the score of a memory that has a title of its own.');
alter table pgmem.setting add constraint weights_in_range check (
  case when name = 'hybrid_fusion' then value in ('linear', 'rrf')
       when name = 'hybrid_arm_limit' then value::integer between 1 and 1000
       when name in ('hybrid_alpha', 'hybrid_titled_alpha', 'bm25_b', 'relevance_middle', 'answered_yes', 'answered_no')
         then value::float8 between 0 and 1
       when name like 'hybrid%' or name in ('rrf_k', 'bm25_k1', 'relevance_slope') then value::float8 between 0 and 1000000
       when name = 'agent_token_limit' then value::integer between 100 and 1000000
       else true end);
"""

# The words of what was saved before are made anew, and its vectors where it has a title.
RENEWAL = """
insert into pgmem.renewal (step) select 'memories' where exists (select from pgmem.node n where n.seq > 1)
on conflict (step) do update set last_seq = 0, up_to = null, changed = 0, done_at = null;
"""
