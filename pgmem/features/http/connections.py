"""Connections of HTTP clients: at every step each has an owner and a time, and owners share the file descriptors.

Until a token is verified, a connection belongs to the address that it comes from: 10 seconds for the headers, 10 for
the body. Then it belongs to the tenant, until the client has read the answer. Where connections, or bytes that nobody
reads, become too many, the owner that has most loses one; so whoever has few keeps them.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import Hashable
from contextlib import suppress
from typing import Any, ClassVar

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

KEEP_ALIVE_S = 75
"""Seconds that a connection is kept for the next request: agents think between two calls."""

CLAIM = "pgmem.claim"
"""The extension of ASGI by which an application gives a connection to a tenant: see `BoundedConnection.claim`."""

_HEADERS_S = 10.0  # for the first byte of a request to its last header
_BODY_S = 10.0  # for the body of a request whose token is not verified
_READ_S = 10.0  # for an answer to be read, and a second more for each _READ_BYTES of it
_READ_BYTES = 65_536  # a client behind a slow link reads more in a second
_KERNEL_BYTES = 131_072  # of an answer, in the socket: by itself the system takes some megabytes
_UNREAD_BYTES = 16 * 1024 * 1024  # of one owner's answers that wait to be read
_ALL_UNREAD_BYTES = 128 * 1024 * 1024
_FORGET = struct.pack("ii", 1, 0)  # SO_LINGER: at the end the kernel drops unread bytes


class _Joined:
    """A transport that sends all writes of one turn of the loop together, such as head and body of an answer."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._written: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send these bytes after this turn."""
        if not self._written:
            self._loop.call_soon(self.flush)
        self._written.append(data)

    def close(self) -> None:
        """Send the buffered data, then close."""
        self.flush()
        self._transport.close()

    def flush(self) -> None:
        """Send the buffered data."""
        if self._written:
            self._transport.write(b"".join(self._written))
            self._written.clear()


class _Held:
    """Connections by their owner, the oldest first.

    Args:
        most: how many there may be.
        part: at most one for each so many files that the process may open.
    """

    def __init__(self, most: int, part: int) -> None:
        self._most, self._part = most, part
        self._of: dict[Hashable, dict[BoundedConnection, None]] = {}
        self._count = 0

    @property
    def is_over(self) -> bool:
        """Whether there are too many."""
        most = self._most
        with suppress(ImportError):  # on Windows
            import resource

            files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            most = most if files == resource.RLIM_INFINITY else min(most, files // self._part)
        return self._count > most

    def put(self, owner: Hashable, connection: BoundedConnection) -> None:
        """Add a connection as the newest of its owner."""
        self._of.setdefault(owner, {})[connection] = None
        self._count += 1

    def remove(self, owner: Hashable, connection: BoundedConnection) -> None:
        """Remove a connection."""
        del self._of[owner][connection]
        self._count -= 1
        if not self._of[owner]:
            del self._of[owner]

    def of_largest(self, last: Hashable = None) -> list[BoundedConnection]:
        """Return the connections of the owner that has most; of those with equally many, `last` is taken first."""
        largest = max(self._of, key=lambda owner: (len(self._of[owner]), owner == last))
        return list(self._of[largest])


class BoundedConnection(H11Protocol):
    """A connection with a timeout for each step: receiving headers, receiving a body, and sending an answer.

    At 1024 descriptors a quarter is left for the rest of the process: connections to the database, files, and
    connections accepted in one turn of the loop.
    """

    _waiting: ClassVar = _Held(512, 2)
    _answered: ClassVar = _Held(256, 4)
    _unread: ClassVar[dict[BoundedConnection, None]] = {}

    _place: tuple[_Held, Hashable] | None = None
    _awaits: str | None = None
    _timer: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    _passed_on: ASGIApp

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; where too many wait, the oldest of the largest address makes room."""
        super().connection_made(_Joined(transport, self.loop))  # type: ignore[arg-type]
        transport.set_write_buffer_limits(high=0)  # `pause_writing` says that an answer waits to be read
        connected = transport.get_extra_info("socket")
        # asyncio does so only where the socket names its protocol; an answer in two parts would wait 40 ms for an ACK.
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL_BYTES)
        self._passed_on, self.app = self.app, self._claimable
        self._move(self._waiting, self._address)
        self._await("headers")
        if self._waiting.is_over:
            self._waiting.of_largest()[0]._end()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        super().data_received(data)
        if self._is_claimed:
            return  # its application bounds the time of the body
        if self.conn.their_state is h11.SEND_BODY:
            self._await("body")
        else:
            self._await(None if self._is_handled else "headers")

    def claim(self, tenant: Hashable) -> bool:
        """Give the connection to a tenant while the request is handled and its answer is read.

        Returns:
            False if tenants hold too many connections and this one the most: the request must be refused. The
            newest one of another client that holds more is closed.
        """
        if self.transport.is_closing():
            return False
        self._await(None)
        self._move(self._answered, tenant)
        if not self._answered.is_over:
            return True
        newest = self._answered.of_largest(last=tenant)[-1]
        if newest is self:
            self._move(self._waiting, self._address)
            return False
        newest._end()
        return True

    def on_response_complete(self) -> None:
        """Begin to wait for the next request, once the answer is read."""
        self.transport.flush()  # type: ignore[attr-defined]
        if self not in self._unread:
            self._give_back()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Bound how long, and how many bytes, an answer waits to be read."""
        super().pause_writing()
        size = self._buffered
        self._unread[self] = None
        self._reading = self.loop.call_later(_READ_S + size / _READ_BYTES, self._end)
        _shed([each for each in self._unread if each._owner == self._owner], _UNREAD_BYTES)
        _shed(list(self._unread), _ALL_UNREAD_BYTES)

    def resume_writing(self) -> None:
        """Go on, as the answer is read so far."""
        super().resume_writing()
        self._was_read()
        if not self._is_handled and not self.transport.is_closing():
            self._give_back()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._was_read()
        self._await(None)
        self._move(None)
        super().connection_lost(exc)

    async def _claimable(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, once the answer to the one before it is read."""
        if self.flow.write_paused:
            await self.flow.drain()
        await self._passed_on({**scope, "extensions": {CLAIM: self.claim}}, receive, send)

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    @property
    def _owner(self) -> Hashable:
        """The address or the tenant that it belongs to; None where it has ended."""
        return self._place[1] if self._place else None

    @property
    def _is_claimed(self) -> bool:
        return self._place is not None and self._place[0] is self._answered

    @property
    def _is_handled(self) -> bool:
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    @property
    def _buffered(self) -> int:
        return self.transport.get_write_buffer_size()

    def _give_back(self) -> None:
        """Wait again as a connection of an address; the rest of the body has its time from now."""
        if self._is_claimed:
            self._move(self._waiting, self._address)
            self._await("body" if self.conn.their_state is h11.SEND_BODY else None)

    def _move(self, held: _Held | None, owner: Hashable = None) -> None:
        if self._place is not None:
            self._place[0].remove(self._place[1], self)
        self._place = None if held is None else (held, owner)
        if held is not None:
            held.put(owner, self)

    def _await(self, what: str | None) -> None:
        """Set the timeout of the next request, unless it is set."""
        if what == self._awaits:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._awaits = what
        limit = {"headers": _HEADERS_S, "body": _BODY_S}
        self._timer = None if what is None else self.loop.call_later(limit[what], self._end)

    def _was_read(self) -> None:
        self._unread.pop(self, None)
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _end(self) -> None:
        """Close the connection; an answer that waits to be read is dropped."""
        self._move(None)
        if self in self._unread:
            self._was_read()
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _FORGET)
            self.transport.abort()
        else:
            self.transport.close()


def _shed(unread: list[BoundedConnection], most: int) -> None:
    """End the oldest connections of the owner that has most unread bytes, until all together are few enough."""
    while len(unread) > 1 and sum(each._buffered for each in unread) > most:
        by_owner: Counter[Hashable] = Counter()
        for each in unread:
            by_owner[each._owner] += each._buffered
        largest = max(by_owner, key=lambda owner: by_owner[owner])
        oldest = next(each for each in unread if each._owner == largest)
        unread.remove(oldest)
        oldest._end()
