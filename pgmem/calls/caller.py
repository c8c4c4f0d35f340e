"""A caller of verbs: the database, the provider of embeddings, and how an answer is read."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

import anyio
import psycopg

from pgmem._verbs import VERBS
from pgmem.calls.secrets import scrubbed
from pgmem.database.call import build
from pgmem.database.database import Database
from pgmem.embeddings.none import NullProvider
from pgmem.embeddings.protocol import EmbeddingProvider, NamedProvider, named
from pgmem.embeddings.text import node_text, save_text, text_hash, vectors_of
from pgmem.errors import PgmemError, summary

log = logging.getLogger("pgmem")

T = TypeVar("T")
L = TypeVar("L")
_PATIENCE_S = {"report": 600.0, "rebuild": 3600.0}
"""Seconds for verbs that read or write a large part of a store."""


@dataclass
class Logged:
    """Log lines that memories of one database and provider write once, not at each save."""

    no_vector: bool = False
    """The last save got no vector."""
    unsent: bool = False
    """The last save could not be sent."""

    def level(self, what: Literal["no_vector", "unsent"]) -> int:
        """Return the level at which to log an event: a warning where it has not happened just before."""
        level = logging.DEBUG if getattr(self, what) else logging.WARNING
        setattr(self, what, True)
        return level


class Caller:
    """Calls verbs over one database and reads their answers.

    Args:
        database: where the verbs are called.
        embedder: the provider of embeddings; None means no vectors.
    """

    def __init__(self, database: Database, embedder: EmbeddingProvider | None = None) -> None:
        self.database = database
        self.embedder: NamedProvider = NullProvider() if embedder is None else named(embedder)
        self.logged = Logged()

    def _patience_s(self, verb: str) -> float | None:
        """Return the seconds that a call of the verb may take; None means `write_timeout_s`."""
        patience = VERBS[verb].patience
        if patience == "answer":
            return self.database.settings.retrieval_timeout_s
        return _PATIENCE_S.get(patience or "")

    async def rows(self, verb: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Call a verb and return its rows."""
        return await self.database.rows(verb, self._patience_s(verb), **self.scrubbed(verb, params))

    def scrubbed(self, verb: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments without secrets, as `PGMEM_SCRUB_SECRETS` says, if the verb stores any of them.

        A verb that removes a memory stores nothing, so a memory whose name holds a secret can be forgotten by its name.
        Turns are captured without anybody looking at them, so their secrets are redacted unless they are refused.

        Raises:
            InvalidArgument: a text holds a secret, and secrets are refused.
        """
        if VERBS[verb].effect not in ("write", "repeat"):
            return dict(params)
        mode = self.database.settings.scrub_secrets
        if mode == "agents":
            mode = "redact" if self.database.source == "mcp" else "off"
        return scrubbed(params, "redact" if verb == "capture_turns" and mode == "off" else mode)

    async def one(self, verb: str, cls: type[T], params: Mapping[str, Any]) -> T:
        """Call a verb that returns one row, and return it as `cls`."""
        return build(cls, (await self.rows(verb, params))[0])

    async def first(self, verb: str, cls: type[T], params: Mapping[str, Any]) -> T | None:
        """Call a verb that returns one row or none, and return it as `cls`."""
        return next((build(cls, row) for row in await self.rows(verb, params)), None)

    async def all(self, verb: str, cls: type[T], params: Mapping[str, Any]) -> list[T]:
        """Call a verb that returns a set, and return its rows as `cls`."""
        return [build(cls, row) for row in await self.rows(verb, params)]

    async def listed(self, verb: str, cls: type[L], row: type[T], params: Mapping[str, Any]) -> L:
        """Call a verb that returns a set, and return its rows as a class whose only field is their list."""
        (field,) = fields(cls)  # type: ignore[arg-type]
        return cls(**{field.name: await self.all(verb, row, params)})

    async def value(self, verb: str, cls: type[T], params: Mapping[str, Any]) -> T:
        """Call a verb that returns one value, and return it as `cls`."""
        (value,) = (await self.rows(verb, params))[0].values()
        return build(cls, value)

    async def embedding(self, verb: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments that carry the vector of a save; none if the provider fails: the save goes on."""
        if self.embedder.dimensions == 0:
            return {}
        patience = self.database.settings.embedding_patience_s
        try:
            text = await self._text(verb, params, patience)
            if text is None:
                return {}
            with anyio.fail_after(patience):
                (vector,) = await vectors_of(self.embedder, [text])
        except (PgmemError, psycopg.Error, TimeoutError) as error:
            level = self.logged.level("no_vector")
            log.log(level, "saved without a vector, the worker embeds: %s", summary(error))
            return {}
        self.logged.no_vector = False
        if not vector:
            return {}
        return {
            "embedding": vector,
            "embedding_model": self.embedder.model,
            "embedding_text_hash": text_hash(text),
        }

    async def _text(self, verb: str, params: Mapping[str, Any], timeout_s: float) -> str | None:
        """Return the text of a save as the database stores it; None if the verb writes no text itself."""
        if verb == "remember":
            name = str(params["label"])
            label = (await self.database.labels(name, timeout_s)).get(name)
            return None if label is None else node_text(label, params["properties"])
        for label in (await self.database.labels(timeout_s=timeout_s)).values():
            if label.is_memory and label.written_by == verb:
                return save_text(label, params)
        return None
