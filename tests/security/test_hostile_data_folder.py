"""The attacker, or a slip of the hand, names a directory that serves others as the data directory."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest

from pgmem import data_folder
from pgmem.errors import EmbeddedServerError
from pgmem.install import schema
from pgmem.mcp.app import App, lifespan
from pgmem.server import account
from pgmem.server.embedded import EmbeddedServer
from pgmem.settings import Settings

pytestmark = pytest.mark.embedded
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give directories away")


def picture(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Owner, group and mode of a directory and all in it."""
    found = (folder, *folder.rglob("*"))
    return {str(p): (s.st_uid, s.st_gid, stat.S_IMODE(s.st_mode)) for p in found for s in [p.lstat()]}


def test_a_directory_that_holds_other_files_is_refused_and_left_as_it_is(place: Path) -> None:
    """It became 0700 and belonged to the server's user."""
    folder = place / "photos"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "summer.jpg").write_bytes(b"jpg")
    before = picture(place)
    with pytest.raises(
        EmbeddedServerError, match=r"photos holds other files, such as summer.jpg: set PGMEM_DATA_DIR"
    ):
        EmbeddedServer(folder).start()
    assert picture(place) == before


@ROOT_ONLY
def test_no_directory_above_the_data_is_opened(place: Path) -> None:
    """A parent of mode 0700 became 0701."""
    closed = place / "home"
    closed.mkdir(mode=0o700)
    with pytest.raises(EmbeddedServerError, match=r"cannot enter .*home: set PGMEM_DATA_DIR to a directory"):
        EmbeddedServer(closed / "data").start()
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


def test_a_directory_of_an_earlier_release_is_taken_for_ours(place: Path) -> None:
    """It has no marker, and nothing that pgmem did not make."""
    with EmbeddedServer(place / "data"):
        pass
    (place / "data" / ".pgmem").unlink()
    for name in ("outbox", "hooks", "repositories", "ui"):  # as with PGMEM_DSN, which needs no server there
        (place / "data" / name).mkdir()
    with EmbeddedServer(place / "data"):
        assert (place / "data" / ".pgmem").exists()
    (place / "data" / "notes.txt").write_text("kept here since", encoding="utf-8")
    with EmbeddedServer(place / "data"):
        pass


def test_an_empty_directory_and_the_root_of_a_file_system_are_taken(place: Path) -> None:
    """As a volume of a container is."""
    (place / "data" / "lost+found").mkdir(parents=True)
    with EmbeddedServer(place / "data") as server, psycopg.connect(server.start()) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


@ROOT_ONLY
def test_programs_that_the_user_of_the_server_cannot_read_are_copied_and_stay_closed(place: Path) -> None:
    """A virtual environment in root's home was opened to everybody."""
    spec = find_spec("pgserver")
    assert spec is not None
    assert spec.origin is not None
    site = Path(spec.origin).parent.parent
    closed = place / "venv"
    closed.mkdir(mode=0o700)
    for tree in (site / "pgserver", *site.glob("pgserver*.libs")):
        shutil.copytree(tree, closed / tree.name, symlinks=True)
    before = picture(closed)
    user = account.system_account("pgserver")
    programs = closed / "pgserver" / "pginstall" / "bin"
    made = account.programs_for(user, programs, place / "programs")
    assert made == place / "programs" / "pgserver" / "pginstall" / "bin"
    assert account.programs_for(user, programs, place / "programs") == made
    assert account._can(user, "-x", made / "postgres")
    assert picture(closed) == before


@ROOT_ONLY
def test_root_keeps_its_data_where_the_server_can_reach_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default of root was in its home, which was opened for it."""
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert data_folder.default_data_dir() == Path("/var/lib/pgmem")
    old = place / ".local" / "share" / "pgmem"
    (old / "postgres").mkdir(parents=True)
    assert data_folder.default_data_dir() == old


@ROOT_ONLY
def test_root_has_its_store_where_home_names_a_directory_that_all_can_enter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """HOME was ignored, so that the memory of a development container went with the container."""
    system = Path("/var/lib/pgmem")
    with tempfile.TemporaryDirectory(dir="/srv") as named:
        home = Path(named)
        monkeypatch.setenv("HOME", named)
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        home.chmod(0o700)
        assert data_folder.default_data_dir() == system
        home.chmod(0o755)
        kept = (system / "postgres").exists()
        assert data_folder.default_data_dir() == (system if kept else home / ".local" / "share" / "pgmem")


def test_a_link_to_a_directory_of_others_is_the_directory(place: Path) -> None:
    """Held, and stays so."""
    (place / "theirs").mkdir()
    (place / "theirs" / "a.txt").write_text("a", encoding="utf-8")
    (place / "data").symlink_to(place / "theirs")
    with pytest.raises(EmbeddedServerError, match="holds other files"):
        EmbeddedServer(place / "data").start()


def test_the_log_of_the_server_keeps_no_text_of_a_failed_statement(place: Path) -> None:
    """PostgreSQL logs failed statements with their contents."""
    with EmbeddedServer(place / "data") as server:
        dsn = server.start()
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("create table t (a text unique, b integer)")
            connection.execute("insert into t values ('canary-key')")
            for statement, values in (
                ("insert into t (a) values ('canary-key')", None),
                ("insert into t (b) values (%s)", ("canary-value",)),
                ("select 'canary-uuid'::uuid", None),
                ("do $$ begin raise exception 'canary-message' using detail = 'canary-detail'; end $$", None),
                ("selekt canary_syntax", None),
            ):
                with pytest.raises(psycopg.Error):
                    connection.execute(statement.encode(), values)
    log = (place / "data" / "server.log").read_text(encoding="utf-8")
    assert "ready to accept connections" in log
    assert "canary" not in log


@pytest.mark.anyio
async def test_a_session_that_ends_while_its_database_opens_ends_in_peace(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The server was stopped under a thread that still used it; the log then reported a lost connection."""
    inside, closed = threading.Event(), threading.Event()
    check, close = schema.check_version, EmbeddedServer.close

    def slow_check(connection: psycopg.Connection[Any]) -> None:
        inside.set()
        closed.wait(1)  # as long as the thread may be alone with the server
        check(connection)

    def told_close(self: EmbeddedServer) -> None:
        close(self)
        closed.set()

    monkeypatch.setattr(schema, "check_version", slow_check)
    monkeypatch.setattr(EmbeddedServer, "close", told_close)
    app = App(Settings(dsn=None, data_dir=place / "data", embedding_provider="none"))
    with anyio.fail_after(120):
        async with lifespan(app):
            await anyio.to_thread.run_sync(inside.wait, 100)
    assert "administrator command" not in caplog.text
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
    assert closed.is_set()
