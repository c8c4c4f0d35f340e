"""How many reviews of one agent may be open."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261126_reviews", "20261126_exchange"


def upgrade() -> None:
    run(op.get_bind(), SETTING)


SETTING = """
insert into pgmem.setting (name, value, description) values
  ('max_open_reviews', '200', 'Saves and changes of one agent that may wait for a person; more are refused, those of persons are not counted.');
alter table pgmem.setting add constraint open_reviews_in_range check (
  name <> 'max_open_reviews' or value::integer between 1 and 100000);
"""
