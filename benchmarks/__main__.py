"""`python -m benchmarks` runs a benchmark."""

from __future__ import annotations

from benchmarks.commands import app

if __name__ == "__main__":
    app(prog_name="python -m benchmarks")
