"""Models that run in this process; a thread loads the model when the first text comes."""

from __future__ import annotations

import importlib
import logging
from abc import abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock, Thread
from time import monotonic
from types import ModuleType
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from pgmem.embeddings.base import BaseProvider, batches
from pgmem.embeddings.protocol import EmbeddingError
from pgmem.embeddings.vectors import unit_rows

if TYPE_CHECKING:
    from pgmem.embeddings.vectors import Rows

    Encoder = Callable[[list[str]], Rows]
    """Takes texts and returns a row for each. Called from several threads at once."""

logger = logging.getLogger("pgmem.embeddings")

PAUSE: Final = 60.0
"""Seconds after a failed load during which each call fails at once, with the same message."""


class LocalProvider(BaseProvider):
    """Loads its model once, in the background, when the first text comes.

    Calls wait until `timeout` seconds after the load began; later calls fail at once until the model is loaded. The
    loading thread is a daemon, so a download that hangs delays neither a caller nor the exit.
    """

    batch_size = 256
    inline_characters = 0
    """Up to this many characters together, texts are embedded on the event loop: for models that take less time than
    a switch of threads."""

    def __init__(self, *, model: str, dimensions: int, timeout: float = 30.0) -> None:
        """Set the stored name, the length of the vectors, and the seconds that a call waits for the load."""
        super().__init__(model=model, dimensions=dimensions)
        self.timeout = timeout
        self._lock = Lock()
        self._loading: Future[Encoder] | None = None
        self._wait_until = self._retry_at = 0.0

    @abstractmethod
    def _load(self) -> Encoder:
        """Import the libraries and read the model. Runs in its own thread.

        Raises:
            EmbeddingError: with a message for the user; any other exception is wrapped in one.
        """

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        encode = await self._loaded()
        if sum(map(len, texts)) <= self.inline_characters:
            return self._encode(encode, texts)
        vectors: list[list[float]] = []
        for batch in batches(texts, self.batch_size):
            vectors += await to_thread.run_sync(self._encode, encode, batch, abandon_on_cancel=True)
        return vectors

    def _encode(self, encode: Encoder, texts: list[str]) -> list[list[float]]:
        try:
            rows = encode(texts)
        except Exception as exc:
            raise EmbeddingError(f"{self.model}: the model failed ({type(exc).__name__})") from exc
        return unit_rows(rows, count=len(texts), dimensions=self.dimensions, model=self.model)

    async def _loaded(self) -> Encoder:
        loading = self._start()
        patience = max(0.0, self._wait_until - monotonic())
        try:
            if loading.done() or not patience:
                return loading.result(timeout=0)
            return await to_thread.run_sync(loading.result, patience, abandon_on_cancel=True)
        except TimeoutError:
            late = f"{self.model}: the model is still loading after {self.timeout:g} s (EMBEDDING_TIMEOUT)"
            raise EmbeddingError(late, transient=True) from None
        except (
            EmbeddingError
        ) as exc:  # a new one, because several tasks must not raise the same exception object
            raise EmbeddingError(str(exc), transient=exc.transient) from exc

    def _start(self) -> Future[Encoder]:
        """Return the load that is finished or running; begin one if there is none or the last one failed long ago."""
        with self._lock:
            loading = self._loading
            if loading and loading.done() and loading.exception() and monotonic() >= self._retry_at:
                loading = None
            if loading is None:
                loading = self._loading = Future()
                self._wait_until = monotonic() + self.timeout
                Thread(target=self._fill, args=(loading,), name=f"load {self.model}", daemon=True).start()
            return loading

    def _fill(self, loading: Future[Encoder]) -> None:
        started = monotonic()
        try:
            encode = self._load()
        except BaseException as exc:
            error = exc
            if not isinstance(exc, EmbeddingError):
                what = f"{self.model}: the model could not be loaded ({type(exc).__name__})"
                error = EmbeddingError(what, transient=True)
                error.__cause__ = exc
            self._retry_at = monotonic() + PAUSE
            loading.set_exception(error)
        else:
            logger.info("%s loaded in %.2f s", self.model, monotonic() - started)
            loading.set_result(encode)


def require(module: str, provider: str) -> ModuleType:
    """Import a library of a provider, which an extra of the provider's name installs.

    Raises:
        EmbeddingError: the library is missing (the message says what to install) or broken.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as exc:
        if exc.name != module.partition(".")[0]:
            raise EmbeddingError(f"{module} cannot be imported: it lacks {exc.name}") from exc
        extra = provider.replace("_", "-")
        raise EmbeddingError(
            f"EMBEDDING_PROVIDER={provider} needs the library {module}: pip install 'pgmem-agent[{extra}]'"
        ) from None
    except Exception as exc:
        raise EmbeddingError(f"{module} is installed but cannot be imported ({type(exc).__name__})") from exc
