"""Two data folders in step, by every way, when one of them meets acts of its operator, by the real programs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
import pytest
from typer.testing import Result

from pgmem.server.embedded import EmbeddedServer
from tests.core.cli.conftest import Run, alone
from tests.features.feed.test_sync_past import fault
from tests.fixtures.clusters import CopyTo
from tests.serving import process

__all__ = ["alone"]

pytestmark = [pytest.mark.long, pytest.mark.embedded]


class Pair:
    """The runner of the exchange, `here`, and the other store, `there`."""

    def __init__(self, run: Run, place: Path, way: str) -> None:
        self._run, self._place, self._way = run, place, way
        self.folders = {"here": place / "here", "there": place / "there"}
        self.exchanged = place / "exchanged"
        self.exchanged.mkdir()
        self._token = ""
        self._numbers = count()

    def command(self, folder: Path, *arguments: str, **variables: str | None) -> Result:
        return self._run(*arguments, "--data-dir", str(folder), PGMEM_DSN=None, **variables)

    def done(self, folder: Path, *arguments: str) -> str:
        result = self.command(folder, *arguments)
        assert result.exit_code == 0, (arguments, result.stderr, result.stdout)
        return result.stdout

    def begin(self) -> None:
        self.done(self.folders["there"], "init", "--new-feed")  # both are copies of one cluster
        for name, folder in self.folders.items():
            self.done(folder, "save", "session", f"open {name}", "-p", "shop")
        if self._way == "http":
            issued = self.done(self.folders["there"], "token", "issue", "--for", "sync", "--vouches")
            self._token = issued.splitlines()[0]

    def save(self, what: str) -> None:
        for name, folder in self.folders.items():
            self.done(folder, "save", "context", f"{what} {name}", "--topic", what, "-p", "shop")

    def sync(self) -> list[str]:
        """Exchange; a store that is said to be a copy gets a new identity, as the sentence asks."""
        here, there = self.folders["here"], self.folders["there"]
        if self._way == "folder":
            return [self._one(each, str(self.exchanged)) for each in (here, there, here)]
        with self._reached(there) as (other, dsn):
            return [self._one(here, other, dsn)]

    def _one(self, folder: Path, other: str, dsn: str | None = None) -> str:
        for _ in range(3):
            result = self.command(folder, "sync", other, PGMEM_SYNC_TOKEN=self._token or None)
            if result.exit_code == 0:
                return result.stdout
            assert "pgmem init --new-feed" in result.stderr, (result.stderr, result.stdout)
            copy = folder
            if "this store itself" in result.stderr and dsn is not None and self.copy == "there":
                with psycopg.connect(dsn) as connection:
                    connection.execute("select pgmem.settle_feed(true)")
                continue
            self.done(copy, "init", "--new-feed")
        raise AssertionError(result.stderr)

    copy = "here"
    """Which of the two is a copy, or was brought back from one."""

    @contextmanager
    def _reached(self, there: Path) -> Iterator[tuple[str, str]]:
        with EmbeddedServer(there) as server:
            dsn = server.start()
            if self._way == "dsn":
                yield dsn, dsn
            else:
                outside = self._place / f"http{next(self._numbers)}"
                outside.mkdir()
                with process(dsn, outside) as (address, _, _):
                    yield address, dsn

    def contents(self, name: str) -> set[str]:
        with EmbeddedServer(self.folders[name]) as server, psycopg.connect(server.start()) as connection:
            rows = connection.execute("select props ->> 'content' from pgmem.node where label = 'Context'")
            return {str(row[0]) for row in rows}

    def strike(self, kind: str, name: str, aside: Path) -> None:
        folder = self.folders[name]
        match kind:
            case "restored":
                self.done(folder, "backup", str(aside))
                self.done(folder, "restore", "--replace", str(aside))
            case "dumped to another server":
                self.done(folder, "backup", str(aside))
                moved = folder.with_name(f"{name}-moved")
                self.done(moved, "init")
                self.done(moved, "restore", "--replace", str(aside))
                self.folders[name] = moved
            case "pruned":
                with EmbeddedServer(folder) as server:
                    fault("pruned", server.start())
            case "set back":
                shutil.rmtree(folder)
                subprocess.run(["cp", "-a", str(aside), str(folder)], check=True)
            case "copied":
                subprocess.run(["cp", "-a", str(folder), str(aside)], check=True)
                self.folders[name] = aside


@pytest.mark.parametrize("way", ["dsn", "http", "folder"])
@pytest.mark.parametrize("kind", ["restored", "dumped to another server", "pruned", "set back", "copied"])
@pytest.mark.parametrize("struck", ["here", "there"])
def test_what_an_operator_does_to_a_data_folder_costs_a_comparison_and_nothing_else(
    place: Path, installed: CopyTo, alone: Run, struck: str, kind: str, way: str
) -> None:
    pair = Pair(alone, place, way)
    for folder in pair.folders.values():
        installed(folder)
    pair.begin()
    pair.copy = struck
    pair.save("first")
    pair.sync()
    aside = place / "aside"
    if kind == "set back":
        subprocess.run(["cp", "-a", str(pair.folders[struck]), str(aside)], check=True)
    pair.save("second")
    pair.sync()
    pair.sync()
    if kind == "pruned":
        pair.save("third")
    pair.strike(kind, struck, aside)
    if kind != "pruned":
        pair.save("third")
    said = pair.sync()
    assert ": export" not in str(said)
    pair.sync()
    wanted = {f"{what} {name}" for what in ("first", "second", "third") for name in ("here", "there")}
    assert pair.contents("here") == pair.contents("there") == wanted
    again = pair.sync()[-1]
    assert "nothing new" in again, again
