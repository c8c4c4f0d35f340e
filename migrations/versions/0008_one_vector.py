"""One vector a memory, and what a ranking needs to know beside it: place in its session, mean lengths, floors."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0008", "0007"


def upgrade() -> None:
    run(op.get_bind(), VECTORS + MEMORIES + COUNTS + TYPES + SETTINGS)


# The vector of a window was near the mean of the vectors it spans, which search computes. Indexes over the column kind, those
# of the models among them, go with it; the worker builds the index of a model again.
VECTORS = """
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
"""

MEMORIES = """
alter table pgmem.node add column session_place integer, add column asks boolean not null default false;
comment on column pgmem.node.session_place is 'The place in its session, from 1 on; null outside a session. Two saved at once may share one.';
comment on column pgmem.node.asks is 'The text ends in a question mark: the next memory of the session may answer it.';
drop index pgmem.node_session;
update pgmem.node n set session_place = s.place, asks = rtrim(n.props ->> 'content') like '%?'
from (select seq, row_number() over (partition by session_id, tenant order by seq) as place
      from pgmem.node where session_id is not null and label <> 'Session') s
where s.seq = n.seq;
create index node_session on pgmem.node (session_id, session_place, seq) include (text_length, asks) where session_place is not null;
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

TYPES = """
create type pgmem.search_filter as (
  tenants text[], project_seq bigint, labels text[], scopes text[], focus text, tags text[], agent_id text, session_id text,
  as_of timestamptz, moment timestamptz);
comment on type pgmem.search_filter is 'What a memory must be to be found; every part but tenants may be null.';
create type pgmem.search_words as (
  lexemes text[], counts float8[], queries tsquery[], idf float8[], most float8, matching tsquery, memories float8, mean_length float8);
comment on type pgmem.search_words is
  'The words of a query in a scope: how rare each is, the most a text can score, and the query that finds the candidates.';
"""

SETTINGS = """
alter table pgmem.setting drop constraint weights_in_range;
alter table pgmem.setting add constraint weights_in_range check (
  case when name = 'hybrid_fusion' then value in ('linear', 'rrf')
       when name = 'hybrid_arm_limit' then value::integer between 1 and 1000
       when name in ('hybrid_alpha', 'bm25_b', 'relevance_middle', 'answered_yes', 'answered_no') then value::float8 between 0 and 1
       when name like 'hybrid%' or name in ('rrf_k', 'bm25_k1', 'relevance_slope') then value::float8 between 0 and 1000000
       when name = 'agent_token_limit' then value::integer between 100 and 1000000
       else true end);
delete from pgmem.setting where name in ('text_exact_limit', 'bm25_b');
update pgmem.setting set value = '300', description = 'Matches whose words are compared: those of the rarest words of the query.'
where name = 'text_candidate_limit';
insert into pgmem.setting (name, value, description) values
  ('max_document_chars', '10000000', 'Longest content, fact or notes, in characters.'),
  ('hybrid_question_weight', '0.2', 'Weight of the question before an answer: short memories of a session.'),
  ('hybrid_session_weight', '0.5', 'Weight of a session''s best memories; it falls with the length of the session.'),
  ('hybrid_prior_weight', '0.25', 'Weight of how much shorter an agent writes than the others of the project.'),
  ('bm25_b', '0.9', 'How much a long text counts for less in BM25.'),
  ('text_match_limit', '2000', 'Most memories the text arm compares where every word of the query is common.'),
  ('relevance_middle', '0.3', 'Likeness (half cosine, half share of the words) at which relevance is one half.'),
  ('relevance_slope', '15', 'How steeply relevance rises with likeness.'),
  ('answered_yes', '0.32', 'Relevance of the best memory from which on a search counts as answered.'),
  ('answered_no', '0.18', 'Relevance of the best memory below which a search counts as not answered.'),
  ('agent_token_limit', '2000', 'Tokens (four characters each) of an answer to an agent that sends no max_tokens.');
"""
