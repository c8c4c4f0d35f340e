"""What search needs: models, the queue of texts to embed, text statistics."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0002", "0001"


def upgrade() -> None:
    run(op.get_bind(), TABLES)


# The table of vectors itself is made by enable_vector(), because its type belongs to an extension that may come later.
TABLES = """
create table pgmem.embedding_model (
  id              smallint generated always as identity primary key,
  name            text not null unique,
  dimensions      integer not null,
  active          boolean not null default false,
  created_at      timestamptz not null default now(),
  constraint dimensions_in_range check (dimensions between 1 and 4000)
);
comment on table pgmem.embedding_model is 'Models whose vectors are kept, side by side; search uses the active one.';
create unique index embedding_model_active on pgmem.embedding_model (active) where active;

create table pgmem.embedding_queue (
  node_seq        bigint not null references pgmem.node on delete cascade,
  kind            text not null default 'self',
  model_id        smallint not null references pgmem.embedding_model on delete cascade,
  claimed_until   timestamptz,
  attempts        integer not null default 0,
  primary key (model_id, node_seq, kind),
  constraint queued_kind_known check (kind in ('self', 'window'))
);
comment on table pgmem.embedding_queue is 'Texts that wait for a vector: a provider was down, a text changed, or a window closed.';
comment on column pgmem.embedding_queue.claimed_until is 'A worker has it until then; no transaction is open while a provider is asked.';

create table pgmem.text_stat (
  tenant          text not null,
  project_seq     bigint not null,
  memories        integer not null,
  total_length    bigint not null,
  counted_at      timestamptz not null,
  primary key (tenant, project_seq)
);
comment on table pgmem.text_stat is 'How many memories a project holds for a tenant and how long they are; project 0: global ones.';

create table pgmem.lexeme_stat (
  tenant          text not null,
  lexeme          text not null,
  project_seq     bigint not null,
  memories        integer not null,
  primary key (tenant, lexeme, project_seq)
);
comment on table pgmem.lexeme_stat is 'In how many memories a lexeme stands, per tenant and project; written by the worker, never by a save.';

create index node_writer on pgmem.node (project_seq, agent_id) where agent_id is not null;
create index node_session on pgmem.node (session_id, seq) where session_id is not null;

alter table pgmem.setting add constraint weights_in_range check (
  case when name = 'hybrid_fusion' then value in ('linear', 'rrf')
       when name = 'hybrid_arm_limit' then value::integer between 1 and 1000
       when name in ('hybrid_alpha', 'bm25_b') then value::float8 between 0 and 1
       when name like 'hybrid%' or name in ('rrf_k', 'bm25_k1') then value::float8 between 0 and 1000000
       else true end);
insert into pgmem.setting (name, value, description) values
  ('hybrid_alpha', '0.5', 'Weight of the vector arm in the score; the rest is the full text''s.'),
  ('hybrid_graph_beta', '0.15', 'Weight of the graph boost in the score.'),
  ('hybrid_boost_cap', '0.3', 'Most the graph boost of one memory may be.'),
  ('hybrid_trust_gamma', '0.1', 'Weight of trust in the score.'),
  ('hybrid_confidence_weight', '0.05', 'Weight of the present confidence in the score.'),
  ('hybrid_date_weight', '0.4', 'Weight of a date asked for that is the date told.'),
  ('hybrid_source_weight', '0.15', 'Weight of a memory that one of the agents named in the query has written.'),
  ('hybrid_arm_limit', '50', 'Candidates each arm brings.'),
  ('hybrid_fusion', 'linear', 'linear (weighted sum of min-max normalised arms) or rrf.'),
  ('rrf_k', '10', 'k of reciprocal rank fusion, sum of 1 / (k + rank).'),
  ('bm25_k1', '1.2', 'Saturation of repeated words in BM25.'),
  ('bm25_b', '0.3', 'How much a long text counts for less in BM25.'),
  ('text_exact_limit', '5000', 'Memories in scope up to which every match is ranked.'),
  ('text_candidate_limit', '2000', 'Matches that are ranked in a larger scope: those of the rarest words of the query.'),
  ('vector_index_limit', '2000', 'Vectors of a model from which on the worker makes an HNSW index over them.'),
  ('vector_exact_limit', '15000', 'Most memories of a scope whose vectors are compared one by one; more go by the HNSW index.');
"""
