"""The tables of 0.2.0: periods, one vector a memory, tombstones, turns, items, extractions, trajectories, instructions.

Stores of 0.1.0 come from 0005. The revisions 0006 to 0026 were never released; this one is all of them. A store of 0027
that a development state wrote holds the same tables.
"""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0027", "0005"


def upgrade() -> None:
    run(op.get_bind(), VERBS + DOMAINS + MEMORIES + PERIODS + VECTORS + COUNTS + GUARDS + SAVES)
    run(op.get_bind(), EXTRACTIONS + CARDS + TYPES + LABELS + SETTINGS + RENEWAL)


VERBS = """
create table pgmem.verb (
  name            text primary key,
  place           integer not null unique,
  chapter         text not null,
  rights          text not null check (rights in ('reader', 'writer', 'reviewer', 'worker', 'owner')),
  effect          text not null check (effect in ('read', 'look', 'write', 'repeat', 'remove')),
  toolset         text constraint toolset_has_a_plain_name check (toolset ~ '^[a-z-]+$'),
  summary         text,
  description     text,
  hidden          text[] not null default '{}',
  answer          text,
  patience        text check (patience in ('answer', 'report', 'rebuild'))
);
comment on table pgmem.verb is 'The verbs: the functions that clients call, in the order of the chapters. Every upgrade fills it again.';
comment on column pgmem.verb.place is 'The order in which sql/ declares the verbs.';
comment on column pgmem.verb.chapter is 'The file in sql/, without its number, that declares the verb.';
comment on column pgmem.verb.rights is
  'The role that may call it: pgmem_reader, pgmem_writer, pgmem_reviewer, pgmem_trusted (worker), or the owner of the schema alone.';
comment on column pgmem.verb.effect is
  'read: writes nothing and may answer from a replica; look: writes nothing and answers for this moment; write; repeat: the same call again changes nothing more; remove.';
comment on column pgmem.verb.toolset is 'The group of MCP tools it belongs to; null: it is no tool.';
comment on column pgmem.verb.summary is 'What it does, in one sentence.';
comment on column pgmem.verb.description is 'What an agent reads about the tool.';
comment on column pgmem.verb.hidden is 'Arguments that an agent cannot send.';
comment on column pgmem.verb.answer is 'The class of pgmem.models that its rows become; null: Python has no method for it.';
comment on column pgmem.verb.patience is
  'How long Python waits: answer (retrieval_timeout_s), report (10 minutes), rebuild (an hour); null: write_timeout_s.';

create table pgmem.argument (
  name            text primary key,
  sent_by         text not null check (sent_by in ('anyone', 'program', 'python')),
  meaning         text not null
);
comment on table pgmem.argument is 'What an argument means that several verbs take; the comment on a verb can say more. Every upgrade fills it again.';
comment on column pgmem.argument.name is 'The name of the argument, without p_.';
comment on column pgmem.argument.sent_by is 'anyone: an agent too; program: SQL and Python; python: SQL, and the method in Python fills it.';
comment on column pgmem.argument.meaning is 'What a caller sends.';

create table pgmem.schema_function (
  name            text primary key,
  head            text not null
);
comment on table pgmem.schema_function is 'The functions that the last upgrade installed.';
comment on column pgmem.schema_function.head is 'SHA-256 of the arguments and the result: an upgrade drops a function whose head it changes.';
alter table pgmem.label drop column kind, drop column live_statuses;
"""

DOMAINS = """
alter domain pgmem.node_status drop constraint status_known;
alter domain pgmem.node_status add constraint status_known check (value in (
  'active', 'superseded', 'archived', 'expired', 'merged', 'stub', 'pending', 'approved', 'dismissed', 'draft', 'stale',
  'historical', 'rejected', 'captured'));
alter domain pgmem.node_key drop constraint key_length;
alter domain pgmem.node_key add constraint key_length check (length(value) between 1 and 500 and octet_length(value) <= 1200);
comment on domain pgmem.node_key is 'A name: 1 to 500 characters, at most 1200 bytes.';
"""

MEMORIES = """
-- The table is rewritten here and by the migration of scope keys, which makes all indexes: each is made once.
drop index pgmem.node_tsv, pgmem.node_key_unique, pgmem.node_content_unique, pgmem.node_name, pgmem.node_session,
  pgmem.node_tenant, pgmem.node_label, pgmem.node_recent, pgmem.node_writer, pgmem.node_card, pgmem.node_card_identity;
alter table pgmem.node
  add column begins_at timestamptz,
  add column session_place integer,
  add column asks boolean not null default false,
  add column instructs boolean not null default false;
comment on column pgmem.node.begins_at is
  'Where its effective period begins: valid_from, or where it took the place of other content, or when it was made; null: an open start.';
comment on column pgmem.node.session_place is 'The place in its session, from 1 on; null outside a session. Two saved at once may share one.';
comment on column pgmem.node.asks is 'The text ends in a question mark: the next memory of the session may answer it.';
comment on column pgmem.node.instructs is
  'The text says how to go on from now on (always, never, when I ask): a standing instruction.';
comment on column pgmem.node.source is 'The way in that wrote it (cli, ui, sync, sdk, mcp, sql); stamped, never taken from the caller.';
alter table pgmem.node alter column begins_at type timestamptz
  using coalesce(valid_from, case when valid_to is null then created_at end);
alter table pgmem.node_version add column begins_at timestamptz, add column ends_at timestamptz;
comment on column pgmem.node_version.begins_at is 'Where its effective period began; null: an open start.';
comment on column pgmem.node_version.ends_at is
  'Where its effective period ended: valid_to, or where the state after it took its place; -infinity: that one restated it, and it holds nowhere.';
"""

PERIODS = """
-- The rules of pgmem.state_begins and pgmem.state_ends as they are in this release. A state's period follows from the one
-- before it, so they are walked through in order, and written at once.
do $$
declare
  v_state  record;
  v_before record;
  v_same   boolean;
  v_begins timestamptz;
  v_seqs     bigint[] := '{}';
  v_versions integer[] := '{}';
  v_present  boolean[] := '{}';
  v_starts   timestamptz[] := '{}';
  v_ends     timestamptz[] := '{}';
begin
  for v_state in
    select s.*, s.version = min(s.version) over (partition by s.seq) as is_first
    from (select v.node_seq as seq, v.version, v.title, v.props, v.valid_from, v.valid_to, v.created_at, v.ingested_at,
                 false as is_present
          from pgmem.node_version v
          union all
          select n.seq, n.version, n.title, n.props, n.valid_from, n.valid_to, n.created_at, n.recorded_at, true
          from pgmem.node n where exists (select from pgmem.node_version v where v.node_seq = n.seq)) s
    order by s.seq, s.version
  loop
    if v_state.is_first then
      v_begins := coalesce(v_state.valid_from, case when v_state.valid_to is null then v_state.created_at end);
    else
      v_same := v_state.title = v_before.title and v_state.props = v_before.props;
      v_begins := case
        when v_state.valid_from is not null then v_state.valid_from
        when not v_same and v_state.ingested_at <= coalesce(v_state.valid_to, 'infinity') then v_state.ingested_at
        when v_begins <= coalesce(v_state.valid_to, 'infinity') then v_begins end;
      v_ends[cardinality(v_ends)] := case
        when not v_same then coalesce(v_before.valid_to, v_begins, '-infinity')
        when v_begins > v_before.valid_to then v_before.valid_to
        else '-infinity' end;
    end if;
    v_seqs := v_seqs || v_state.seq;
    v_versions := v_versions || v_state.version;
    v_present := v_present || v_state.is_present;
    v_starts := v_starts || v_begins;
    v_ends := v_ends || null::timestamptz;
    v_before := v_state;
  end loop;
  alter table pgmem.node disable trigger user;
  update pgmem.node n set begins_at = s.begins_at
  from unnest(v_seqs, v_present, v_starts) s(seq, present, begins_at)
  where s.present and n.seq = s.seq and n.begins_at is distinct from s.begins_at;
  alter table pgmem.node enable trigger user;
  update pgmem.node_version v set begins_at = s.begins_at, ends_at = s.ends_at
  from unnest(v_seqs, v_versions, v_starts, v_ends) s(seq, version, begins_at, ends_at)
  where v.node_seq = s.seq and v.version = s.version;
end $$;
"""

VECTORS = """
-- The vector of a window was near the mean of the vectors it spans, which search computes. The indexes of the models, which
-- are over the column kind, go with it; the worker makes the index of a model again.
delete from pgmem.embedding_queue where kind <> 'self';
alter table pgmem.embedding_queue drop column kind;
alter table pgmem.embedding_queue add primary key (model_id, node_seq);
comment on table pgmem.embedding_queue is 'Texts without a vector: a provider was down, a text changed, or another model is active.';
do $$
begin
  if to_regclass('pgmem.embedding') is not null then
    delete from pgmem.embedding where kind <> 'self';
    alter table pgmem.embedding drop column kind;
    alter table pgmem.embedding add primary key (node_seq, model_id);
    create index embedding_scope on pgmem.embedding (model_id, tenant, project_seq);
    create index embedding_tail on pgmem.embedding (model_id, tenant) where not indexed;
  end if;
end;
$$;

-- Without a type of pgvector: the server may have none.
create table pgmem.archived_vector (
  node_seq        bigint not null references pgmem.node on delete cascade,
  model_id        smallint not null references pgmem.embedding_model on delete cascade,
  text_hash       text not null,
  vector          real[] not null,
  primary key (node_seq, model_id)
);
comment on table pgmem.archived_vector is 'The vectors of hidden memories, which no search sees; they are put back with the memory.';
comment on column pgmem.archived_vector.text_hash is 'SHA-256 of the text that the vector was made from.';

create table pgmem.item_vector (
  node_seq bigint not null references pgmem.node on delete cascade,
  place    integer not null,
  vector   real[] not null,
  primary key (node_seq, place)
);
comment on table pgmem.item_vector is 'The vectors that a program made of an item, one for each indexed text of it.';
"""

COUNTS = """
create table pgmem.source_stat (
  tenant          text not null,
  project_seq     bigint not null,
  agent_id        text not null,
  memories        integer not null,
  total_length    bigint not null,
  primary key (tenant, project_seq, agent_id)
);
comment on table pgmem.source_stat is 'How many memories each agent has written in a project and how long they are.';
create table pgmem.word_count (
  tenant          text primary key,
  last_seq        bigint not null
);
comment on table pgmem.word_count is 'Up to which memory the words of a tenant are counted; one save in some counts those since.';
comment on table pgmem.text_stat is
  'How many memories a project holds for a tenant and how long they are; project 0: global ones, -1 - n: the cards of project n.';
comment on table pgmem.lexeme_stat is 'In how many memories a lexeme stands, per tenant and project as in text_stat; search counts newer words.';
insert into pgmem.word_count (tenant, last_seq)
select s.tenant, (select max(n.seq) from pgmem.node n where n.tenant = s.tenant and n.recorded_at <= max(s.counted_at))
from pgmem.text_stat s group by s.tenant
having exists (select from pgmem.node n where n.tenant = s.tenant and n.recorded_at <= max(s.counted_at));
"""

GUARDS = """
create table pgmem.held_lock (
  key             bigint primary key
);
comment on table pgmem.held_lock is
  'A row a scope: who locks the row holds the scope. Clients have no right to it, so that none can hold what is not its own.';
comment on column pgmem.held_lock.key is 'The scope_key, or a hash of tenant and save_id while that save is made.';
revoke all on pgmem.held_lock from public;

alter table pgmem.upkeep drop constraint upkeep_task_known;
alter table pgmem.upkeep add constraint upkeep_task_known check (task in ('refresh_dedup', 'refresh_statistics', 'sweep'));
insert into pgmem.upkeep (task) values ('refresh_statistics') on conflict do nothing;

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

alter table pgmem.api_token add column for_person boolean not null default false;
comment on column pgmem.api_token.for_person is
  'True: a person signs in to the page with it and decides there, and no agent is let in; false: an agent''s.';
alter table pgmem.api_token drop constraint token_has_tenant;
comment on table pgmem.api_token is
  'Bearer tokens of the HTTP transport (hashed), each bound to a tenant; to none in a store with one user.';

alter table pgmem.governance_token add column asked boolean not null default false;
comment on column pgmem.governance_token.asked is
  'Whether the client showed the preview to its person, who said yes; the server that asked says so.';
"""

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

EXTRACTIONS = """
create table pgmem.extraction (
  id              uuid primary key default gen_random_uuid(),
  org_id          text not null,
  user_id         text not null,
  tenant          text generated always as (org_id || e'\\x1f' || user_id) stored,
  session_id      text not null,
  project_seq     bigint not null references pgmem.node on delete cascade,
  turns           uuid[] not null,
  last_seq        bigint not null,
  candidates      jsonb not null,
  begun_at        timestamptz not null,
  applied_at      timestamptz,
  answer_hash     bytea,
  result          jsonb,
  constraint extraction_shows_turns check (cardinality(turns) > 0),
  constraint applied_extraction_has_its_result check (
    (applied_at is null) = (result is null) and (applied_at is null) = (answer_hash is null))
);
comment on table pgmem.extraction is
  'Turns that were shown to a model, with the candidates beside them, and the outcome of its answer.';
create index extraction_session on pgmem.extraction (tenant, session_id, last_seq) where applied_at is not null;

create table pgmem.extraction_day (
  org_id          text not null,
  user_id         text not null,
  tenant          text generated always as (org_id || e'\\x1f' || user_id) stored,
  day             date not null,
  tokens          bigint not null,
  constraint extraction_day_pkey primary key (tenant, day),
  constraint tokens_are_counted_up check (tokens >= 0)
);
comment on table pgmem.extraction_day is
  'Tokens that the questions of a tenant to a model cost on a day of UTC, reserved ones included.';
"""

CARDS = """
alter type pgmem.report_card add attribute status text;
alter table pgmem.card_file add column symbols jsonb not null default '{}';
comment on column pgmem.card_file.symbols is
  'Digest of the syntax of each function, class and method of the file, by its name within the file.';
create index card_file_digest on pgmem.card_file (tenant, project_seq, digest);

alter table pgmem.card_intent add column receipt jsonb;
comment on column pgmem.card_intent.receipt is 'What finish_intent was told of the work: status, verify, tests, commit, claims.';

create table pgmem.card_commit (
  org_id          text not null,
  user_id         text not null,
  tenant          text generated always as (org_id || e'\\x1f' || user_id) stored,
  project_seq     bigint not null references pgmem.node on delete cascade,
  id              text not null,
  at              timestamptz not null,
  subject         text not null,
  paths           text[] not null,
  primary key (tenant, project_seq, id)
);
comment on table pgmem.card_commit is
  'Commits of the default branch, as the last scans told of them: the newest pieces of work, without sweeps.';
comment on column pgmem.card_commit.paths is 'The files that it changed, by their names of today, the first 30.';
alter table pgmem.card_commit
  add column commits text[] not null default '{}',
  add column reverts text[] not null default '{}';
comment on column pgmem.card_commit.commits is
  'Of the merge of a pull request the commits that it brought in; empty for a commit alone.';
comment on column pgmem.card_commit.reverts is 'The commits that it takes back, as its message says.';
"""

TYPES = """
create type pgmem.search_filter as (
  tenants text[], project_seq bigint, labels text[], scopes text[], focus text, tags text[], agent_id text, session_id text,
  as_of timestamptz, moment timestamptz);
comment on type pgmem.search_filter is 'What a memory must be to be found; every part but tenants may be null.';
create type pgmem.search_words as (
  lexemes text[], counts float8[], queries tsquery[], weights float8[], most float8, matching tsquery, memories float8, mean_length float8);
comment on type pgmem.search_words is
  'The words of a query in a scope: how rare each is, the most a text can score, and the query that finds the candidates.';

create type pgmem.ages as (
  at timestamptz,
  recent timestamptz,
  stale timestamptz,
  decay_rate float8,
  decay_max_age_days integer
);
comment on type pgmem.ages is
  'The present moment, and by which age and decay a memory is current, recent or stale, and how certain.';

create type pgmem.memory_file as (
  id uuid,
  path text,
  text text,
  bytes integer,
  version integer,
  updated_at timestamptz
);
comment on type pgmem.memory_file is 'A file of a memory directory; its text is null where a directory is listed.';
create type pgmem.detected as (
  title text,
  summary text,
  confidence float8,
  sources bigint[]
);
comment on type pgmem.detected is 'What a detector has seen in the graph: the text of an insight, and the seqs of its sources.';
create type pgmem.insight_answer as (
  id uuid,
  title text,
  summary text,
  detector text,
  confidence float8,
  trust_level float8,
  status text,
  sources uuid[],
  created_at timestamptz
);
comment on type pgmem.insight_answer is 'An insight as the verbs of reflection return it.';
create type pgmem.repair_answer as (
  id uuid,
  title text,
  status text,
  version integer,
  rel_type text,
  into_id uuid,
  into_title text,
  into_version integer
);
comment on type pgmem.repair_answer is 'A memory that a repair replaced, and the one that stays.';
create type pgmem.found_card as (
  rank integer,
  record_type text,
  path text,
  facet text,
  ingest_source text,
  kind text,
  last_commit text,
  statement text,
  subjects jsonb,
  links jsonb,
  details jsonb
);
comment on type pgmem.found_card is 'A card that a report gives, and its rank by value.';
"""

LABELS = """
-- A label that the store's owner has made and that has one of these names gets another name: its nodes are none of these.
do $$
declare
  v_name text;
  v_new  text;
begin
  for v_name in select l.name from pgmem.label l
      where l.name in ('Turn', 'Item', 'File', 'Message', 'Trajectory') loop
    v_new := 'Own' || v_name;
    while exists (select from pgmem.label l where l.name = v_new) loop
      v_new := v_new || '_';
    end loop;
    raise warning 'The label % is one of pgmem now: yours is named % from now on.', v_name, v_new;
    update pgmem.label l set name = v_new where l.name = v_name;
    alter table pgmem.node disable trigger user;
    update pgmem.node n set label = v_new where n.label = v_name;
    alter table pgmem.node enable trigger user;
    update pgmem.node_version v set label = v_new where v.label = v_name;
    update pgmem.relation r set from_labels = array_replace(r.from_labels, v_name, v_new),
      to_labels = array_replace(r.to_labels, v_name, v_new);
  end loop;
end $$;
insert into pgmem.label (name, key_field, title_field, text_fields, dedup, verb, vocabulary) values
  ('Turn', null, 'content', '{content}', 'none', 'capture_turns', 'graphbase'),
  ('Item',    'path', 'title', '{}',     'key', 'put_items',    'programs'),
  ('File',    'path', 'path',  '{text}', 'key', 'create_file',  'programs'),
  ('Message', 'path', 'title', '{}',     'key', 'add_messages', 'programs'),
  ('Trajectory', 'name', 'line', '{intent,paths,verified}', 'none', 'manage_engineering_memory', 'engineering');
"""

SETTINGS = """
alter table pgmem.setting drop constraint weights_in_range;
alter table pgmem.setting
  add constraint weights_in_range check (
    case when name = 'hybrid_fusion' then value in ('linear', 'rrf')
         when name = 'hybrid_arm_limit' then value::integer between 1 and 1000
         when name in ('hybrid_alpha', 'bm25_b', 'relevance_middle', 'answered_yes', 'answered_no') then value::float8 between 0 and 1
         when name like 'hybrid%' or name in ('rrf_k', 'bm25_k1', 'relevance_slope') then value::float8 between 0 and 1000000
         when name = 'agent_token_limit' then value::integer between 100 and 1000000
         else true end),
  add constraint approval_known check (name <> 'approval' or value in ('self', 'client', 'person')),
  add constraint near_name_in_range check (name <> 'near_name' or value::float8 between 0 and 1),
  add constraint tokens_are_a_whole_number check (name <> 'extraction_tokens' or value ~ '^[0-9]{1,9}$');
-- A value that the store's owner has changed stays; one that is still the default of 0.1.0 becomes that of this release.
delete from pgmem.setting where name = 'text_exact_limit';
update pgmem.setting s set value = case when s.value = d.was then d.value else s.value end, description = coalesce(d.description, s.description)
from (values
  ('text_candidate_limit', '2000', '300', 'Matches whose words are compared: those of the rarest words of the query.'),
  ('bm25_b', '0.3', '0.9', 'How much a long text counts for less in BM25, 0 to 1.'),
  ('hybrid_alpha', null, null, 'Weight of the vector arm in the score, 0 to 1; the rest is the full text''s.'),
  ('cards_sync_policy', 'bootstrap_if_missing', 'refresh_when_stale', null)) d(name, was, value, description)
where s.name = d.name;
insert into pgmem.setting (name, value, description) values
  ('max_document_chars', '10000000', 'Longest content, fact or notes, in characters.'),
  ('hybrid_question_weight', '0.2', 'Weight of the question before an answer: short memories of a session.'),
  ('hybrid_session_weight', '0.6', 'Weight of a session''s best memories; it falls with the length of the session.'),
  ('hybrid_prior_weight', '0.25', 'Weight of how much shorter an agent writes than the others of the project.'),
  ('hybrid_instruction_weight', '0.25', 'Weight of a memory that is a standing instruction.'),
  ('hybrid_time_weight', '0.3', 'Weight of a short memory that names a time, where the query asks when.'),
  ('instruction_limit', '10', 'Most standing instructions at the beginning of a context; 0: none.'),
  ('text_match_limit', '2000', 'Most memories the text arm compares where every word of the query is common.'),
  ('relevance_middle', '0.3', 'Likeness (half cosine, half share of the words) at which relevance is one half.'),
  ('relevance_slope', '15', 'How steeply relevance rises with likeness.'),
  ('answered_yes', '0.32', 'Relevance of the best memory from which on a search counts as answered.'),
  ('answered_no', '0.18', 'Relevance of the best memory below which a search counts as not answered.'),
  ('near_name', '0.6', 'Similarity of two names, 0 to 1, from which the answer of a save says that they are near.'),
  ('agent_token_limit', '2000', 'Tokens (four characters each) of an answer to an agent that sends no max_tokens.'),
  ('neighbours_row_limit', '20000', 'How many relations a call of neighbours reads at most.'),
  ('max_list_limit', '2000', 'How many items a list in the arguments of a verb holds at most, such as steps or related entities.'),
  ('max_relations_limit', '1000', 'How many relations a call of remember names at most.'),
  ('max_arguments_limit', '4000000', 'How many characters the arguments of a save have at most, together.'),
  ('max_item_chars', '10000000', 'Characters of one item, file or message at most, as JSON.'),
  ('max_lease_s', '3600', 'How many seconds a worker may claim a text that it embeds, at most.'),
  ('role_statement_timeout_s', '60', 'statement_timeout of a login that bind_role binds; 0: none.'),
  ('role_idle_in_transaction_s', '60', 'idle_in_transaction_session_timeout of a login that bind_role binds; 0: none.'),
  ('role_connection_limit', '20', 'How many connections a login that bind_role binds may have; 0: any number.'),
  ('role_temp_file_limit', '1024', 'temp_file_limit, in MB, of a login that bind_role binds, where the installer may set it; 0: none.'),
  ('approval', 'self', 'Who approves a global write and an insight. self: the agent shows its person the text and sends the token at once; the store cannot tell whether it did. client: the MCP client asks its person, and where it cannot, the write waits for pgmem review. person: it waits always.'),
  ('save_arguments_days', '30', 'After how many days the arguments of a save that was not made, and the preview of an approval, are removed.'),
  ('turn_days', '90', 'Days until a captured turn of a conversation is deleted; 0: never.'),
  ('trust_turn', '0.3', 'Trust of a captured turn at most: what was said in a conversation is a source, not a memory.'),
  ('trust_ui', '1.0', 'Trust of what a person writes on the page.'),
  ('extraction_chars', '24000', 'Characters of turns that one extraction shows at most.'),
  ('extraction_overlap', '0.5', 'Share of the words of an extracted text that its quote must hold.'),
  ('extraction_tokens', '50000', 'Tokens that the workers of a tenant spend on the model of PGMEM_EXTRACTION_MODEL in a day.');
"""

RENEWAL = """
-- The next migration makes the list of what is renewed.
select set_config('pgmem.renew', 'graph, memories', true);
"""
