"""Running the pages on this machine."""

from __future__ import annotations

import socket
import sys
import webbrowser

from pgmem.errors import InvalidArgument
from pgmem.settings import Settings
from pgmem.telemetry import logs
from pgmem.ui.local import local_app

PORT = 7437


def listening(port: int | None) -> socket.socket:
    """A socket on the loopback address: at `port`, else at 7437, else at a free one.

    Raises:
        InvalidArgument: another program listens at the port that was asked for.
    """
    for wanted in (port,) if port is not None else (PORT, 0):
        found = socket.socket()
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind(("127.0.0.1", wanted))
        except OSError:
            found.close()
            continue
        return found
    raise InvalidArgument(
        f"Another program listens at port {port}; give another --port, or none for a free one."
    )


def run(
    settings: Settings, port: int | None = None, *, open_browser: bool = True, name: str | None = None
) -> None:
    """Serve until the process is stopped.

    Args:
        settings: of the store.
        port: None takes 7437, or a free one.
        open_browser: open the link that signs in.
        name: recorded as the one who decides; None takes the login name.
    """
    import uvicorn

    logs.configure(settings)
    app, link = local_app(settings, name)
    with listening(port) as bound:
        address = f"http://127.0.0.1:{bound.getsockname()[1]}"

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                if self.should_exit or link.failed:
                    self.should_exit = True
                    return
                print(
                    f"{link.at(address)}\nThe link works once, within ten minutes. Ctrl+C ends the page.",
                    flush=True,
                )
                if open_browser:
                    webbrowser.open(link.at(address))

        server = Server(
            uvicorn.Config(
                app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=2
            )
        )
        server.run([bound])
    if link.failed:
        raise link.failed
    if not server.started:
        sys.exit(1)
