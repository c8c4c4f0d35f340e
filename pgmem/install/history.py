"""The history of the tables: the migrations of this release, and which of them a store has had.

A store records the text of each migration that changed it. A store whose record differs from `migrations/` has another
history: its tables may differ too, so it is refused before anything changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from pgmem.errors import UnsuitableDatabase
from pgmem.release import release

if TYPE_CHECKING:
    from alembic.config import Config


def folder(name: str) -> Path:
    """Where `sql` or `migrations` lies: in a wheel inside the package, else at the top of the checkout."""
    package = Path(__file__).parent.parent
    packed = package / f"_{name}"
    return packed if packed.is_dir() else package.parent / name


MIGRATIONS = folder("migrations")

# The last revisions that were applied before a store recorded their text: of release 0.1.0, and of the development
# state after it. The revisions between them were renumbered when branches were merged, so a number does not
# determine which tables a store has.
_UNRECORDED = ("0005", "0027")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the history.

    Attributes:
        revision: its id, which is never used again.
        summary: its changes, in one line.
        file: its path below `migrations/`.
        text: the SQL that it runs.
    """

    revision: str
    summary: str
    file: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def config() -> Config:
    """The configuration with which Alembic finds the migrations."""
    from alembic.config import Config

    made = Config(attributes={})
    made.set_main_option("script_location", str(MIGRATIONS))
    made.set_main_option("path_separator", "os")
    return made


@cache
def migrations() -> tuple[Migration, ...]:
    """The migrations of this release, the first one first."""
    from alembic.script import ScriptDirectory

    scripts = list(ScriptDirectory.from_config(config()).walk_revisions())
    return tuple(
        Migration(
            each.revision,
            each.doc.partition("\n")[0],
            f"migrations/{Path(each.path).name}",
            _text(each.module),
        )
        for each in reversed(scripts)
    )


def _text(module: Any) -> str:
    """The SQL of a migration, collected in place of being run."""
    collected: list[str] = []

    class Recorder:
        execute = staticmethod(collected.append)

        def get_bind(self) -> list[str]:
            return collected

    vars(module).update(op=Recorder(), run=list.append)
    module.upgrade()
    return "\n".join(collected)


def pending(connection: psycopg.Connection[Any]) -> tuple[Migration, ...]:
    """The migrations that a store has not had; all of them for an empty database.

    Raises:
        UnsuitableDatabase: a newer release or a development state wrote the store, or its restore is not complete.
    """
    known = migrations()
    revision, recorded = recorded_in(connection)
    if revision is None:
        return known
    index = {each.revision: place for place, each in enumerate(known)}
    if revision not in index:
        raise UnsuitableDatabase(_unknown(connection, revision))
    applied = known[: index[revision] + 1]
    digests = {each.file: each.digest for each in applied}
    if recorded != digests if recorded else revision not in _UNRECORDED:
        raise UnsuitableDatabase(_FOREIGN.format(revision=revision))
    return known[len(applied) :]


def record(connection: psycopg.Connection[Any], applied: Sequence[Migration]) -> None:
    """Record the text of the migrations that a store has had."""
    with connection.cursor() as cursor:
        cursor.executemany(
            "insert into pgmem.schema_file (path, digest) values (%s, %s)"
            " on conflict (path) do update set digest = excluded.digest",
            [(each.file, each.digest) for each in applied],
        )


def recorded_in(connection: psycopg.Connection[Any]) -> tuple[str | None, dict[str, str]]:
    """The revision of a store, None for an empty database, and the digests of its migrations.

    Raises:
        UnsuitableDatabase: its restore is not complete, or another program made the schema.
    """
    state = connection.execute(_STATE).fetchone()
    assert state is not None
    tables, versioned, complete = state
    if tables == 0:
        return None, {}
    if not versioned or not complete:
        raise UnsuitableDatabase(_PARTIAL)
    rows = connection.execute("select version_num from pgmem.alembic_version").fetchall()
    if len(rows) != 1:
        raise UnsuitableDatabase(_PARTIAL)
    digests = connection.execute(
        "select path, digest from pgmem.schema_file where starts_with(path, 'migrations/')"
    ).fetchall()
    return str(rows[0][0]), {str(path): str(digest) for path, digest in digests}


# pg_restore adds primary keys after the rows: a restore that did not end leaves tables without them.
_STATE = """
select count(*) filter (where c.relname <> 'installing'),
       count(*) filter (where c.relname in ('alembic_version', 'schema_version', 'schema_file')) = 3,
       not exists (
         select from unnest('{node,edge,label,setting}'::text[]) as needed(name)
         where not exists (
           select from pg_constraint k
           where k.conrelid = to_regclass('pgmem.' || needed.name) and k.contype = 'p'))
from pg_class c where c.relnamespace = to_regnamespace('pgmem') and c.relkind in ('r', 'p')
"""
_PARTIAL = (
    "The schema pgmem of this database is not complete: a restore did not end, or another program made it. Nothing was"
    " changed. Drop it (drop schema pgmem cascade) and restore the backup again, or name another database."
)
_FOREIGN = (
    "A development state of pgmem wrote this store (revision {revision}), and its tables are not those of a release."
    " Nothing was changed. Export it with the program that wrote it (pgmem export), and import the file into a new"
    " database (pgmem import)."
)


def _unknown(connection: psycopg.Connection[Any], revision: str) -> str:
    """Why this release does not know a revision: a newer one has it, or a development state had it."""
    row = connection.execute("select release from pgmem.schema_version").fetchone()
    found = str(row[0]) if row else "0"
    if "dev" in found or found == release():
        return _FOREIGN.format(revision=revision)
    return NEWER.format(own=release(), found=found)


NEWER = (
    "A newer release of pgmem than {own} wrote this store ({found}). Nothing was changed: install that release, or a"
    " newer one."
)
