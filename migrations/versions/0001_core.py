"""The tables of the core: registry, nodes, edges, versions, saves, tokens, tenants, settings."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0001", None


def upgrade() -> None:
    run(op.get_bind(), DOMAINS + TABLES + TYPES + VOCABULARY + SETTINGS)


# Rules about one value are domains: a session parses them once, where a check of a table is parsed again by every insert.
DOMAINS = """
create domain pgmem.node_status as text constraint status_known check (value in (
  'active', 'superseded', 'archived', 'expired', 'merged', 'stub', 'pending', 'approved', 'dismissed', 'draft', 'stale',
  'historical', 'rejected'));
comment on domain pgmem.node_status is 'What has become of a memory; active and approved are live.';
create domain pgmem.node_scope as text constraint scope_known check (value in ('global', 'project', 'focus'));
comment on domain pgmem.node_scope is 'How widely a memory holds.';
create domain pgmem.node_title as text constraint title_length check (length(value) between 1 and 500);
comment on domain pgmem.node_title is 'A title: 1 to 500 characters.';
create domain pgmem.node_key as text constraint key_length check (length(value) between 1 and 200);
comment on domain pgmem.node_key is 'A name: 1 to 200 characters.';
create domain pgmem.proportion as float8 constraint proportion_in_range check (value between 0 and 1);
comment on domain pgmem.proportion is 'A share of one: confidence, trust.';
create domain pgmem.sha256 as text constraint hash_is_sha256 check (length(value) = 64 and ltrim(value, '0123456789abcdef') = '');
comment on domain pgmem.sha256 is 'SHA-256 in 64 lower-case hexadecimal digits.';
create domain pgmem.save_status as text constraint save_status_known check (value in (
  'saved', 'partial', 'pending_retry', 'failed', 'blocked_scope', 'dropped'));
comment on domain pgmem.save_status is 'What became of a save.';
create domain pgmem.dedup_outcome as text constraint dedup_outcome_known check (value in (
  'new', 'duplicate_skip', 'supersede', 'manual_review'));
comment on domain pgmem.dedup_outcome is 'What a save was to what was there before.';
"""

TABLES = """
create table pgmem.schema_version (
  one             boolean primary key default true check (one),
  release         text not null,
  digest          text not null,
  upgraded_at     timestamptz not null default now()
);
create table pgmem.schema_file (
  path            text primary key,
  digest          text not null
);
comment on table pgmem.schema_file is 'The files of sql/ as installed: views, policies and triggers are replaced only where their text changed.';
comment on table pgmem.schema_version is 'The release whose sql/ is installed and the digest of its text; one row.';

create table pgmem.setting (
  name            text primary key,
  value           text not null,
  description     text not null,
  constraint dedup_thresholds_in_range check (
    name not in ('dedup_supersede', 'dedup_manual_review') or value::float8 between 0.5 and 1),
  constraint limits_leave_room check (name not like 'max\\_%\\_chars' or value::integer >= 100),
  constraint counts_are_whole_numbers check (name !~ '(_limit|_days|_s)$' or value ~ '^[0-9]{1,9}$'),
  constraint shares_are_numbers check (name not like 'trust\\_%' or value::float8 between 0 and 1),
  constraint decay_rate_is_a_number check (name <> 'decay_rate' or value::float8 between 0 and 100),
  constraint confidence_is_a_share check (name <> 'decay_archive_below' or value::float8 between 0 and 1),
  constraint text_config_exists check (name <> 'text_config' or value::regconfig is not null),
  constraint flags_are_boolean check (
    name not in ('require_identity', 'test_clock') or value in ('true', 'false'))
);
comment on table pgmem.setting is 'Thresholds, limits and lifetimes that hold for every caller; written by the owner only.';
comment on constraint dedup_thresholds_in_range on pgmem.setting is
  'The token prefixes kept for near-duplicate search are exact for Jaccard 0.5 and above.';

create table pgmem.label (
  name            text primary key,
  key_field       text,
  title_field     text not null,
  text_fields     text[] not null default '{}',
  dedup           text not null default 'none',
  live_statuses   text[] not null default '{active}',
  kind            text not null default 'memory',
  verb            text,
  vocabulary      text not null,
  constraint label_is_identifier check (name ~ '^[A-Z][A-Za-z0-9_]{0,62}$'),
  constraint label_dedup_known check (dedup in ('none', 'key', 'hash', 'hash_jaccard')),
  constraint label_kind_known check (kind in ('memory', 'infrastructure')),
  constraint label_keyed_when_key_dedup check ((dedup = 'key') <= (key_field is not null)),
  constraint label_live_statuses_known check (live_statuses <@ '{active,approved}')
);
comment on table pgmem.label is 'The registry of labels: what names a node, which of its properties are searched, how repeats are met.';
comment on column pgmem.label.key_field is 'The property that names a node of this label; null: named by its id.';
comment on column pgmem.label.text_fields is 'Properties that are full-text searched and embedded, in this order.';
comment on column pgmem.label.verb is 'The verb that alone writes this label; null: remember does.';

create table pgmem.relation (
  name            text primary key,
  from_labels     text[],
  to_labels       text[],
  by_verb         boolean not null default false,
  is_column       boolean not null default false,
  undirected      boolean not null default false,
  vocabulary      text not null,
  constraint relation_is_identifier check (name ~ '^[A-Z][A-Z0-9_]{0,62}$'),
  constraint column_relations_are_made_by_verbs check (is_column <= by_verb)
);
comment on table pgmem.relation is 'The registry of relations: which labels they join and who may make them.';
comment on column pgmem.relation.by_verb is 'Made by a save verb only; relate refuses it.';
comment on column pgmem.relation.is_column is 'Held in a column of node, not in edge; an edge in the graph and in the views.';
comment on column pgmem.relation.undirected is 'Stored once, whichever way it was asked for.';

create table pgmem.node (
  -- 48 bits: what an id of the graph has left beside the label.
  seq                bigint generated always as identity (maxvalue 281474976710655) primary key,
  id                 uuid not null default gen_random_uuid(),
  label              text not null,
  key                pgmem.node_key,
  title              pgmem.node_title not null,
  props              jsonb not null default '{}',
  status             pgmem.node_status not null default 'active',
  scope              pgmem.node_scope,
  project            text,
  project_seq        bigint,
  focus              text,
  focus_seq          bigint,
  place              text generated always as (
                       case scope when 'global' then 'global'
                                  when 'focus' then project_seq::text || '/' || focus
                                  else project_seq::text end) stored,
  org_id             text not null default '',
  user_id            text not null default '',
  tenant             text generated always as (org_id || e'\\x1f' || user_id) stored,
  agent_id           text,
  session_id         text,
  source             text not null,
  trust_level        pgmem.proportion not null,
  initial_confidence pgmem.proportion not null default 1.0,
  valid_from         timestamptz,
  valid_to           timestamptz,
  content_hash       pgmem.sha256,
  scope_key          bigint not null,
  title_tokens       text[],
  text_config        text not null default 'english',
  tsv                tsvector not null default '',
  text_length        integer not null default 0,
  version            integer not null default 1,
  created_at         timestamptz not null,
  updated_at         timestamptz not null,
  recorded_at        timestamptz not null,
  constraint node_id_unique unique (id),
  -- place is null where the project or focus that the scope needs is missing.
  constraint scope_has_its_place check (scope is null or place is not null and (scope = 'global') = (project_seq is null)),
  constraint project_named_and_numbered check ((project is null) = (project_seq is null)),
  constraint focus_named_and_numbered check ((focus is null) = (focus_seq is null)),
  constraint validity_in_order check (valid_to >= valid_from)
);
comment on table pgmem.node is 'Every memory and every infrastructure node. Written by the verbs only.';
comment on column pgmem.node.seq is 'Place in the order of writing; the low 48 bits of the vertex id in the graph.';
comment on column pgmem.node.key is 'The name within (tenant, place, label); null where the label is named by id.';
comment on column pgmem.node.props is 'The label''s own properties.';
comment on column pgmem.node.scope is 'How widely the memory holds; null: an infrastructure node or one without project.';
comment on column pgmem.node.place is 'Where the memory lives: global, a project''s seq, or seq/focus.';
comment on column pgmem.node.tenant is 'org_id and user_id in one; both empty: public.';
comment on column pgmem.node.source is 'The way in that wrote it (cli, sync, sdk, mcp, sql); stamped, never taken from the caller.';
comment on column pgmem.node.initial_confidence is 'Confidence when last written; the current one decays from it and is computed when read.';
comment on column pgmem.node.scope_key is 'Hash of (tenant, place, label): what uniqueness, locks and duplicate search are kept by.';
comment on column pgmem.node.text_length is 'Lexemes in the text, with repeats; scope lexemes not counted.';
comment on column pgmem.node.recorded_at is 'When this state was recorded (real time, under the row''s lock).';

create unique index node_key_unique on pgmem.node (scope_key, key) where key is not null;
create unique index node_content_unique on pgmem.node (scope_key, content_hash)
  where content_hash is not null
    and status not in ('superseded', 'archived', 'expired', 'merged', 'dismissed', 'historical', 'rejected');
create index node_recent on pgmem.node (place, tenant, created_at desc, seq desc)
  where scope is not null and status in ('active', 'approved');
create index node_label on pgmem.node (label, tenant, project_seq);
create index node_tsv on pgmem.node using gin (tsv);

create table pgmem.edge (
  seq             bigint generated always as identity (maxvalue 281474976710655) primary key,
  src             bigint not null references pgmem.node on delete cascade,
  rel             text not null,
  dst             bigint not null references pgmem.node on delete cascade,
  props           jsonb not null default '{}',
  created_at      timestamptz not null,
  constraint edge_unique unique (src, rel, dst),
  constraint edge_joins_two_nodes check (src <> dst)
);
comment on table pgmem.edge is 'Relations between nodes, one row each; BELONGS_TO and HAS_FOCUS are columns of node instead.';
create index edge_backward on pgmem.edge (dst, rel, src);
create index edge_conflict on pgmem.edge (src, dst) where rel = 'CONFLICTS_WITH';

create table pgmem.node_version (
  node_seq           bigint not null references pgmem.node on delete cascade,
  version            integer not null,
  label              text not null,
  key                text,
  title              text not null,
  props              jsonb not null,
  status             text not null,
  scope              text,
  project            text,
  project_seq        bigint,
  focus              text,
  place              text,
  org_id             text not null,
  user_id            text not null,
  tenant             text not null,
  source             text not null,
  trust_level        float8 not null,
  initial_confidence float8 not null,
  valid_from         timestamptz,
  valid_to           timestamptz,
  text_config        text not null,
  tsv                tsvector not null,
  created_at         timestamptz not null,
  ingested_at        timestamptz not null,
  replaced_at        timestamptz not null,
  primary key (node_seq, version),
  constraint recorded_in_order check (replaced_at > ingested_at)
);
comment on table pgmem.node_version is 'Every earlier state of a node, known from ingested_at until replaced_at.';
create index node_version_tsv on pgmem.node_version using gin (tsv);
create index node_version_known on pgmem.node_version (tenant, replaced_at);

create table pgmem.dedup_token (
  node_seq        bigint not null,
  scope_key       bigint not null,
  token           bigint not null,
  signature       bigint not null,
  size            integer not null,
  weight          integer not null
);
comment on table pgmem.dedup_token is
  'The rarest tokens of live titles: the candidates of near-duplicate search. the trigger unindex_title takes them out.';
comment on column pgmem.dedup_token.signature is '64-bit Bloom filter of the title''s tokens.';
comment on column pgmem.dedup_token.weight is '2 * size - 3 * position: bounds the overlap left after this token.';
create index dedup_token_probe on pgmem.dedup_token (scope_key, token, size) include (weight, signature, node_seq);

create table pgmem.token_frequency (
  token           bigint primary key,
  frequency       integer not null
);
comment on table pgmem.token_frequency is 'The frozen order of title tokens, rarest first; changed by refresh_dedup only.';

create table pgmem.upkeep (
  task            text primary key,
  done_at         timestamptz not null default '-infinity',
  counted         bigint not null default 0,
  last_seq        bigint not null default 0,
  constraint upkeep_task_known check (task in ('refresh_dedup', 'sweep'))
);
comment on table pgmem.upkeep is 'When the worker last did what it does seldom; whoever holds the row of a task is at it.';
comment on column pgmem.upkeep.counted is 'refresh_dedup: the live titles at that time.';
comment on column pgmem.upkeep.last_seq is 'refresh_dedup: the newest node at that time.';
insert into pgmem.upkeep (task) values ('refresh_dedup'), ('sweep');

create table pgmem.save_attempt (
  tenant          text not null,
  save_id         uuid not null,
  org_id          text not null,
  user_id         text not null,
  verb            text not null,
  project         text,
  session_id      text,
  arguments       jsonb,
  arguments_hash  bytea not null,
  status          pgmem.save_status not null,
  artifact_id     uuid,
  dedup_outcome   pgmem.dedup_outcome,
  candidate_id    uuid,
  message         text,
  embedded        boolean not null default false,
  batch           jsonb,
  attempts        integer not null default 1,
  resolved_by     text,
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  primary key (tenant, save_id),
  constraint saved_keeps_no_arguments check ((status = 'saved') <= (arguments is null))
);
comment on table pgmem.save_attempt is 'One row a save: its status, and while it is not saved the arguments to save it with.';
create index save_attempt_open on pgmem.save_attempt (tenant, project, created_at) where status not in ('saved', 'dropped');
create index save_attempt_done on pgmem.save_attempt (updated_at) where status in ('saved', 'dropped');

create table pgmem.governance_token (
  id              uuid primary key default gen_random_uuid(),
  secret_hash     bytea not null unique,
  preview         text not null,
  org_id          text not null,
  user_id         text not null,
  tenant          text generated always as (org_id || e'\\x1f' || user_id) stored,
  node_seq        bigint references pgmem.node on delete set null,
  issued_to       text,
  issued_at       timestamptz not null,
  expires_at      timestamptz not null,
  used_at         timestamptz,
  used_by         uuid,
  constraint used_by_a_save check ((used_at is null) = (used_by is null))
);
comment on table pgmem.governance_token is 'One-use approvals of global writes: the hash of the secret, never the secret.';

create table pgmem.tenant_role (
  role_name       name primary key,
  org_id          text not null,
  user_id         text not null,
  constraint role_has_tenant check (org_id <> '' or user_id <> '')
);
comment on table pgmem.tenant_role is 'Database logins that are a tenant; the settings of such a login are ignored.';

create table pgmem.api_token (
  id              uuid primary key default gen_random_uuid(),
  secret_hash     bytea not null unique,
  name            text not null,
  org_id          text not null,
  user_id         text not null,
  created_at      timestamptz not null,
  expires_at      timestamptz,
  revoked_at      timestamptz,
  constraint token_has_tenant check (org_id <> '' or user_id <> '')
);
comment on table pgmem.api_token is 'Bearer tokens of the HTTP transport (hashed), each bound to a tenant.';
"""

TYPES = """
create type pgmem.caller as (
  org_id text, user_id text, tenant text, tenants text[], agent_id text, session_id text, source text,
  trust_level float8, identified boolean, made_at timestamptz, is_shared boolean);
comment on type pgmem.caller is 'Who calls, by which way in, as the server found it; is_shared: whether the store has tenants.';

create type pgmem.scope_state as (
  scope_state text, state text, project_id text, focus text, project_exists boolean, focus_exists boolean,
  write_permitted boolean, project_seq bigint, focus_seq bigint, text_config text, last_hygiene_at timestamptz);
comment on type pgmem.scope_state is 'What (project_id, focus) resolves to for the caller.';

create type pgmem.save_result as (
  status text, artifact_id uuid, dedup_outcome text, candidate_id uuid, message text, next_step text,
  save_id uuid, embedded boolean);
comment on type pgmem.save_result is 'What became of a save; the status is a field, never an error.';

create type pgmem.given_embedding as (vector real[], model text, text_hash text);
comment on type pgmem.given_embedding is 'A vector a caller brings, with its model and the hash of the text it was made from.';
"""

VOCABULARY = """
insert into pgmem.label (name, key_field, title_field, text_fields, dedup, kind, verb, vocabulary) values
  ('Session',         null,          'objective',   '{objective,actions_taken,decisions_made,open_items,next_actions}', 'none', 'memory', 'save_session', 'graphbase'),
  ('Decision',        null,          'title',       '{rationale,owner}', 'hash_jaccard', 'memory', 'save_decision', 'graphbase'),
  ('Pattern',         null,          'trigger',     '{trigger,repeatable_steps,exclusions}', 'hash', 'memory', 'save_pattern', 'graphbase'),
  ('Context',         null,          'topic',       '{topic,content}', 'none', 'memory', 'save_context', 'graphbase'),
  ('EntityFact',      'entity_name', 'entity_name', '{fact}', 'key', 'memory', 'upsert_entity', 'graphbase'),
  ('Project',         'name',        'name',        '{description}', 'key', 'infrastructure', 'save_session', 'graphbase'),
  ('GlobalScope',     'name',        'name',        '{}', 'key', 'infrastructure', 'init', 'graphbase'),
  ('FocusArea',       'name',        'name',        '{description}', 'key', 'infrastructure', 'save_session', 'graphbase'),
  ('GovernanceToken', 'name',        'name',        '{}', 'key', 'infrastructure', 'request_global_write_approval', 'graphbase');

insert into pgmem.relation (name, from_labels, to_labels, by_verb, is_column, undirected, vocabulary) values
  ('BELONGS_TO',     null, '{Project,GlobalScope}', true, true, false, 'graphbase'),
  ('HAS_FOCUS',      null, '{FocusArea}', true, true, false, 'graphbase'),
  ('SUPERSEDES',     '{Decision}', '{Decision}', true, false, false, 'graphbase'),
  ('CONFLICTS_WITH', '{Decision}', '{Decision}', false, false, true, 'graphbase'),
  ('PRODUCED',       '{Session}', null, true, false, false, 'graphbase'),
  ('MERGES_INTO',    '{EntityFact}', '{EntityFact}', true, false, false, 'graphbase');

-- The one node of all global memories; its seq is 1 in every store, so that a trigger need not look it up.
insert into pgmem.node (label, key, title, source, trust_level, scope_key, created_at, updated_at, recorded_at)
values ('GlobalScope', 'global', 'global', 'init', 1.0, 0, now(), now(), now());
"""

SETTINGS = """
insert into pgmem.setting (name, value, description) values
  ('dedup_supersede', '0.7', 'Jaccard of two decision titles from which the new one supersedes the old (inclusive).'),
  ('dedup_manual_review', '0.5', 'Jaccard of two decision titles from which a person decides (inclusive).'),
  ('dedup_refresh_limit', '50000', 'Titles up to which the worker renews the order of title words by itself; saves wait for it.'),
  ('focus_limit', '10', 'Items of the focus scope in one context.'),
  ('project_limit', '10', 'Items of the project scope in one context.'),
  ('global_limit', '5', 'Items of the global scope in one context.'),
  ('freshness_recent_days', '7', 'A memory up to this age in days is current.'),
  ('freshness_stale_days', '30', 'A memory older than this in days is stale.'),
  ('hygiene_due_days', '30', 'Days after the last hygiene report until the next one is due.'),
  ('governance_token_ttl_s', '60', 'Seconds a governance token lives.'),
  ('max_title_chars', '500', 'Longest title, in characters.'),
  ('max_key_chars', '200', 'Longest key, name or identifier, in characters.'),
  ('max_text_chars', '100000', 'Longest text, in characters.'),
  ('save_attempt_days', '30', 'Days the record of a finished save is kept.'),
  ('decay_rate', '0.01', 'How fast confidence decays, per day: confidence = initial * exp(-rate * days).'),
  ('decay_max_age_days', '90', 'Days without an update until confidence decays.'),
  ('decay_archive_below', '0', 'Confidence below which the worker archives a memory that has decayed; 0: none.'),
  ('text_config', 'english', 'Text search configuration of projects that name none.'),
  ('trust_cli', '1.0', 'Trust of what the command line writes.'),
  ('trust_sync', '1.0', 'Trust of what a synchronisation writes.'),
  ('trust_sdk', '0.8', 'Trust of what a program writes through the Python API.'),
  ('trust_mcp', '0.5', 'Trust of what an agent writes through MCP.'),
  ('trust_sql', '0.5', 'Trust of what a database session writes without naming a way in.'),
  ('require_identity', 'false', 'Whether a caller without identity reads nothing and writes nothing.'),
  ('test_clock', 'false', 'Whether the setting pgmem.now moves the clock; for tests only.');
"""
