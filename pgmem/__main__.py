"""`python -m pgmem` runs `pgmem`."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Run the command line; `pgmem hook` and `pgmem surface` do not import it, because an editor waits for them."""
    if sys.argv[1:2] == ["hook"]:
        from pgmem.editor import events

        if (call := events.read(sys.argv[2:])) is not None:
            events.main(call)
    if sys.argv[1:2] == ["surface"]:
        from pgmem.editor import surface

        if (question := surface.read(sys.argv[2:])) is not None:
            surface.main(question)
            return
    from pgmem.cli import app

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what its encoding cannot hold is printed as "?"
            stream.reconfigure(errors="replace")
    app(prog_name="pgmem")


if __name__ == "__main__":
    main()
