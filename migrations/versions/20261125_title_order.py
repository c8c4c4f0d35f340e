"""The order of title words of each scope, in place of one of the whole store."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261125_title_order", "20261125_origin"


def upgrade() -> None:
    run(op.get_bind(), ORDER + ENTRIES)


ORDER = """
truncate pgmem.token_frequency;
alter table pgmem.token_frequency
  drop constraint token_frequency_pkey,
  add column scope_key bigint not null,
  add column tenant text not null,
  add primary key (scope_key, token);
comment on table pgmem.token_frequency is
  'The frozen order of the title words of a scope, rarest first; changed by refresh_dedup only.';
comment on column pgmem.token_frequency.frequency is 'In how many live titles of the scope the word was.';
comment on column pgmem.token_frequency.tenant is 'As in node; an erasure removes the order by it.';

create table pgmem.title_order (
  scope_key       bigint primary key,
  tenant          text not null,
  counted         bigint not null default 0,
  added           bigint not null default 0,
  last_seq        bigint not null default 0
);
comment on table pgmem.title_order is 'The scopes whose titles were counted, and what their order of words covers.';
comment on column pgmem.title_order.counted is 'The live titles when the order was made; 0: there is none yet.';
comment on column pgmem.title_order.added is 'The titles since, up to the node that the row refresh_dedup of upkeep names.';
comment on column pgmem.title_order.last_seq is 'The newest node when the order was made.';
revoke all on pgmem.title_order from public;
alter table pgmem.title_order enable row level security;
"""

# The entries of the old order are no candidates in the new one. They are made again after the upgrade, a batch at a
# time, and counted, so that the worker makes the order of each large scope.
ENTRIES = """
update pgmem.setting set description = 'Titles of a scope up to which the worker renews the order of their words by itself; saves of the scope wait for it.'
where name = 'dedup_refresh_limit';
alter table pgmem.upkeep drop column counted;
update pgmem.upkeep set last_seq = (select coalesce(max(seq), 0) from pgmem.node) where task = 'refresh_dedup';
comment on column pgmem.upkeep.last_seq is 'refresh_dedup: the newest node whose title was counted.';
insert into pgmem.renewal (step) select 'titles' where exists (select from pgmem.dedup_token)
on conflict (step) do update set last_seq = 0, up_to = null, changed = 0, begun_at = now(), done_at = null;
truncate pgmem.dedup_token;
"""
