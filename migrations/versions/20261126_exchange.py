"""Cursors that say of which past of a store they are, and a feed that is kept longer than a holiday."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261126_exchange", "20261126_times"


def upgrade() -> None:
    run(op.get_bind(), FEED + WEBHOOKS + SETTINGS)


FEED = """
alter table pgmem.feed add column kept_digest text not null default '',
  add column erased_stamp xid8 not null default '0', add column erased_seq bigint not null default 0,
  add column mark text;
comment on column pgmem.feed.kept_digest is 'The digest of the last change that is no longer kept (change_digest).';
comment on column pgmem.feed.erased_stamp is 'The stamp of the last change when a tenant was last erased, with its changes.';
comment on column pgmem.feed.erased_seq is 'The place of that change.';
comment on column pgmem.feed.mark is
  'The same as in the file store-id of the data folder, which is of this folder alone; null: of none yet.';
"""

# A receiver of webhooks goes on where it was. What other stores know by an earlier cursor is compared anew once.
WEBHOOKS = """
update pgmem.peer p set pushed = p.pushed || '.' || left(md5(
  c.stamp::text || '/' || c.seq::text || '/' || c.id::text || '/' || extract(epoch from c.at)::text), 8)
from pgmem.change c
where starts_with(p.name, 'webhook ') and p.pushed ~ '^[0-9a-f]{12}[.][0-9]{1,19}[.][0-9]{1,18}$'
  and c.stamp = split_part(p.pushed, '.', 2)::xid8 and c.seq = split_part(p.pushed, '.', 3)::bigint;
"""

SETTINGS = """
update pgmem.setting set value = '60' where name = 'feed_days' and value = '30';
update pgmem.setting set description =
  'Days that the feed of changes is kept; a reader that comes later starts anew, and pgmem sync compares everything.'
where name = 'feed_days';
insert into pgmem.setting (name, value, description) values
  ('feed_rows', '1000000', 'Changes that the feed keeps at most, about 250 bytes each; the oldest go first.');
"""
