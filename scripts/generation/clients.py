"""pgmem/calls/admin.py, the verbs of operators, and pgmem/sync/methods.py, the verbs without await."""

from __future__ import annotations

from generation import methods
from generation.catalog import Verb
from generation.code import WRITTEN, formatted

__all__ = ["admin", "sync"]

ADMIN = '''\
"""The verbs of operators as a separate class; each calls the method of `Memory`.

{written}
"""

from __future__ import annotations

from pgmem.calls.operators import Operators, of
from pgmem.calls.methods import Verbs

__all__ = ["Admin"]


class Admin(Operators):
    """The verbs of operators over a memory: `memory.admin`."""

{operators}
'''

SYNC = '''\
"""The verbs as methods that need no await; each runs the method of `pgmem.Memory` in a thread.

{written}
"""

from __future__ import annotations

from pgmem.calls import methods
from pgmem.memory import Memory
from pgmem.sync.thread import Operations, Portal, waiting

__all__ = ["Admin", "Verbs"]


class Verbs(Portal):
    """The verbs of agents; `pgmem.sync.Memory` inherits them."""

{agents}


class Admin(Operations):
    """The verbs of operators over a memory: `memory.admin`."""

{operators}
'''


def admin(verbs: list[Verb]) -> str:
    """Return the module of the operators' verbs."""
    return formatted(
        ADMIN.format(written=WRITTEN, operators=_members(verbs, "of(Verbs.{0})", operators=True))
    )


def sync(verbs: list[Verb]) -> str:
    """Return the module of the verbs without await."""
    agents, operators = (_members(verbs, "waiting({1}.{0})", operators=chosen) for chosen in (False, True))
    return formatted(SYNC.format(written=WRITTEN, agents=agents, operators=operators))


def _members(verbs: list[Verb], value: str, *, operators: bool) -> str:
    """Return a line for each verb of operators, or for each of all others."""
    core = {verb.name for verb in verbs if verb.name not in methods.AROUND or verb.name in methods.OF_CORE}
    return "\n".join(
        f"    {verb.name} = {value.format(verb.name, 'methods.Verbs' if verb.name in core else 'Memory')}"
        for verb in verbs
        if verb.answer and (verb.rights in methods.OPERATORS) == operators
    )
