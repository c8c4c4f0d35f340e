"""`python -m pgmem` is `pgmem`."""

from __future__ import annotations

from pgmem.cli import app

app(prog_name="pgmem")
