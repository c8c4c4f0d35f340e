"""Keys by which a publication knows the rows of every table, so that a store under one deletes and updates them."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261126_keys", "20261125_source_checks"


def upgrade() -> None:
    run(op.get_bind(), KEY + IDENTITIES)


# The key takes the place of the index, so that a save pays for one. Two rows of one title and word say the same twice.
KEY = """
delete from pgmem.dedup_token d using pgmem.dedup_token other
where (other.scope_key, other.token, other.size, other.node_seq) = (d.scope_key, d.token, d.size, d.node_seq)
  and other.ctid < d.ctid;
drop index pgmem.dedup_token_probe;
alter table pgmem.dedup_token add constraint dedup_token_probe
  primary key (scope_key, token, size, node_seq) include (weight, signature);
"""

# A publication leaves generated columns out, and from PostgreSQL 18 on refuses a key that has one.
IDENTITIES = """
create unique index card_state_identity on pgmem.card_state (org_id, user_id, project_seq);
alter table pgmem.card_state replica identity using index card_state_identity;
create unique index card_file_identity on pgmem.card_file (org_id, user_id, project_seq, path);
alter table pgmem.card_file replica identity using index card_file_identity;
create unique index card_commit_identity on pgmem.card_commit (org_id, user_id, project_seq, id);
alter table pgmem.card_commit replica identity using index card_commit_identity;
create unique index extraction_day_identity on pgmem.extraction_day (org_id, user_id, day);
alter table pgmem.extraction_day replica identity using index extraction_day_identity;
create unique index tombstone_identity on pgmem.tombstone (id, org_id, user_id);
alter table pgmem.tombstone replica identity using index tombstone_identity;
"""
