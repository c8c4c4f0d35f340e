"""Names as they are compared, what a refused save keeps, and the properties that are searched."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0010", "0009"


def upgrade() -> None:
    run(op.get_bind(), SAVES + NAMES)


SAVES = """
alter type pgmem.save_result add attribute near_names jsonb;

alter table pgmem.save_attempt
  add column next_step text,
  add column readable boolean not null default true;
comment on column pgmem.save_attempt.next_step is 'The next step that was given with a refusal; null: the one of the status.';
comment on column pgmem.save_attempt.readable is 'False: its arguments cannot be read, so that no retry makes it.';
drop index pgmem.save_attempt_done;
create index save_attempt_done on pgmem.save_attempt (updated_at) where status in ('saved', 'dropped', 'partial');
"""

# Names are compared after NFKC and case folding; the exact name stays unique. The chapters of this upgrade write the
# rows again that they would have stored otherwise (87-renewal).
NAMES = """
drop index pgmem.node_key_unique;
create unique index node_key_unique on pgmem.node (scope_key, lower(normalize(key, NFKC)) text_pattern_ops, key)
  where key is not null;
drop index pgmem.node_name;
create index node_name on pgmem.node
  (hashtextextended(lower(normalize(translate(coalesce(key, title), '-_', '  '), NFKC)), 0));
insert into pgmem.setting (name, value, description) values
  ('near_name', '0.6', 'Similarity of two names, 0 to 1, from which the answer of a save says that they are near.');
alter table pgmem.setting add constraint near_name_in_range check (name <> 'near_name' or value::float8 between 0 and 1);
-- A refused value is answered by the description, which gives the range.
update pgmem.setting set description = 'Weight of the vector arm in the score, 0 to 1; the rest is the full text''s.'
where name = 'hybrid_alpha';
update pgmem.setting set description = 'How much a long text counts for less in BM25, 0 to 1.' where name = 'bm25_b';
select set_config('pgmem.renew', 'texts', true);
"""
