"""`python -m pgmem` is `pgmem`."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; `pgmem surface` without it, because an editor waits for the answer."""
    if sys.argv[1:2] == ["surface"]:
        from pgmem import surface

        if (question := surface.read(sys.argv[2:])) is not None:
            surface.main(question)
            return
    from pgmem.cli import app

    app(prog_name="pgmem")


if __name__ == "__main__":
    main()
