"""Scope keys under a secret of the store, and the tenant in what they keep unique."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "20261123_scope_keys", "20261123_renewal"


def upgrade() -> None:
    run(op.get_bind(), SECRET + NODES + TITLES + SUBJECTS + DONE)


# Two random UUIDs have 244 random bits. No role gets a right to the table, and its security has no policy: a login that
# is granted it by mistake still sees no row.
SECRET = """
create table pgmem.store_secret (
  one             boolean primary key default true,
  secret          bytea not null,
  constraint one_secret check (one),
  constraint secret_is_long check (octet_length(secret) = 32)
);
comment on table pgmem.store_secret is
  'One row: the secret of the scope keys. No client reads it and no export holds it; a backup does, as it holds the keys.';
comment on column pgmem.store_secret.secret is '32 random bytes, made at install and never changed.';
revoke all on pgmem.store_secret from public;
alter table pgmem.store_secret enable row level security;
insert into pgmem.store_secret (secret) values (uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

-- For the statement below, which may ask no table, and whose text a server may log.
select set_config('pgmem.migrating', encode(secret, 'hex'), true) from pgmem.store_secret;
create function pgmem.scope_key_of(p_seq bigint) returns bigint
language sql stable as 'select n.scope_key from pgmem.node n where n.seq = p_seq';
"""

# The table is rewritten instead of updated: no trigger fires, and no dead rows are left. The views come back with the
# chapters. A name may fill two thirds of an entry of an index, so that the index of names holds a digest of the tenant;
# nobody finds another tenant with the same one.
NODES = """
do $$
declare
  v_view text;
begin
  for v_view in select viewname from pg_views where schemaname = 'pgmem' loop
    execute format('drop view if exists pgmem.%I cascade', v_view);
  end loop;
end;
$$;
drop index if exists pgmem.node_key_unique, pgmem.node_content_unique, pgmem.node_card, pgmem.node_card_identity,
  pgmem.node_branch;
-- The rule of pgmem.scope_key as it is in this release.
alter table pgmem.node alter column scope_key type bigint using hashtextextended(label, ('x' || encode(substr(sha256(
  decode(current_setting('pgmem.migrating'), 'hex')
  || convert_to(length(tenant) || ' ' || tenant || coalesce(place, ''), 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint);
select set_config('pgmem.migrating', '', true);
create unique index node_key_unique on pgmem.node
  (scope_key, lower(normalize(key, NFKC)) text_pattern_ops, key, (md5(tenant)::uuid)) where key is not null;
create unique index node_content_unique on pgmem.node (scope_key, content_hash, tenant)
  where content_hash is not null
    and status not in ('superseded', 'archived', 'expired', 'merged', 'dismissed', 'historical', 'rejected');
create index node_card on pgmem.node (scope_key, status, updated_at) where label = 'Card';
create index node_card_identity on pgmem.node (scope_key, content_hash) where label = 'Card';
create index node_branch on pgmem.node (scope_key) where label = 'Card' and props ? 'branch';
-- A store of 0.1.0 has none of these: 0027 drops its indexes before it rewrites the table for the first time.
create index if not exists node_label on pgmem.node (label, tenant, project_seq);
create index if not exists node_recent on pgmem.node (place, tenant, created_at desc, seq desc)
  where scope is not null and status in ('active', 'approved') and label <> 'Card';
create index if not exists node_writer on pgmem.node (project_seq, agent_id) where agent_id is not null;
create index if not exists node_name on pgmem.node
  (hashtextextended(lower(normalize(translate(coalesce(key, title), '-_', '  '), NFKC)), 0));
create index if not exists node_session on pgmem.node (session_id, session_place, seq)
  include (text_length, asks) where session_place is not null;
create index if not exists node_tsv on pgmem.node using gin (tsv)
  with (gin_pending_list_limit = 256) where status <> 'captured';
create index if not exists node_turn_tsv on pgmem.node using gin (tsv)
  with (gin_pending_list_limit = 256) where status = 'captured';
create index if not exists node_captured on pgmem.node (created_at) where status = 'captured';
create index if not exists node_turn_session on pgmem.node (session_id, seq) where status = 'captured';
create index if not exists node_expiry on pgmem.node (valid_to) where label = 'Item' and valid_to is not null;
create index if not exists node_states on pgmem.node (tenant, seq)
  include (label, project_seq, version, status, begins_at, valid_from, valid_to, created_at, recorded_at);
create index if not exists node_replaced on pgmem.node (tenant, seq) where status = 'superseded';
create index if not exists node_instructs on pgmem.node (place, tenant, created_at desc) where instructs;
comment on column pgmem.node.scope_key is
  'Hash of (tenant, place, label) under the secret of the store, by which rows are found and locks are kept. Whose a row is, the tenant says.';
comment on column pgmem.held_lock.key is 'The scope_key, or the key of tenant and save_id while that save is made.';
"""

TITLES = """
drop index pgmem.dedup_token_probe;
alter table pgmem.dedup_token alter column scope_key type bigint using pgmem.scope_key_of(node_seq);
create index dedup_token_probe on pgmem.dedup_token (scope_key, token, size) include (weight, signature, node_seq);
"""

SUBJECTS = """
alter table pgmem.card_subject add column tenant text;
drop index pgmem.card_subject_match;
update pgmem.card_subject s set scope_key = n.scope_key, tenant = n.tenant from pgmem.node n where n.seq = s.node_seq;
alter table pgmem.card_subject alter column tenant set not null;
create index card_subject_match on pgmem.card_subject (scope_key, match) include (node_seq, status, weight);
comment on column pgmem.card_subject.scope_key is 'As in node: the key of (tenant, project, Card).';
comment on column pgmem.card_subject.tenant is 'As in node; kept by trigger.';
"""

DONE = "drop function pgmem.scope_key_of;"
