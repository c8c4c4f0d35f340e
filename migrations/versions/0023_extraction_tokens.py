"""The tokens that a tenant's extractions cost in a day, which all workers share, and the most that they may."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0023", "0022"


def upgrade() -> None:
    run(op.get_bind(), TABLE)
    run(op.get_bind(), SETTING)


TABLE = """
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

SETTING = """
alter table pgmem.setting add constraint tokens_are_a_whole_number
  check (name <> 'extraction_tokens' or value ~ '^[0-9]{1,9}$');
insert into pgmem.setting (name, value, description) values
  ('extraction_tokens', '50000', 'Tokens that the workers of a tenant spend on the model of PGMEM_EXTRACTION_MODEL in a day.')
on conflict (name) do nothing;
"""
