"""The identity of a caller, and the settings of a session: every transaction sets both before it calls a verb.

This module imports nothing but the standard library, because `pgmem surface` starts at every edit in an editor.
"""

from __future__ import annotations

from typing import LiteralString, NamedTuple, TypeAlias


class Identity(NamedTuple):
    """The caller of a verb and its origin; the fields are the values of the SET statements below.

    Attributes:
        org_id: organisation; with `user_id` the tenant.
        user_id: user.
        agent_id: agent that writes, for provenance.
        session_id: session that writes, for provenance.
        source: the way in: cli, mcp, sdk or sync.
        made_at: ISO 8601 time at which a replayed save was made; empty means now.
    """

    org_id: str = ""
    user_id: str = ""
    agent_id: str = ""
    session_id: str = ""
    source: str = "sdk"
    made_at: str = ""


_FIELDS: tuple[LiteralString, ...] = Identity._fields
SET_FOR_TRANSACTION: LiteralString = "select " + ", ".join(
    f"pg_catalog.set_config('pgmem.{name}', %s, true)" for name in _FIELDS
)
"""Sets an `Identity`, the parameters of this statement, until the transaction ends."""

BEGIN: LiteralString = "begin isolation level read committed"
"""Begins a transaction that may write, whatever isolation the database or the role has as its default."""
READ_COMMITTED: LiteralString = "set transaction_isolation = 'read committed'"
"""The same as the first statement of one round trip; the next transaction has its default again."""

_PINNED: dict[LiteralString, LiteralString] = {
    "timezone": "UTC",  # a time without a zone is one of UTC
    "datestyle": "ISO, YMD",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "array_nulls": "on",
    "quote_all_identifiers": "off",
    "search_path": "pg_catalog, pg_temp",
    "row_security": "on",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
"""The settings that a database or a role may have otherwise, and on which a value or a statement of pgmem depends."""
_AS_TEXT = ("timezone", "datestyle", "intervalstyle", "extra_float_digits", "bytea_output")

# PostgreSQL 17 brought the last one.
_PIN: LiteralString = (
    ", ".join(f"pg_catalog.set_config('{name}', '{value}', true)" for name, value in _PINNED.items())
    + ", case when pg_catalog.current_setting('server_version_num')::pg_catalog.int4 >= 170000"
    " then pg_catalog.set_config('transaction_timeout', '0', true) end"
)
PIN: LiteralString = f"select {_PIN}"
"""Sets them until the transaction ends."""
AS_TEXT: LiteralString = "; ".join(f"set local {name} = '{_PINNED[name]}'" for name in _AS_TEXT)
"""Those that decide how a value is written as text: rows of two databases are compared by their texts."""

# JIT is off because compilation takes longer than any statement here runs.
_OPENING: LiteralString = (
    f"{SET_FOR_TRANSACTION}, {_PIN}, pg_catalog.set_config('jit', 'off', true),"
    " pg_catalog.set_config('statement_timeout', %s, true)"
)


Opening: TypeAlias = tuple[LiteralString, tuple[str, ...]]
"""A statement and its parameters."""


def opening(identity: Identity, timeout_s: float) -> Opening:
    """Return the first statement of a transaction and its parameters: identity, settings, statement timeout.

    It is a separate statement: a timeout that is set inside a function does not stop the running call.

    Args:
        identity: the caller.
        timeout_s: seconds that each later statement may take.
    """
    return _OPENING, (*identity, str(int(timeout_s * 1000)))
