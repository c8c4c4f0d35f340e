"""`pgmem bench`: speed and retrieval quality, measured here."""

from __future__ import annotations

import typer

__all__ = ["app"]

app = typer.Typer(help="Measure speed and retrieval quality on this machine.", no_args_is_help=True)
