"""The identity of a caller: settings `pgmem.*` that every transaction sets before it calls a verb.

This module imports nothing but the standard library, because `pgmem surface` starts at every edit in an editor.
"""

from __future__ import annotations

from typing import LiteralString, NamedTuple, TypeAlias


class Identity(NamedTuple):
    """The caller of a verb and the origin of what it writes; the fields are the values of the SET statements below.

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
    f"set_config('pgmem.{name}', %s, true)" for name in _FIELDS
)
"""Sets an `Identity`, the parameters of this statement, until the transaction ends."""

# JIT is off because compilation takes longer than any statement here runs.
_OPENING: LiteralString = (
    f"{SET_FOR_TRANSACTION}, set_config('jit', 'off', true), set_config('statement_timeout', %s, true)"
)


Opening: TypeAlias = tuple[LiteralString, tuple[str, ...]]
"""A statement and its parameters."""


def opening(identity: Identity, timeout_s: float) -> Opening:
    """Return the first statement of a transaction and its parameters: identity, no JIT, statement timeout.

    It is a separate statement: a timeout that is set inside a function does not stop the running call.

    Args:
        identity: the caller.
        timeout_s: seconds that each later statement may take.
    """
    return _OPENING, (*identity, str(int(timeout_s * 1000)))
