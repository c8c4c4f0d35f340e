"""Alembic's entry: the connection, and the transaction around it, come from `pgmem.install.schema`."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table="alembic_version",
    version_table_schema="pgmem",
)
context.run_migrations()
