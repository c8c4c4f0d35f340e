"""Connections of HTTP clients, bounded in time and number while no request of theirs is handled."""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

KEEP_ALIVE_S = 75
"""Seconds that a connection is kept for the next request: agents think between two calls."""

_HEADERS_S = 10.0  # for the first byte of a request to its last header
_IDLE = 512  # connections without a request; a file descriptor is left for each of the database


class _Joined:
    """A transport that sends what is written in one turn of the loop at once: an answer is its head and its body."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._written: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send these bytes after this turn."""
        if not self._written:
            self._loop.call_soon(self._flush)
        self._written.append(data)

    def close(self) -> None:
        """Send what was written, then close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._written:
            self._transport.write(b"".join(self._written))
            self._written.clear()


class BoundedConnection(H11Protocol):
    """A connection that is closed when the headers of a request do not arrive in time.

    Beyond a number of connections without a request, the one that has waited longest is closed for a new one.
    """

    _idle: ClassVar[OrderedDict[BoundedConnection, None]] = OrderedDict()
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(_Joined(transport, self.loop))  # type: ignore[arg-type]
        # asyncio does so only where the socket names its protocol; an answer in two parts would wait 40 ms for an ACK.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._idle[self] = None
        self._start()
        if len(self._idle) > _IDLE:
            oldest, _ = self._idle.popitem(last=False)
            oldest.transport.close()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        handled = self._handled()
        super().data_received(data)
        if self._handled():
            self._idle.pop(self, None)
            self._stop()
        elif self._timer is None and not handled:
            self._start()  # the keep-alive timer ended with the first byte

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        if not self.transport.is_closing() and not self._handled():
            self._idle[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._idle.pop(self, None)
        self._stop()
        super().connection_lost(exc)

    def _handled(self) -> bool:
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def _start(self) -> None:
        self._timer = self.loop.call_later(_HEADERS_S, self.transport.close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
