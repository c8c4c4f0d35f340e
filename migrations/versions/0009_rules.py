"""What keeps callers from each other: locks that clients cannot take, tombstones, limits, approval by a person."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0009", "0008"


def upgrade() -> None:
    run(op.get_bind(), LOCKS + LIMITS + TRUST)


# Unlogged: a lock does not outlive the server, so its row need not.
LOCKS = """
create unlogged table pgmem.held_lock (
  key             bigint primary key
);
comment on table pgmem.held_lock is
  'A row a scope: who locks the row holds the scope. Clients have no right to it, so that none can hold what is not its own.';
comment on column pgmem.held_lock.key is 'The scope_key, or a hash of tenant and save_id while that save is made.';
revoke all on pgmem.held_lock from public;

alter table pgmem.upkeep drop constraint upkeep_task_known;
alter table pgmem.upkeep add constraint upkeep_task_known check (task in ('refresh_dedup', 'refresh_statistics', 'sweep'));
insert into pgmem.upkeep (task) values ('refresh_statistics') on conflict do nothing;
"""

LIMITS = """
insert into pgmem.setting (name, value, description) values
  ('neighbours_row_limit', '20000', 'How many relations a call of neighbours reads at most.'),
  ('max_list_limit', '2000', 'How many items a list in the arguments of a verb holds at most, such as steps or related entities.'),
  ('max_relations_limit', '1000', 'How many relations a call of remember names at most.'),
  ('max_arguments_limit', '4000000', 'How many characters the arguments of a save have at most, together.'),
  ('max_lease_s', '3600', 'How many seconds a worker may claim a text that it embeds, at most.'),
  ('role_statement_timeout_s', '60', 'statement_timeout of a login that bind_role binds; 0: none.'),
  ('role_idle_in_transaction_s', '60', 'idle_in_transaction_session_timeout of a login that bind_role binds; 0: none.'),
  ('role_connection_limit', '20', 'How many connections a login that bind_role binds may have; 0: any number.'),
  ('role_temp_file_limit', '1024', 'temp_file_limit, in MB, of a login that bind_role binds, where the installer may set it; 0: none.')
on conflict (name) do nothing;
"""

TRUST = """
create table pgmem.tombstone (
  id              uuid primary key,
  label           text not null,
  org_id          text not null,
  user_id         text not null,
  tenant          text generated always as (org_id || e'\\x1f' || user_id) stored,
  trust_level     float8 not null,
  content_hash    text not null,
  purged_by       name not null,
  agent_id        text,
  source          text not null,
  purged_at       timestamptz not null
);
comment on table pgmem.tombstone is 'Memories that were purged: which, when and by whom, without their content.';
comment on column pgmem.tombstone.id is 'The id that the memory had.';
comment on column pgmem.tombstone.tenant is 'Generated from org_id and user_id.';
comment on column pgmem.tombstone.trust_level is 'How far the memory was trusted, 0 to 1.';
comment on column pgmem.tombstone.content_hash is 'SHA-256 of its title and properties.';
comment on column pgmem.tombstone.purged_by is 'The login that purged it.';
comment on column pgmem.tombstone.agent_id is 'The agent, as it named itself.';
comment on column pgmem.tombstone.source is 'The way in: mcp, sdk, cli, sync or sql.';
create index tombstone_tenant on pgmem.tombstone (tenant, purged_at desc);
alter table pgmem.tombstone enable row level security;
revoke all on pgmem.tombstone from public;

alter table pgmem.setting add constraint approval_known check (name <> 'approval' or value in ('self', 'person'));
insert into pgmem.setting (name, value, description) values
  ('approval', 'self', 'Who approves a global write and an insight. self: the agent shows its person the text and sends the token at once; the store cannot tell whether it did. person: the write waits for pgmem review.'),
  ('save_arguments_days', '30', 'After how many days the arguments of a save that was not made, and the preview of an approval, are removed.')
on conflict (name) do nothing;
"""
