"""Backup and restore of the embedded server, with real servers and agents that write meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from typer.testing import CliRunner, Result

from pgmem.cli import app
from pgmem.errors import EmbeddedServerError, InvalidArgument
from pgmem.install import schema
from pgmem.server.backup import backup, restore
from pgmem.server.embedded import EmbeddedServer
from tests.conftest import Call, caller
from tests.core.moving.conftest import NewStore, exported, imported
from tests.fixtures.clusters import CopyTo

Run = Callable[..., Result]

pytestmark = pytest.mark.embedded
WRITER = """
import sys, anyio
from pathlib import Path
from pgmem import Memory
from pgmem.settings import Settings

async def run():
    settings = Settings(dsn=sys.argv[1], data_dir=Path(sys.argv[2]), EMBEDDING_PROVIDER="none")
    async with Memory.connect(settings) as memory:
        number = 0
        while True:
            saved = await memory.save_decision(f"{sys.argv[3]}{number}", "r", "shop")
            assert saved.status == "saved", saved
            print(number, flush=True)
            number += 1

anyio.run(run)
"""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that the user of the server can reach, also if root runs the tests."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(
        prefix="pgmem-backup-", dir=memory if memory.is_dir() else "/tmp", ignore_cleanup_errors=True
    ) as made:
        Path(made).chmod(0o711)
        yield Path(made)


@pytest.fixture(scope="module")
def home(folder: Path, installed: CopyTo) -> Iterator[EmbeddedServer]:
    """An embedded server with a project."""
    installed(folder / "home")
    with EmbeddedServer(folder / "home") as server:
        verbs(server.start(), lambda call: call("save_session", objective="open the shop", project_id="shop"))
        yield server


@pytest.fixture(scope="module")
def spare(folder: Path, cluster: CopyTo) -> Iterator[EmbeddedServer]:
    """A second embedded server, to restore into."""
    cluster(folder / "spare")
    with EmbeddedServer(folder / "spare") as server:
        yield server


@pytest.fixture
def run(folder: Path) -> Run:
    """`run("backup", …)`: a command on an embedded server."""

    def run(*arguments: str, **variables: str | None) -> Result:
        plain = {"PGMEM_DSN": None, "EMBEDDING_PROVIDER": "none", "COLUMNS": "200"}
        return CliRunner().invoke(app, list(arguments), env={**plain, **variables})

    return run


def verbs(dsn: str, use: Callable[[Call], Any]) -> Any:
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        return use(caller(connection))


def test_a_backup_while_agents_write_is_one_moment_and_restores_whole(
    home: EmbeddedServer, spare: EmbeddedServer, folder: Path
) -> None:
    dsn = home.start()
    command = [sys.executable, "-c", WRITER, dsn, str(folder)]
    with ExitStack() as stack:
        writers = [
            stack.enter_context(subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True))
            for name in ("ada", "bob")
        ]
        for writer in writers:
            stack.callback(writer.kill)
            assert writer.stdout is not None
            for _ in range(5):
                assert writer.stdout.readline()
        done = backup(home, folder / "live")
        for writer in writers:
            assert writer.poll() is None
            assert writer.stdout is not None
            assert writer.stdout.readline()  # it goes on
    restored = restore(spare, folder / "live", replace=True)
    assert restored == done
    away = spare.start()
    before, after = exported(dsn), exported(away)
    with psycopg.connect(away) as connection:
        said = [
            row[0]
            for row in connection.execute(
                "select title from pgmem.node where label = 'Decision' order by seq"
            )
        ]
    for name in ("ada", "bob"):
        numbers = [int(title.removeprefix(name)) for title in said if title.startswith(name)]
        assert numbers == list(range(len(numbers)))
        assert len(numbers) >= 5
    # No line is there that is not also at home, and the first ones are those of home.
    assert set(after[1:-1]) <= set(before[1:])
    assert verbs(away, lambda call: call("check_graph")) == {}
    counted = verbs(away, lambda call: call("run_cypher", query="MATCH (d:Decision) RETURN count(d) AS n"))
    assert counted["run_cypher"] == {"n": len(said)}
    assert verbs(away, lambda call: call("search_memory", query="ada3"))["title"] == "ada3"
    assert (
        verbs(away, lambda call: call("save_decision", title="ada3", rationale="r", project_id="shop"))[
            "dedup_outcome"
        ]
        == "duplicate_skip"
    )


def test_a_backup_is_readable_by_its_owner_alone_and_complete_or_absent(
    home: EmbeddedServer, folder: Path
) -> None:
    target = folder / "private"
    backup(home, target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o700
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in target.iterdir()} == {
        "pgmem.dump": 0o600,
        "manifest.json": 0o600,
    }
    with pytest.raises(InvalidArgument, match="is not empty"):
        backup(home, target)
    assert list(folder.glob("*.part-*")) == []
    with psycopg.connect(home.start()) as connection:
        names = [
            row[0] for row in connection.execute("select datname from pg_database where not datistemplate")
        ]
    assert sorted(names) == ["pgmem", "postgres"]


KILLED = """
import os, signal, sys
from pathlib import Path
from pgmem.server.backup import backup
from pgmem.server.embedded import EmbeddedServer

def fail(step):
    if step.startswith("restoring"):
        import pgmem.server.backup as module
        module._fill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # the dump is there, and the database made

backup(EmbeddedServer(Path(sys.argv[1])), Path(sys.argv[2]), fail)
"""


def test_what_a_killed_backup_left_is_cleared_away_by_the_next(home: EmbeddedServer, folder: Path) -> None:
    place = folder / "after a kill"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder / "home"), str(place)], capture_output=True, check=False
    )
    assert killed.returncode == -9, killed.stderr

    def left() -> tuple[list[str], list[str]]:
        with psycopg.connect(home.start()) as connection:
            found = connection.execute(
                "select datname::text from pg_database where datname ~ '^pgmem_restored_'"
            ).fetchall()
        return sorted(p.name for p in folder.iterdir() if ".part-" in p.name), [name for (name,) in found]

    assert [len(things) for things in left()] == [1, 1]
    assert not place.exists()
    backup(home, place)
    assert left() == ([], [])
    assert {p.name for p in place.iterdir()} == {"pgmem.dump", "manifest.json"}


def test_a_dump_that_gives_other_rows_is_found_out(
    home: EmbeddedServer, spare: EmbeddedServer, folder: Path
) -> None:
    backup(home, folder / "good")
    for name, spoil, message in (
        ("cut", lambda path: os.truncate(path / "pgmem.dump", 1000), "does not match its checksum"),
        ("lost", lambda path: (path / "pgmem.dump").unlink(), "does not match its checksum"),
        ("empty", lambda path: (path / "manifest.json").unlink(), "is not a backup of pgmem backup"),
        (
            "odd",
            lambda path: (path / "manifest.json").write_text("[]"),
            "is not a backup of pgmem backup",
        ),
        ("later", lambda path: edit(path, pgmem_backup=2), "was written by a later pgmem"),
    ):
        shutil.copytree(folder / "good", folder / name)
        spoil(folder / name)
        with pytest.raises(InvalidArgument, match=message):
            restore(spare, folder / name, replace=True)
    tables = json.loads((folder / "good" / "manifest.json").read_text())["tables"]
    shutil.copytree(folder / "good", folder / "wrong")
    edit(folder / "wrong", tables={**tables, "node": [tables["node"][0], "1"]})
    with pytest.raises(EmbeddedServerError, match="differs from the database in node"):
        restore(spare, folder / "wrong", replace=True)
    with psycopg.connect(spare.start()) as connection:
        names = [
            row[0] for row in connection.execute("select datname from pg_database where not datistemplate")
        ]
    assert sorted(names) == ["pgmem", "postgres"]


def edit(path: Path, **changed: object) -> None:
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, **changed}))


PREPARED = """
create function public.run() returns text language plpgsql as $$
begin
  copy (select 1) to program 'cat > {file}';
  return 'ran';
end $$;
create function public.on_save() returns trigger language plpgsql as $$ begin perform public.run(); return new; end $$;
create table public.bait as select 1 as one;
create view public.seen as select one from public.bait;
create materialized view pgmem.summary as select 1 as one with no data;
create or replace rule prepared as on insert to pgmem.relation do also select public.run();
create trigger prepared before insert on pgmem.node for each row execute function public.on_save();
alter table pgmem.upkeep alter column task set default public.run();
alter table pgmem.edge add constraint prepared check (coalesce(props::text, public.run()) <> '') not valid;
create index prepared on pgmem.label ((upper(name)));
update pgmem.setting set description = public.run() where false;
insert into pgmem.verb select (jsonb_populate_record(v, '{{"name": "prepared", "place": 9999}}')).* from pgmem.verb v limit 1;
"""


def test_the_code_of_a_backup_that_another_person_prepared_is_not_run(
    spare: EmbeddedServer, folder: Path, installed: CopyTo, run: Run
) -> None:
    """Triggers, defaults, constraints, indexes, functions and views of the dump: none is in the restored store."""
    file = folder / "ran"
    installed(folder / "prepared")
    with EmbeddedServer(folder / "prepared") as server:
        dsn = server.start()
        verbs(dsn, lambda call: call("save_session", objective="open the shop", project_id="shop"))
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(PREPARED.format(file=file).encode())
        made = run("backup", str(folder / "bait"), PGMEM_DATA_DIR=str(folder / "prepared"))
    named = (
        "pgmem restore leaves out what is outside schema pgmem: function public.on_save(), function public.run(), "
        "table public.bait, view public.seen.\n"
    )
    assert (made.exit_code, made.stderr) == (0, named)
    file.unlink(missing_ok=True)  # the check constraint may have run at home
    done = run("restore", "--replace", str(folder / "bait"), PGMEM_DATA_DIR=str(folder / "spare"))
    assert (done.exit_code, done.stderr) == (0, named)
    away = spare.start()
    verbs(away, lambda call: call("save_decision", title="A safe", rationale="r", project_id="shop"))
    with psycopg.connect(away) as connection:
        left = connection.execute(
            "select proname from pg_proc where proname in ('run', 'on_save') union all"
            " select relname from pg_class where relname in ('prepared', 'bait', 'seen', 'summary') union all"
            " select tgname from pg_trigger where tgname = 'prepared' union all"
            " select conname from pg_constraint where conname = 'prepared' union all"
            " select rulename from pg_rewrite where rulename = 'prepared' union all"
            " select name from pgmem.verb where name = 'prepared' union all"
            " select pg_get_expr(adbin, adrelid) from pg_attrdef where pg_get_expr(adbin, adrelid) ~ 'run'"
        ).fetchall()
    assert left == []
    assert not file.exists()


def test_the_backup_of_another_server_brings_no_token_and_its_settings_are_named(
    home: EmbeddedServer, spare: EmbeddedServer, folder: Path, run: Run
) -> None:
    dsn = home.start()

    def active(of: str) -> int:
        with psycopg.connect(of) as connection:
            tokens = connection.execute("select active from pgmem.list_tokens()").fetchall()
        return sum(one for (one,) in tokens)

    verbs(dsn, lambda call: call("issue_token", name="his", user_id="mallory", for_person=True))
    verbs(dsn, lambda call: call("set_setting", name="trust_mcp", value="1.0"))
    try:
        backup(home, folder / "his")
        again = run("restore", "--replace", str(folder / "his"), PGMEM_DATA_DIR=str(folder / "home"))
        assert (again.exit_code, again.stderr) == (0, "")
        assert active(home.start()) == 1
        done = run("restore", "--replace", str(folder / "his"), PGMEM_DATA_DIR=str(folder / "spare"))
        assert done.exit_code == 0, done.output
        assert "another server: 1 token was revoked" in done.stderr
        assert "trust_mcp 1.0 (here 0.5)" in done.stderr
        assert active(spare.start()) == 0
    finally:
        verbs(home.start(), lambda call: call("set_setting", name="trust_mcp", value="0.5"))
        # A store with a token of a user has tenants, and the tests behind this one name none.
        with psycopg.connect(home.start()) as connection:
            connection.execute("select pgmem.revoke_token(t.id) from pgmem.list_tokens() t")


def test_memories_that_are_there_are_let_go_of_on_demand_only_and_never_under_a_client(
    home: EmbeddedServer, spare: EmbeddedServer, folder: Path
) -> None:
    backup(home, folder / "again")
    restore(spare, folder / "again", replace=True)
    with pytest.raises(
        InvalidArgument, match=r"The database holds \d+ nodes: name another --data-dir, or send --replace"
    ):
        restore(spare, folder / "again")
    dsn = spare.start()
    with psycopg.connect(dsn) as client:
        with pytest.raises(EmbeddedServerError, match="Others use the database, so nothing was replaced"):
            restore(spare, folder / "again", replace=True)
        assert client.execute("select count(*) > 0 from pgmem.node").fetchone() == (True,)


@pytest.mark.long
def test_the_way_out_of_another_major(folder: Path, installed: CopyTo, run: Run) -> None:
    """The steps of a person when a new pgmem brings a new PostgreSQL: the old one backs up, the new one restores."""
    data = folder / "old"
    surroundings = {"PGMEM_DATA_DIR": str(data)}
    installed(data)
    with EmbeddedServer(data) as server:
        dsn = server.start()
        schema.upgrade(dsn, roles=True)
        verbs(dsn, lambda call: call("save_session", objective="open the shop", project_id="shop"))
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("create role carol login")
        verbs(dsn, lambda call: call("bind_role", role="carol", org_id="acme", user_id="carol"))
        lines = exported(dsn)
    version = data / "postgres" / "PG_VERSION"
    ours = version.read_text()
    version.write_text("17\n")
    for command in (("status",), ("backup", str(folder / "out")), ("restore", str(folder / "out"))):
        refused = run(*command, **surroundings)
        assert refused.exit_code == 1
        if command[0] != "restore":
            assert refused.stderr == (
                f"pgmem: {data / 'postgres'} is of PostgreSQL 17 and this pgmem brings PostgreSQL {ours.strip()}: run "
                "`pgmem backup` with the pgmem that made it, then move the directory away and run `pgmem restore` here\n"
            )
    version.write_text(ours)  # the pgmem that made it
    out = run("backup", str(folder / "out"), **surroundings)
    assert out.exit_code == 0, out.stderr
    assert out.stdout.startswith(f"Backed up to {folder / 'out'}: 2 nodes, ")
    data.rename(folder / "kept")
    back = run("restore", str(folder / "out"), **surroundings)
    assert back.exit_code == 0, back.stderr
    assert back.stdout.startswith(f"Restored into {data}: 2 nodes, ")
    assert back.stderr == "Create these tenants' logins again by hand: carol.\n"
    assert json.loads(run("status", "--json", **surroundings).stdout)["isolation_layers"] == 2
    assert run("graph", "check", **surroundings).stdout == "The graph agrees with the tables.\n"
    with EmbeddedServer(data) as server:
        assert exported(server.start())[1:] == lines[1:]


def test_a_store_moves_from_the_embedded_server_to_another_and_back(
    home: EmbeddedServer, new_store: NewStore, folder: Path, run: Run
) -> None:
    server, file = new_store(), folder / "moved.jsonl.gz"
    surroundings = {"PGMEM_DATA_DIR": str(folder / "home")}
    assert run("export", str(file), **surroundings).exit_code == 0
    assert run("import", str(file), "--own", PGMEM_DSN=server).exit_code == 0
    lines = exported(home.start())
    assert exported(server)[1:] == lines[1:]
    done = imported(home.start(), exported(server))
    assert (done.taken, done.present) == (0, len(lines) - 2)


def test_another_server_is_backed_up_with_its_own_programs(run: Run, folder: Path) -> None:
    for command in ("backup", "restore"):
        refused = run(command, str(folder / "none"), PGMEM_DSN="host=127.0.0.1 port=1")
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert "pg_dump" in refused.stderr
    assert not (folder / "none").exists()
