"""Events of rules and errors at the act, and sessions that a coin gave a memory or none."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261127_acts", "20261127_languages"


def upgrade() -> None:
    run(op.get_bind(), TABLES + SETTING)


TABLES = """
create table pgmem.act_event (
  seq             bigint generated always as identity primary key,
  at              timestamptz not null,
  act             text not null constraint act_known check (act in ('met', 'done', 'failed')),
  key             text not null,
  memory_ids      uuid[] not null,
  project         text,
  session_id      text,
  agent_id        text,
  tenant          text not null
);
comment on table pgmem.act_event is 'One row for each command that a rule met, that ran all the same, and that failed; kept for recall_days.';
comment on column pgmem.act_event.act is 'met: rules came before a command; done: it ran all the same; failed: a command failed.';
comment on column pgmem.act_event.key is 'A digest of the command, or of the error: the same for one that comes again.';
comment on column pgmem.act_event.memory_ids is 'The rules that it met, or the memories that came with the error.';
comment on column pgmem.act_event.session_id is 'The conversation, as of its turns; null: not known.';
comment on column pgmem.act_event.tenant is 'The tenant of the caller.';
create index act_event_key on pgmem.act_event (tenant, act, key, at);
create index act_event_at on pgmem.act_event (tenant, at);
create index act_event_age on pgmem.act_event (at);
alter table pgmem.act_event enable row level security;
revoke all on pgmem.act_event from public;

create table pgmem.trial_session (
  tenant          text not null,
  session_id      text not null,
  project         text,
  arm             text not null constraint arm_known check (arm in ('with', 'without')),
  begun_at        timestamptz not null,
  prompts         integer not null default 0,
  tokens          bigint,
  failed          integer not null default 0,
  repeated        integer not null default 0,
  primary key (tenant, session_id)
);
comment on table pgmem.trial_session is 'One row for each session of a trial of the memory, by the arm that a coin gave it.';
comment on column pgmem.trial_session.arm is 'with: hooks bring memories; without: they bring nothing.';
comment on column pgmem.trial_session.tokens is 'Tokens that its transcript counts; null: it counts none.';
comment on column pgmem.trial_session.failed is 'How many commands failed.';
comment on column pgmem.trial_session.repeated is 'How many of them with an error that an earlier session had.';
create index trial_session_at on pgmem.trial_session (tenant, begun_at);
alter table pgmem.trial_session enable row level security;
revoke all on pgmem.trial_session from public;
"""

SETTING = """
insert into pgmem.setting (name, value, description) values
  ('memory_trial', 'off', 'on: a coin gives each session of a client its memories or none, and pgmem balance compares them.');
alter table pgmem.setting add constraint trial_known check (name <> 'memory_trial' or value in ('on', 'off'));
"""
