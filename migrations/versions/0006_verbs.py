"""The verbs as they are declared, and the heads of the installed functions."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0006", "0005"


def upgrade() -> None:
    run(op.get_bind(), TABLES + REGISTRY)


TABLES = """
create table pgmem.verb (
  name            text primary key,
  place           integer not null unique,
  chapter         text not null,
  rights          text not null check (rights in ('reader', 'writer', 'reviewer', 'worker', 'owner')),
  effect          text not null check (effect in ('read', 'look', 'write', 'repeat', 'remove')),
  toolset         text check (toolset in ('core', 'graph', 'quality', 'cards')),
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
"""

# The rules is_memory and is_live are constants in sql/05-truth: the registry repeated them and nothing read it.
REGISTRY = """
alter table pgmem.label drop column kind, drop column live_statuses;
"""
