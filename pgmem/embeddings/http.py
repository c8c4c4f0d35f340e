"""Answers and vectors from an HTTP server: one client, timeouts, retries with backoff, errors without secrets."""

from __future__ import annotations

import logging
import random
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from time import monotonic
from typing import ClassVar, Final

import anyio
import httpx2
from anyio.lowlevel import EventLoopToken, current_token
from pydantic import SecretStr

from pgmem.embeddings.base import BaseProvider, batches
from pgmem.embeddings.protocol import EmbeddingConfigError, EmbeddingError
from pgmem.embeddings.vectors import unit_vectors

logger = logging.getLogger("pgmem.embeddings")

ATTEMPTS: Final = 3
CONNECT_TIMEOUT: Final = 5.0
"""Seconds for the connection alone, so that a host that drops packets does not cost the whole timeout."""
LONGEST_WAIT: Final = 30.0
"""Seconds. If a server asks for a longer wait, the call fails, and the error carries the wait."""
PAUSE: Final = 15.0
"""Seconds after a failed connection during which each call fails at once, with the same message."""
_FIRST_WAIT: Final = 0.25
_WAIT: Final = 8.0
"""Seconds of the first pause between attempts, and the most of a later one."""
_LOOPBACK: Final = {"localhost", "127.0.0.1", "::1"}


class _Unreachable(EmbeddingError):
    """No connection, or no answer in time. Always transient."""


class JsonServer:
    """A server that answers JSON with JSON.

    A request is tried up to three times if the connection fails, it times out, or the answer is 429 or 5xx; Retry-After
    is obeyed; any other refusal is final. Redirects are not followed, so a key reaches no other host. The proxies of
    the environment are used, except for a server on this machine.

    Connections are reused within one event loop; a call from another loop opens new ones.
    """

    url_setting: ClassVar[str]
    """Name of the setting that holds the address, for messages."""
    key_setting: ClassVar[str] = "OPENAI_API_KEY"
    """Name of the setting that holds the key."""
    hints: ClassVar[Mapping[int, str]]
    """The advice for an HTTP status."""

    def __init__(
        self,
        *,
        model: str,
        url: str,
        key: SecretStr | None = None,
        timeout: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        """Check the address; no connection is opened.

        Args:
            model: its name, for messages.
            url: http or https address, with a path if the API has one; may hold `user:password@`.
            key: bearer token, or None.
            timeout: seconds that one request may take in all; a call makes at most three, with waits between them.
            sleep: called with the seconds to wait between attempts; a test passes one that returns at once.

        Raises:
            EmbeddingConfigError: the address or the key is invalid.
        """
        self.model = model
        self.timeout = timeout
        self._url, self._auth = self._address(url)
        self._key = _usable(key, self.key_setting)
        if self._key and self._auth:
            raise EmbeddingConfigError(
                f"{self.url_setting}: give a key or a password in the address, not both"
            )
        self._sleep = sleep
        self._client: httpx2.AsyncClient | None = None
        self._loop: EventLoopToken | None = None
        self._unreachable: tuple[float, str] | None = None

    @property
    def endpoint(self) -> str:
        """Scheme, host and port of the server, without user and password."""
        return f"{self._url.scheme}://{self._url.netloc.decode('ascii')}"

    async def aclose(self) -> None:
        """Close the connections. The next call opens new ones."""
        client, self._client = self._client, None
        if client is not None and self._loop == current_token():
            await client.aclose()

    async def _post(self, path: str, body: Mapping[str, object]) -> object:
        """Send JSON and return the JSON of the answer; temporary failures are retried."""
        if self._unreachable and monotonic() < self._unreachable[0]:
            raise EmbeddingError(self._unreachable[1], transient=True)
        try:
            answer = await self._retried(path, body)
        except _Unreachable as exc:
            self._unreachable = (monotonic() + PAUSE, str(exc))
            raise
        return answer

    async def _retried(self, path: str, body: Mapping[str, object]) -> object:
        """Send a request, again after a pause if it failed for a while."""
        for attempt in range(1, ATTEMPTS):
            try:
                return await self._request("POST", path, body)
            except EmbeddingError as error:
                if not error.transient or (error.retry_after or 0) > LONGEST_WAIT:
                    raise
                # Doubled each time, and spread, so that several processes do not come back together.
                pause = min(_FIRST_WAIT * 2 ** (attempt - 1), _WAIT) + random.uniform(0.0, 0.25)
                if error.retry_after is not None:
                    pause = error.retry_after
                logger.info("%s; tried %d of %d times, again in %.1f s", error, attempt, ATTEMPTS, pause)
            await self._sleep(pause)
        return await self._request("POST", path, body)

    async def _request(self, method: str, path: str, body: Mapping[str, object] | None = None) -> object:
        """Send one request without retries, and return the JSON of its answer."""
        where = f"{self.model}: the server at {self.endpoint}"
        url = self._url.copy_with(path=self._url.path.rstrip("/") + path)
        headers = {"Authorization": f"Bearer {self._key.get_secret_value()}"} if self._key else {}
        client = self._http()
        try:
            with anyio.fail_after(self.timeout):
                response = await client.request(method, url, json=body, headers=headers)
        except (TimeoutError, httpx2.TimeoutException) as exc:
            raise _Unreachable(
                f"{where} did not answer in time ({type(exc).__name__})", transient=True
            ) from exc
        except (httpx2.NetworkError, httpx2.RemoteProtocolError, httpx2.ProxyError) as exc:
            raise _Unreachable(f"{where} cannot be reached ({type(exc).__name__})", transient=True) from exc
        except httpx2.HTTPError as exc:
            raise EmbeddingError(f"{where} sent an invalid answer ({type(exc).__name__})") from exc
        self._unreachable = None
        if not response.is_success:
            raise self._refusal(where, response)
        try:
            answer: object = response.json()
        except (ValueError, RecursionError):  # its message would hold the answer's body
            raise EmbeddingError(f"{where} did not answer with JSON") from None
        return answer

    def _refusal(self, where: str, response: httpx2.Response) -> EmbeddingError:
        status = response.status_code
        hint = f": {self.hints[status]}" if status in self.hints else ""
        return EmbeddingError(
            f"{where} answered {status} {_phrase(status)}{hint}",
            transient=status == 429 or status >= 500,
            retry_after=_seconds(response.headers.get("retry-after")),
        )

    def _http(self) -> httpx2.AsyncClient:
        loop = current_token()
        if self._client is None or self._loop != loop:
            host = f"[{self._url.host}]" if ":" in self._url.host else self._url.host
            try:
                self._client = httpx2.AsyncClient(
                    auth=self._auth,
                    verify=self._url.scheme == "https",  # plain http: spare the 0.1 s of reading certificates
                    timeout=httpx2.Timeout(self.timeout, connect=min(self.timeout, CONNECT_TIMEOUT)),
                    mounts={f"all://{host}": None} if self._url.host in _LOOPBACK else None,
                )
            except Exception as exc:  # its message may hold the proxy's password
                what = f"{self.model}: no HTTP client with this environment's proxy and certificate settings"
                raise EmbeddingError(f"{what} ({type(exc).__name__})") from None
            self._loop = loop
        return self._client

    def _address(self, text: str) -> tuple[httpx2.URL, tuple[str, str] | None]:
        """Split an address into one without credentials, which is safe to log, and the credentials."""
        wrong = f"{self.url_setting}: use an address such as http://localhost:11434"
        try:
            url = httpx2.URL(text)
        except (httpx2.InvalidURL, UnicodeError):  # its message would hold a part of the address
            raise EmbeddingConfigError(wrong) from None
        if url.scheme not in ("http", "https") or not url.host:
            raise EmbeddingConfigError(wrong)
        if url.query or url.fragment:
            raise EmbeddingConfigError(f"{self.url_setting}: the part after '?' or '#' is not supported")
        auth = (url.username, url.password) if url.userinfo else None
        return url.copy_with(username=None, password=None), auth


class HttpProvider(JsonServer, BaseProvider):
    """Sends texts to a server, 64 at a time."""

    batch_size = 64

    def __init__(
        self,
        *,
        model: str,
        dimensions: int,
        url: str,
        key: SecretStr | None = None,
        timeout: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        """Set the stored name and the length of the vectors; the other arguments are those of `JsonServer`.

        Raises:
            EmbeddingConfigError: the address or the key is invalid.
        """
        BaseProvider.__init__(self, model=model, dimensions=dimensions)
        JsonServer.__init__(self, model=model, url=url, key=key, timeout=timeout, sleep=sleep)

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for batch in batches(texts, self.batch_size):
            vectors += await self._request_vectors(batch)
        return vectors

    @abstractmethod
    async def _request_vectors(self, texts: list[str]) -> list[list[float]]:
        """Get the vectors of at most `batch_size` texts from the server."""

    def _checked(self, rows: object, count: int) -> list[list[float]]:
        return unit_vectors(rows, count=count, dimensions=self.dimensions, model=self.model)


def _usable(key: SecretStr | None, setting: str) -> SecretStr | None:
    value = key.get_secret_value().strip() if key else ""
    if not (value.isascii() and value.isprintable()):
        raise EmbeddingConfigError(f"{setting}: has characters that are not allowed in an HTTP header")
    return SecretStr(value) if value else None


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "(no known status)"


def _seconds(retry_after: str | None) -> float | None:
    """Return the seconds of Retry-After, which holds a number or a date; None if it is neither."""
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        when = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
