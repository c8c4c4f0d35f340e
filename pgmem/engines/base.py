"""What every engine has: the database it calls."""

from __future__ import annotations

from pgmem.database.pool import Database

__all__ = ["Engine"]


class Engine:
    """Stateless: it holds the way to the database and nothing else."""

    def __init__(self, database: Database) -> None:
        self._database = database
