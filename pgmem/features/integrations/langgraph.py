"""A store of LangGraph over the memory: `BaseStore`, with search by vectors and items that expire."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

from pgmem.errors import InvalidArgument, PgmemError, summary
from pgmem.features.integrations import extra
from pgmem.features.integrations.reach import Reach
from pgmem.memory import Memory
from pgmem.models import FoundItem
from pgmem.models import Item as StoredValue
from pgmem.sync import Memory as SyncMemory

with extra("langgraph"):
    from langgraph.store.base import (
        BaseStore,
        Embeddings,
        GetOp,
        IndexConfig,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        ensure_embeddings,
        get_text_at_path,
    )

log = logging.getLogger("pgmem")

_AT_ONCE = 2000  # operations of several callers that are carried out together

Metric = Literal["cosine", "inner_product", "l2"]


@dataclass(slots=True)
class _Waiting:
    """The operations of a caller, and the future of their results."""

    ops: list[Op]
    done: asyncio.Future[list[Result]]


@dataclass(slots=True)
class _Texts:
    """The texts that are to be embedded, each once, in their order."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


class PgmemStore(BaseStore):
    """A store whose items are memories: searched, dated, kept apart by tenant, exported.

    A delete hides an item, and `revert` brings it back. An item that has expired is never returned; `sweep_ttl` deletes
    it for good. Without an index, `query` ranks by words.

    ```python
    with pgmem.sync.Memory.connect() as memory:
        graph = builder.compile(store=PgmemStore(memory))
    ```

    Args:
        memory: an open `pgmem.Memory`, in whose event loop the store is made, or a `pgmem.sync.Memory`; with the latter
            the store can be used from any thread and loop.
        index: dims, embed and fields, as for the other stores; None: no vectors. `distance_type` may be cosine,
            inner_product or l2.
        ttl: default_ttl, refresh_on_read and sweep_interval_minutes; None: nothing expires by default.
        project_id: the project that the items belong to; None: none.

    Raises:
        InvalidArgument: the index has no `dims` or `embed`, or an unknown `distance_type`.
    """

    supports_ttl = True
    __slots__ = (
        "_embeddings",
        "_fields",
        "_metric",
        "_project_id",
        "_reach",
        "_sweeper",
        "_task",
        "_waiting",
        "index_config",
        "ttl_config",
    )

    def __init__(
        self,
        memory: Memory | SyncMemory,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        project_id: str | None = None,
    ) -> None:
        super().__init__()
        self.index_config = index
        self.ttl_config = ttl
        self._project_id = project_id
        self._reach = Reach(memory)
        self._waiting: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None
        self._sweeper: Future[None] | None = None
        self._embeddings: Embeddings | None = None
        self._fields: list[str] = []
        self._metric: Metric = "cosine"
        if index is not None:
            if "dims" not in index or "embed" not in index:
                raise InvalidArgument("index needs dims and embed: send both, or no index.")
            self._embeddings = ensure_embeddings(index["embed"])
            self._fields = list(index.get("fields") or ["$"])
            self._metric = _metric(index)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations; all reads come before all writes, and of several writes of a key the last one holds.

        Raises:
            asyncio.InvalidStateError: called in the event loop of the memory; await `abatch` there.
            InvalidArgument: an operation cannot be carried out; the message says why. Nothing is written then.
        """
        return self._reach.called(self._join, list(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations as `batch`. Those of callers that wait at the same time go together."""
        return await self._reach.awaited(self._join, list(ops))

    def sweep_ttl(self) -> int:
        """Delete expired items for good; returns how many items."""
        return self._reach.called(self._sweep)

    async def asweep_ttl(self) -> int:
        """Delete expired items for good; returns how many items."""
        return await self._reach.awaited(self._sweep)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Sweep again and again until `stop_ttl_sweeper`.

        Args:
            sweep_interval_minutes: how often; None takes that of the ttl config, else 5.
        """
        minutes = sweep_interval_minutes or (self.ttl_config or {}).get("sweep_interval_minutes") or 5
        if self._sweeper is None or self._sweeper.done():
            self._sweeper = self._reach.start(self._sweep_every, float(minutes) * 60)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:  # noqa: ARG002
        """Sweep no more; True: it is stopped. The argument is that of the other stores."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        return True

    async def _sweep(self) -> int:
        swept = 0
        while deleted := await self._reach.memory.sweep_items():
            swept += deleted
        return swept

    async def _sweep_every(self, seconds: float) -> None:
        await self._reach.memory.caller.database.beside.begin(self._sweep_again_and_again(seconds))

    async def _sweep_again_and_again(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await self._sweep()
            except PgmemError as error:
                log.warning("expired items are not swept: %s", summary(error))

    async def _join(self, ops: list[Op]) -> list[Result]:
        """Wait for the next turn, which carries out the operations of all who wait."""
        waiting = _Waiting(ops, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._task is None or self._task.done():
            self._task = self._reach.memory.caller.database.beside.begin(self._take_turns())
        return await waiting.done

    async def _take_turns(self) -> None:
        while self._waiting:
            taken, count = [], 0
            while self._waiting and count < _AT_ONCE:
                taken.append(self._waiting.pop(0))
                count += len(taken[-1].ops)
            await self._turn(taken)

    async def _turn(self, taken: list[_Waiting]) -> None:
        """Carry out the operations of several callers together; where that fails, those of each alone."""
        try:
            results = iter(await self._carry_out([op for one in taken for op in one.ops]))
        except Exception as error:
            if len(taken) == 1:
                _fail(taken[0], error)
                return
            for one in taken:
                await self._turn([one])
        except BaseException as error:
            for one in taken:
                _fail(one, error)
            raise
        else:
            for one in taken:
                if not one.done.done():
                    one.done.set_result(list(islice(results, len(one.ops))))
                else:
                    list(islice(results, len(one.ops)))

    async def _carry_out(self, ops: Sequence[Op]) -> list[Result]:
        results: list[Result] = [None] * len(ops)
        await self._get({n: op for n, op in enumerate(ops) if isinstance(op, GetOp)}, results)
        await self._search({n: op for n, op in enumerate(ops) if isinstance(op, SearchOp)}, results)
        await self._list({n: op for n, op in enumerate(ops) if isinstance(op, ListNamespacesOp)}, results)
        await self._put([op for op in ops if isinstance(op, PutOp)])
        return results

    async def _get(self, ops: dict[int, GetOp], results: list[Result]) -> None:
        if not ops:
            return
        wanted = {(op.namespace, op.key): 0 for op in ops.values()}
        keys = [{"namespace": list(namespace), "name": key} for namespace, key in wanted]
        rows = await self._reach.memory.get_items(keys, project_id=self._project_id)
        found = {(tuple(row.namespace), row.name): row for row in rows}
        renewed = []
        for number, op in ops.items():
            if (row := found.get((tuple(op.namespace), op.key))) is not None:
                results[number] = Item(**_fields(row))
                if op.refresh_ttl:
                    renewed.append(row)
        await self._renew(renewed)

    async def _search(self, ops: dict[int, SearchOp], results: list[Result]) -> None:
        vectors = await self._vectors([op.query for op in ops.values() if op.query])
        answers: dict[str, list[FoundItem]] = {}
        renewed = []
        for number, op in ops.items():
            asked = repr(op)
            if asked not in answers:
                answers[asked] = await self._reach.memory.search_items(
                    list(op.namespace_prefix),
                    op.filter,
                    op.query or None,
                    vectors.get(op.query or ""),
                    self._metric,
                    op.limit,
                    op.offset,
                    project_id=self._project_id,
                )
            rows = answers[asked]
            results[number] = [SearchItem(**_fields(row), score=row.score) for row in rows]
            if op.refresh_ttl:
                renewed += rows
        await self._renew(renewed)

    async def _renew(self, rows: Sequence[StoredValue]) -> None:
        ids = {row.id for row in rows if row.ttl_minutes is not None}
        if ids:
            await self._reach.memory.renew_items(sorted(ids))

    async def _list(self, ops: dict[int, ListNamespacesOp], results: list[Result]) -> None:
        answers: dict[str, list[tuple[str, ...]]] = {}
        for number, op in ops.items():
            asked = repr(op)
            if asked not in answers:
                rows = await self._reach.memory.list_item_namespaces(
                    [{"match_type": c.match_type, "path": list(c.path)} for c in op.match_conditions or ()],
                    op.max_depth,
                    op.limit,
                    op.offset,
                    project_id=self._project_id,
                )
                answers[asked] = [tuple(row.namespace) for row in rows]
            results[number] = list(answers[asked])

    async def _put(self, ops: list[PutOp]) -> None:
        last = {(tuple(op.namespace), op.key): op for op in ops}
        if not last:
            return
        texts = _Texts()
        indexed = {key: [texts.number(text) for text in self._texts(op)] for key, op in last.items()}
        vectors = await self._embedded(list(texts.numbers))
        items = [
            {
                "namespace": list(op.namespace),
                "name": op.key,
                "value": op.value,
                "ttl": op.ttl,
                "vectors": [vectors[number] for number in indexed[key]],
            }
            for key, op in last.items()
        ]
        await self._reach.memory.put_items(items, project_id=self._project_id)

    def _texts(self, op: PutOp) -> list[str]:
        """Return the texts of an item that are indexed."""
        if self._embeddings is None or op.value is None or op.index is False:
            return []
        paths = self._fields if op.index is None else op.index
        return [text for path in paths for text in get_text_at_path(op.value, path)]

    async def _embedded(self, texts: list[str]) -> list[list[float]]:
        if not texts or self._embeddings is None:
            return []
        return [_floats(vector) for vector in await self._embeddings.aembed_documents(texts)]

    async def _vectors(self, queries: list[str]) -> dict[str, list[float]]:
        if self._embeddings is None:
            return {}
        return {
            query: _floats(await self._embeddings.aembed_query(query)) for query in dict.fromkeys(queries)
        }


def _metric(index: IndexConfig) -> Metric:
    chosen = index.get("distance_type") or "cosine"
    if chosen not in ("cosine", "inner_product", "l2"):
        raise InvalidArgument(f"distance_type is cosine, inner_product or l2, not {chosen}.")
    return chosen


def _fields(row: StoredValue) -> dict[str, Any]:
    """Return the fields that an item of LangGraph takes."""
    return {
        "value": row.value,
        "key": row.name,
        "namespace": tuple(row.namespace),
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


def _floats(vector: Iterable[float]) -> list[float]:
    return [float(x) for x in vector]


def _fail(waiting: _Waiting, error: BaseException) -> None:
    if waiting.done.done():
        return
    if isinstance(error, asyncio.CancelledError):
        waiting.done.cancel()
    else:
        waiting.done.set_exception(error)
