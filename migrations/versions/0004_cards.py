"""Engineering memory: the label Card, its subjects, evidence, revisions, intents, runs and settings."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0004", "0003"


def upgrade() -> None:
    run(op.get_bind(), TABLES + VOCABULARY + SETTINGS)


TABLES = """
-- Cards have verbs of their own. They are left out of the index that a context is read by, so that ten thousand cards
-- of a project cost its context nothing.
drop index pgmem.node_recent;
create index node_recent on pgmem.node (place, tenant, created_at desc, seq desc)
  where scope is not null and status in ('active', 'approved') and label <> 'Card';
create index node_card on pgmem.node (scope_key, status, updated_at) where label = 'Card';
create index node_card_identity on pgmem.node (scope_key, content_hash) where label = 'Card';

create table pgmem.card_subject (
  node_seq        bigint not null references pgmem.node on delete cascade,
  scope_key       bigint not null,
  kind            text not null,
  key             text not null,
  relation        text not null,
  match           text collate "C" not null,
  status          text not null,
  weight          float8 not null,
  primary key (node_seq, kind, key),
  constraint subject_kind_known check (kind in ('path', 'symbol', 'module', 'package', 'test', 'doc', 'contract',
    'mcp_tool', 'mcp_resource', 'cli_option', 'report_field', 'baseline_schema', 'cache_schema', 'config_key',
    'plugin_surface')),
  constraint subject_relation_known check (relation in ('about', 'owns', 'tests', 'documents', 'depends_on', 'imports',
    'exports'))
);
comment on table pgmem.card_subject is 'What a card is about: one row a logical subject.';
comment on column pgmem.card_subject.scope_key is 'As in node: the hash of (tenant, project, Card).';
comment on column pgmem.card_subject.match is
  'What the subject is looked up by: a path as it is, :path/of/module, #dotted.symbol. Sorted by bytes, so that what lies below a path is one range.';
comment on column pgmem.card_subject.status is 'The card''s status, kept by trigger.';
comment on column pgmem.card_subject.weight is 'What the card''s type, source, confidence and evidence add to its rank; kept by trigger.';
create index card_subject_match on pgmem.card_subject (scope_key, match) include (node_seq, status, weight);

create table pgmem.card_evidence (
  node_seq        bigint not null references pgmem.node on delete cascade,
  kind            text not null,
  ref             text not null,
  digest          text,
  seen_digest     text,
  added_by        text not null,
  created_at      timestamptz not null,
  primary key (node_seq, kind, ref),
  constraint evidence_kind_known check (kind in ('code', 'test', 'doc', 'spec', 'receipt', 'git_commit', 'report',
    'baseline', 'cache', 'audit_event', 'trajectory', 'external_url')),
  constraint evidence_ref_length check (length(ref) between 1 and 500)
);
comment on table pgmem.card_evidence is 'What a card rests on. Evidence of a file with its digest is the card''s anchor.';
comment on column pgmem.card_evidence.digest is 'The file''s digest when the card was recorded or approved.';
comment on column pgmem.card_evidence.seen_digest is 'The file''s digest in the last run that saw it; null: gone or never seen.';

create table pgmem.card_revision (
  seq             bigint generated always as identity primary key,
  node_seq        bigint not null references pgmem.node on delete cascade,
  version         integer not null,
  action          text not null,
  from_status     text,
  to_status       text not null,
  by              text not null,
  reason          text,
  created_at      timestamptz not null
);
comment on table pgmem.card_revision is 'Who did what to a card and why; the text before a change is in node_version.';
create index card_revision_card on pgmem.card_revision (node_seq, seq);

create table pgmem.card_state (
  org_id          text not null,
  user_id         text not null,
  tenant          text generated always as (org_id || e'\\x1f' || user_id) stored,
  project_seq     bigint not null references pgmem.node on delete cascade,
  revision        bigint not null default 1,
  changed_in      xid8 not null default pg_current_xact_id(),
  changed_at      timestamptz not null default transaction_timestamp(),
  primary key (tenant, project_seq)
);
comment on table pgmem.card_state is 'One row for the cards of a tenant in a project: grows by one with every transaction that changes one of them.';

create table pgmem.card_run (
  id              uuid primary key default gen_random_uuid(),
  org_id          text not null,
  user_id         text not null,
  tenant          text generated always as (org_id || e'\\x1f' || user_id) stored,
  project_seq     bigint not null references pgmem.node on delete cascade,
  fingerprint     text,
  commit_id       text,
  complete        boolean not null,
  counts          jsonb not null,
  created_at      timestamptz not null
);
comment on table pgmem.card_run is 'The runs that cards were made or refreshed from.';
comment on column pgmem.card_run.fingerprint is 'Digest of all files the run saw; null when the report brought none.';
create index card_run_last on pgmem.card_run (tenant, project_seq, created_at desc, id desc);

create table pgmem.card_file (
  org_id          text not null,
  user_id         text not null,
  tenant          text generated always as (org_id || e'\\x1f' || user_id) stored,
  project_seq     bigint not null references pgmem.node on delete cascade,
  path            text collate "C" not null,
  digest          text not null,
  module          text,
  last_commit     text,
  primary key (tenant, project_seq, path)
);
comment on table pgmem.card_file is 'The files of a project as the last run saw them: the anchors of what is recorded next.';
create index card_file_module on pgmem.card_file (tenant, project_seq, module) where module is not null;

create table pgmem.card_intent (
  id              uuid primary key default gen_random_uuid(),
  org_id          text not null,
  user_id         text not null,
  tenant          text generated always as (org_id || e'\\x1f' || user_id) stored,
  project_seq     bigint not null references pgmem.node on delete cascade,
  paths           text[] not null,
  description     text,
  agent_id        text,
  session_id      text,
  declared_at     timestamptz not null,
  finished_at     timestamptz,
  changed_paths   text[],
  constraint intent_names_paths check (cardinality(paths) > 0),
  constraint finished_intent_names_changes check ((finished_at is null) = (changed_paths is null))
);
comment on table pgmem.card_intent is 'What an agent said it would work on, and the files it then really changed.';
create index card_intent_project on pgmem.card_intent (project_seq, tenant, declared_at);

create type pgmem.report_card as (
  place bigint, record_type text, path text, facet text, identity text, statement text, ingest_source text,
  subjects jsonb, evidence jsonb, links jsonb, details jsonb, fingerprint text);
comment on type pgmem.report_card is 'A card as a report gives it, before it is met with what is stored.';
"""

VOCABULARY = """
insert into pgmem.label (name, key_field, title_field, text_fields, dedup, kind, verb, vocabulary) values
  ('Card', null, 'statement', '{statement,paths,symbols}', 'hash', 'memory', 'record_candidate', 'engineering');

-- Some of these are words of other vocabularies too: one relation, whoever brings it first.
insert into pgmem.relation (name, from_labels, to_labels, by_verb, is_column, undirected, vocabulary) values
  ('DEPENDS_ON',        null, null, false, false, false, 'engineering'),
  ('CONTRADICTS',       null, null, false, false, false, 'engineering'),
  ('EXPLAINS',          null, null, false, false, false, 'engineering'),
  ('IMPLEMENTS',        null, null, false, false, false, 'engineering'),
  ('TESTS',             null, null, false, false, false, 'engineering'),
  ('DOCUMENTS',         null, null, false, false, false, 'engineering'),
  ('DEPRECATES',        null, null, false, false, false, 'engineering'),
  ('RELATED_TO',        null, null, false, false, false, 'engineering'),
  ('IMPLICIT_COUPLING', null, null, false, false, false, 'engineering')
on conflict (name) do nothing;
update pgmem.relation set from_labels = from_labels || '{Card}'::text[], to_labels = to_labels || '{Card}'::text[]
where name = 'SUPERSEDES' and not 'Card' = any (from_labels);
"""

SETTINGS = """
insert into pgmem.setting (name, value, description) values
  ('max_candidates', '1000', 'Most draft cards of one project.'),
  ('max_records', '10000', 'Most cards of one project, in any state.'),
  ('max_card_evidence', '20', 'Most pieces of evidence of one card.'),
  ('max_statement_chars', '1000', 'Longest statement of a card, in characters.'),
  ('max_intent_paths', '50', 'Most paths of one intent or one scope.'),
  ('cards_budget', '2200', 'Size of one page of cards, in UTF-8 bytes / 4.'),
  ('cards_over_capacity', 'skip', 'What a refresh does at max_records: skip what is over, or reject the run.'),
  ('cards_sync_policy', 'bootstrap_if_missing', 'When retrieval reads the repository by itself: off, bootstrap_if_missing or refresh_when_stale.'),
  ('cards_hotspot_changes', '5', 'Changes in 90 days from which a file is a hot spot.'),
  ('card_days_active', '-1', 'Days an active card is kept after its last change; -1: always.'),
  ('card_days_draft', '14', 'Days a draft card is kept; -1: always.'),
  ('card_days_stale', '180', 'Days a stale card is kept; -1: always.'),
  ('card_days_historical', '365', 'Days a card of a file that is gone is kept; -1: always.'),
  ('card_days_superseded', '365', 'Days a superseded card is kept; -1: always.'),
  ('card_days_rejected', '30', 'Days a rejected card is kept; -1: always.'),
  ('card_days_archived', '365', 'Days an archived card is kept; -1: always.'),
  ('card_days_receipt', '90', 'Days a finished intent and the record of a run are kept; -1: always.');
alter table pgmem.setting
  add constraint card_policies_known check (case name
    when 'cards_over_capacity' then value in ('skip', 'reject')
    when 'cards_sync_policy' then value in ('off', 'bootstrap_if_missing', 'refresh_when_stale') else true end),
  add constraint card_limits_are_numbers check (
    name not in ('max_candidates', 'max_records', 'max_card_evidence', 'max_intent_paths', 'cards_budget', 'cards_hotspot_changes')
    or value ~ '^[1-9][0-9]{0,8}$'),
  add constraint card_days_are_numbers check (name not like 'card\\_days\\_%' or value ~ '^(-1|[0-9]{1,6})$');
"""
