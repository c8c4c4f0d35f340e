"""Kinds of memory: the registry of labels says how each is saved, and a table has their fields."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261123_kinds", "20261123_step_end"


def upgrade() -> None:
    run(op.get_bind(), KINDS)


KINDS = """
alter table pgmem.label
  add column opens_project boolean not null default false,
  add column named_only boolean not null default false,
  add column repeats text[] not null default '{}',
  add column stored_by text;
update pgmem.label set named_only = true where name = 'Card';
comment on column pgmem.label.opens_project is 'Whether its save verb creates the project that it names.';
comment on column pgmem.label.repeats is 'The fields by which a repeat is known: a memory that has them is not stored again.';
comment on column pgmem.label.stored_by is 'The function that stores what the save verb was sent; null: the kind has none.';
comment on column pgmem.label.named_only is 'Whether a search or a context holds it only where the label is named.';

create table pgmem.field (
  label    text not null references pgmem.label (name) on update cascade on delete cascade,
  place    integer not null,
  name     text not null,
  type     text not null,
  meaning  text not null,
  required boolean not null,
  kept     text not null,
  starts   text,
  hidden   boolean not null,
  approved boolean not null,
  option   text,
  query    text,
  primary key (label, name),
  constraint field_kept_known check (kept in ('property', 'title', 'key', 'valid_from', 'confidence', 'nothing', 'view'))
);
comment on table pgmem.field is 'The fields of the kinds of memory that have a save verb, as their chapters declare them.';
comment on column pgmem.field.label is 'The kind of memory, such as Decision.';
comment on column pgmem.field.place is 'Its place among the fields of its kind, from 1 on.';
comment on column pgmem.field.name is 'The argument without p_, the property, and the column of the view.';
comment on column pgmem.field.type is 'text, texts, title, key, date, time, or a type of arguments in schema pgmem.';
comment on column pgmem.field.meaning is 'What it means, in a sentence.';
comment on column pgmem.field.required is 'Whether a save must send it.';
comment on column pgmem.field.kept is 'Where it is kept: property, title, key, valid_from, confidence, nothing; view: computed.';
comment on column pgmem.field.starts is 'Its value where a save sends none: a default in SQL, or today or now.';
comment on column pgmem.field.hidden is 'Whether tools leave it out of their list.';
comment on column pgmem.field.approved is 'Whether a person who approves a global save must have seen its text.';
comment on column pgmem.field.option is 'Its name on the command line, if another than its own.';
comment on column pgmem.field.query is 'The expression of its column in the view, if it is not read from the property.';
"""
