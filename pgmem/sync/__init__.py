"""The Python API for code without await: scripts, notebooks, tests."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from types import TracebackType

from pgmem import memory as awaited
from pgmem.models import MemoryScope
from pgmem.settings import Settings
from pgmem.sync.methods import Admin, Verbs
from pgmem.sync.thread import Thread

__all__ = ["Admin", "Memory"]


class Memory(Verbs):
    """The verbs of agents as methods that wait for their answers; those of operators are in `admin`.

    The memory runs in a separate thread, so it can be used where an event loop runs already, such as in a notebook,
    and from several threads at once.

    ```python
    with Memory.connect() as memory:
        memory.save_session("Set up the service", "shop")
        bundle = memory.retrieve_context("shop", "project")
    ```
    """

    @classmethod
    def connect(
        cls, settings: Settings | str | None = None, *, scope: MemoryScope | None = None, source: str = "sdk"
    ) -> Memory:
        """Return a memory that `with` opens and closes; or call `open` and, in the end, `close`.

        The arguments are those of `pgmem.Memory.connect`.
        """
        memory = cls(Thread())
        memory._opening = lambda: awaited.Memory.connect(settings, scope=scope, source=source)
        return memory

    def open(self) -> Memory:
        """Open the memory and return it; an open one stays as it is. It raises what `pgmem.Memory.connect` does."""
        self.thread.open(self._opening)
        return self

    def close(self) -> None:
        """Close the memory, and all that `acting_as` made of it; a closed one stays as it is."""
        self.thread.close()

    @property
    def dsn(self) -> str:
        """The DSN of the store, for your own connection; an embedded server runs as long as this memory is open."""
        return self.opened.dsn

    @cached_property
    def admin(self) -> Admin:
        """The verbs of operators: settings, tenants, tokens, upkeep and the decisions of people."""
        return Admin(self.thread, self._made)

    def acting_as(
        self, scope: MemoryScope | None = None, *, source: str | None = None, made_at: datetime | None = None
    ) -> Memory:
        """Return a memory over the same database for another user, agent or session, as `pgmem.Memory` does."""
        before = self._made
        other = type(self)(
            self.thread,
            lambda memory: (memory if before is None else before(memory)).acting_as(
                scope, source=source, made_at=made_at
            ),
        )
        other._opening = self._opening
        return other

    def __enter__(self) -> Memory:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
