"""Running the pages on this machine."""

from __future__ import annotations

import socket
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path

from pgmem import plain_files
from pgmem.errors import InvalidArgument
from pgmem.features.ui import render
from pgmem.features.ui.local import local_app
from pgmem.settings import Settings
from pgmem.telemetry import logs

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
    raise InvalidArgument(f"Port {port} is in use; use another --port, or omit it for a free one.")


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
        number = bound.getsockname()[1]
        address, handed_over = f"http://127.0.0.1:{number}", settings.data_dir / "ui" / f"{number}.html"

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                if self.should_exit or link.failed:
                    self.should_exit = True
                    return
                print(
                    f"{link.at(address)}\nThe link works once, within ten minutes. Ctrl+C stops the server.",
                    flush=True,
                )
                if open_browser:
                    _open(link.at(address), handed_over)

        server = Server(
            uvicorn.Config(
                app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=2
            )
        )
        try:
            server.run([bound])
        finally:
            with suppress(OSError):
                handed_over.unlink()
    if link.failed:
        raise link.failed
    if not server.started:
        sys.exit(1)


def _open(link: str, file: Path) -> None:
    """Open a link in a browser without naming it: every user of a machine sees the arguments of its programs."""
    try:
        plain_files.make_private_folder(file.parent)
        plain_files.replace(file, render.onward(link).encode(), durable=False)
    except OSError as error:
        print(f"No browser is opened, because {file} cannot be written: {error.strerror}.", flush=True)
        return
    webbrowser.open(file.absolute().as_uri())
