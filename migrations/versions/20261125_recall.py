"""What was retrieved and injected, what was named as used, wrong or outdated, and how useful each memory has been."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261125_recall", "20261125_states"


def upgrade() -> None:
    run(op.get_bind(), TABLES + SETTINGS)


TABLES = """
create table pgmem.recall_event (
  seq             bigint generated always as identity primary key,
  at              timestamptz not null,
  act             text not null constraint act_known
                    check (act in ('retrieved', 'injected', 'used', 'wrong', 'outdated')),
  by              text not null,
  memory_ids      uuid[] not null,
  tokens          integer,
  project         text,
  session_id      text,
  agent_id        text,
  tenant          text not null
);
comment on table pgmem.recall_event is
  'One row for each answer that brought memories to an agent, and for each memory that was named; kept for recall_days.';
comment on column pgmem.recall_event.at is 'When the answer was given.';
comment on column pgmem.recall_event.act is 'retrieved by a tool, injected by a hook, or named as used, wrong or outdated.';
comment on column pgmem.recall_event.by is 'The tool, or the event of the hook.';
comment on column pgmem.recall_event.memory_ids is 'The memories of the answer, in its order.';
comment on column pgmem.recall_event.tokens is 'How long the answer was, a quarter of its characters.';
comment on column pgmem.recall_event.session_id is 'The conversation, as of its turns; null: not known.';
comment on column pgmem.recall_event.tenant is 'The tenant of the caller.';
create index recall_event_at on pgmem.recall_event (tenant, at);
create index recall_event_age on pgmem.recall_event (at);
create index recall_event_named on pgmem.recall_event ((memory_ids[1]), tenant)
  where act in ('used', 'wrong', 'outdated');
alter table pgmem.recall_event enable row level security;
revoke all on pgmem.recall_event from public;

create table pgmem.usefulness (
  node_seq        bigint not null references pgmem.node (seq) on delete cascade,
  tenant          text not null,
  used            integer not null default 0,
  wrong           integer not null default 0,
  outdated        integer not null default 0,
  value           float8 not null generated always as
                    ((used - wrong - outdated) / (used + wrong + outdated + 2.0)) stored,
  primary key (node_seq, tenant)
);
comment on table pgmem.usefulness is 'How often a memory was named as used, wrong or outdated.';
comment on column pgmem.usefulness.tenant is
  'Whose search it counts for: the tenant of the memory, or of the caller where the memory is not its own.';
comment on column pgmem.usefulness.value is 'Between -1 and 1; two votes each way are taken for granted.';
alter table pgmem.usefulness enable row level security;
revoke all on pgmem.usefulness from public;
"""

SETTINGS = """
insert into pgmem.setting (name, value, description) values
  ('recall_days', '30', 'Days that it is kept what was retrieved, injected and named as used or wrong; 0 records nothing but what is named.'),
  ('feedback_cooldown_hours', '24', 'Hours within which what one agent says of one memory counts once: the last word.'),
  ('hybrid_usefulness_weight', '0.1', 'Weight of how useful a memory was named; 0 turns it off.');
alter table pgmem.setting add constraint recall_in_range check (
  name not in ('recall_days', 'feedback_cooldown_hours') or value::integer between 0 and 3650);
"""
