"""`python -m pgmem` runs `pgmem`."""

from __future__ import annotations

import io
import sys
from contextlib import suppress
from importlib import import_module

from pgmem.registry import AT_ONCE


def main() -> None:
    """Run the command line; the commands that clients wait for (`mcp`, `hook`, `surface`) do not import it."""
    if sys.argv[1:] == ["mcp"]:
        from pgmem.errors import PgmemError
        from pgmem.mcp.run import run
        from pgmem.settings import load

        with suppress(PgmemError):  # raised again below, where it becomes one line
            run(load())
            return
    if quick := AT_ONCE.get(sys.argv[1] if sys.argv[1:] else ""):
        begun = import_module(quick)
        if (call := begun.read(sys.argv[2:])) is not None:
            begun.main(call)
            return
    from pgmem.cli import app

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # characters that its encoding lacks are printed as "?"
            stream.reconfigure(errors="replace")
    app(prog_name="pgmem")


if __name__ == "__main__":
    main()
