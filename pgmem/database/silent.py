"""Tenants whose cell does not answer, behind a front that does: one call asks again, the others do not wait for it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from time import monotonic

import psycopg

from pgmem.errors import CellSilent

NO_CELL = "The cell of this organisation does not answer."
"""As a front says it (front.raise_again)."""
_PAUSE_S = 2.0  # between two calls that ask
_REST_S = 30.0  # more, until a call of another tenant asks
_LONGEST_S = 60.0  # that a call which asks keeps the others from asking


class Silent:
    """Remembers which tenants got no answer. A front knows the cell of a tenant, its clients do not."""

    def __init__(self) -> None:
        self._ask_at: dict[Hashable, float] = {}

    @contextmanager
    def asking(self, tenant: Hashable) -> Iterator[None]:
        """Make a call of a tenant in this block, unless its last one got no answer and another one asks.

        Raises:
            CellSilent: so it is; or the call raised it.
        """
        asks = tenant in self._ask_at
        if asks and monotonic() < self._ask_at[tenant]:
            raise CellSilent(NO_CELL)
        if asks:
            self._ask_at[tenant] = monotonic() + _LONGEST_S
        try:
            yield
        except CellSilent:
            self._ask_at[tenant] = monotonic() + _PAUSE_S
            raise
        except BaseException as error:
            if isinstance(error, psycopg.Error) and (error.sqlstate or "").startswith("PM"):
                self._ask_at.pop(tenant, None)  # the cell answered: it refuses the call
            elif asks:  # whatever ended it, the cell has not answered yet
                self._ask_at[tenant] = monotonic() + _PAUSE_S
            raise
        self._ask_at.pop(tenant, None)

    def rests(self, tenant: Hashable) -> bool:
        """Whether a call of another tenant is not to ask for this one, whose last call got no answer."""
        return monotonic() < self._ask_at.get(tenant, -_REST_S) + _REST_S

    def __contains__(self, tenant: Hashable) -> bool:
        """Whether a tenant has got no answer since its last one."""
        return tenant in self._ask_at
