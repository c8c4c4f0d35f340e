"""The pages of this machine on a real port, in a separate thread, and the browser that opens them."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import uvicorn

from pgmem.features.ui.local import local_app
from pgmem.settings import Settings

__all__ = ["browser_path", "running", "serving"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def browser_path() -> str | None:
    """Where a Chromium is installed; None where there is none."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


@contextmanager
def running(app: Any) -> Iterator[str]:
    """An application on a free port of the loopback address; its address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(
            uvicorn.Config(app, log_level="warning", log_config=None, timeout_graceful_shutdown=1)
        )
        server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
        started = threading.Event()
        startup = server.startup

        async def report_start(sockets: list[socket.socket] | None = None) -> None:
            await startup(sockets)
            started.set()

        server.startup = report_start  # type: ignore[method-assign]
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            assert started.wait(60), "the server did not start"
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def serving(
    dsn: str, folder: Path, name: str = "ada", **given: Any
) -> Iterator[tuple[str, Callable[[], str]]]:
    """`pgmem ui` for one store: the address, and what gives a new link to sign in with."""
    app, link = local_app(Settings(dsn=dsn, data_dir=folder, **given), name)
    with running(app) as address:
        yield address, lambda: link.at(address)
