"""Time, tenancy and trust: who issued and spent what, receipts of erasure, and the vocabulary that remember writes."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0003", "0002"


def upgrade() -> None:
    run(op.get_bind(), TABLES + VOCABULARY)


TABLES = """
alter table pgmem.governance_token add column spent_by text;
comment on column pgmem.governance_token.spent_by is 'The agent that spent it, as the server found it.';
alter table pgmem.api_token
  add column created_by name not null default session_user,
  add column revoked_by name;
comment on column pgmem.api_token.created_by is 'The database login that issued it.';

create table pgmem.erasure (
  id              uuid primary key default gen_random_uuid(),
  subject_hash    text not null,
  erased_by       text not null,
  login           name not null default session_user,
  counts          jsonb not null,
  erased_at       timestamptz not null
);
comment on table pgmem.erasure is 'Receipts of erasure: how many rows of which table went. The subject stands there as a hash only.';
comment on column pgmem.erasure.subject_hash is 'SHA-256 of org_id, the byte 1F and user_id: shows a subject that he was erased, names nobody.';

create table pgmem.imported (
  id              uuid not null,
  node_seq        bigint not null references pgmem.node on delete cascade,
  primary key (id, node_seq)
);
comment on table pgmem.imported is
  'Ids that nodes have in the files they were imported from, where they are not their own: the name or content was here already.';
create index imported_node on pgmem.imported (node_seq);

-- A name finds its node at any size of the store; case, hyphens and underscores do not count.
create index node_name on pgmem.node (hashtextextended(lower(translate(coalesce(key, title), '-_', '  ')), 0));

alter table pgmem.setting add constraint decay_never_grows check (
  name not in ('decay_rate', 'decay_max_age_days') or value::float8 between 0 and 1000000);
"""

VOCABULARY = """
insert into pgmem.label (name, key_field, title_field, text_fields, dedup, kind, verb, vocabulary)
select name, field, field, '{summary,description,details,notes,rationale,solution,context,body,tags}', 'key', 'memory',
       case name when 'Insight' then 'reflect' end, 'engrama'
from (
  select name, 'title' as field from unnest('{Experiment,Vulnerability,Decision,Problem,Exercise,Photo,Insight}'::text[]) as name
  union all
  select name, 'name' from unnest('{Project,Concept,Technology,Person,Domain,Client,Target,Technique,Tool,CTF,Course,
    Material,Location,Species,Gear,Model,Dataset,Pipeline}'::text[]) as name) vocabulary
on conflict do nothing;

insert into pgmem.relation (name, vocabulary)
select name, 'engrama' from unnest('{INSTANCE_OF,COMPOSED_OF,PERFORMS,SOLVED_BY,SERVES,BELONGS_TO,IN_DOMAIN,USES,INFORMED_BY,HAS,
  APPLIES,IMPLEMENTS,INVOLVES,FOR,DEPENDS_ON,SIMILAR_TO,CAUSED_BY,REPLACES,RELATED_TO,SUBSET_OF,CONTRADICTS,LINKS_TO,EXPLOITS,
  EXECUTED_WITH,TARGETS,DOCUMENTS,COVERS,TEACHES,INCLUDES,ORIGIN_OF,PRACTICES,REQUIRES,PREREQUISITE_OF,HAS_MATERIAL,TAKEN_AT,
  FEATURES,SHOT_WITH,INHABITS,TRAINS_ON,RUNS,EVALUATES,FEEDS,ABOUT}'::text[]) as name
on conflict do nothing;
"""
