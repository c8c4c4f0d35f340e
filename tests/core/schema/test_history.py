"""The stores that an upgrade takes, its words about those that it refuses, and the work that it leaves for later."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from pgmem.errors import UnsuitableDatabase
from pgmem.install import schema
from pgmem.install.history import MIGRATIONS, migrations
from tests.conftest import caller, past_the_pooler
from tests.core.schema.conftest import MakeDatabase, MakeRole, Program, by_psql, released_schema_of, schema_of
from tests.core.schema.test_upgrade import has_what_was_saved, install_released
from tests.waiting import until_the_server_says

REFUSED = {
    "a revision that no release has": (
        "update pgmem.alembic_version set version_num = '20300101_ab'; update pgmem.schema_version set digest = 'x'",
        "A development state of pgmem wrote this store",
    ),
    "a newer release": (
        "update pgmem.alembic_version set version_num = '20300101_ab';"
        " update pgmem.schema_version set digest = 'x', release = '9.0.0'",
        r"A newer release of pgmem than .* wrote this store \(9.0.0\)",
    ),
    "another text of a migration": (
        "update pgmem.schema_file set digest = 'x' where path like 'migrations/0027%'",
        "A development state of pgmem wrote this store",
    ),
    "a migration that this release has not": (
        "insert into pgmem.schema_file values ('migrations/20300101_ab.py', 'x')",
        "A development state of pgmem wrote this store",
    ),
    "a number that several development states used": (
        "update pgmem.alembic_version set version_num = '0004'; delete from pgmem.schema_file",
        "A development state of pgmem wrote this store",
    ),
    "rows without their keys": (
        "alter table pgmem.edge drop constraint edge_pkey cascade",
        "The schema pgmem of this database is not complete",
    ),
    "no revision": ("drop table pgmem.alembic_version", "is not complete"),
    "an empty revision": ("delete from pgmem.alembic_version", "is not complete"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_store_of_another_history_is_refused_in_a_sentence_and_stays_as_it_is(dsn: str, case: str) -> None:
    change, message = REFUSED[case]
    with psycopg.connect(past_the_pooler(dsn), autocommit=True) as connection:
        connection.execute(change.encode())
    before = schema_of(dsn)
    with pytest.raises(UnsuitableDatabase, match=message) as refused:
        schema.upgrade(dsn)
    assert "Nothing was changed" in str(refused.value)
    assert schema_of(dsn) == before
    with pytest.raises(UnsuitableDatabase, match=message):
        schema.plan(dsn)


# SHA-256 of the SQL that the migrations of a release run, by revision: those of 0.1.0.
RELEASED = {
    "0001": "112e085e05a98a86ae327cdeac58558bd4361b022b79d148004c7ca052744128",
    "0002": "a77fcbbcbbb16a377c886693a99d172a6d6240f855a87ecb0a01fa7775d500a8",
    "0003": "c16f2df27a21de0472c94a7fc9bfee58f3cc85190b72e20cc57e48996e74f126",
    "0004": "f9aa4aeab3a89d806921437bf8b1e7abe9e5108797f2942f03b05fc3799f30bb",
    "0005": "719e07caadac43ae201c96f68dc4fa3ff87088dc1cc6fcfcf4276deb5ec575f8",
}


def test_a_released_migration_never_changes() -> None:
    digests = {each.revision: each.digest for each in migrations()}
    assert {revision: digests[revision] for revision in RELEASED} == RELEASED


def test_every_revision_after_the_numbered_ones_is_named_by_its_day() -> None:
    named = [each.revision for each in migrations() if not re.fullmatch(r"000[1-5]|0027", each.revision)]
    assert named
    assert [revision for revision in named if not re.fullmatch(r"20\d{6}_[a-z_]{1,23}", revision)] == []
    assert [name[:8] for name in named] == sorted(name[:8] for name in named)


def test_the_text_of_every_migration_is_recorded(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        recorded = connection.execute(
            "select path from pgmem.schema_file where path like 'migrations/%' order by path"
        ).fetchall()
    files = sorted(f"migrations/{path.name}" for path in (MIGRATIONS / "versions").glob("*.py"))
    assert [row[0] for row in recorded] == files


def test_the_script_for_a_dba_upgrades_a_store_too(
    database: MakeDatabase, program: Program, tmp_path: Path
) -> None:
    by_script, by_program = past_the_pooler(database()), past_the_pooler(database())
    for dsn in (by_script, by_program):
        install_released(dsn, program)
    by_psql(program, tmp_path / "upgrade.sql", by_script, "".join(schema.script()))
    schema.upgrade(by_program, ())
    assert schema_of(by_script) == schema_of(by_program)
    assert schema.upgrade(by_script, ()).changed is False
    has_what_was_saved(by_script)


def test_a_store_says_what_an_upgrade_would_do(database: MakeDatabase, program: Program) -> None:
    dsn = past_the_pooler(database())
    assert schema.plan(dsn).before is None
    install_released(dsn, program)
    before = schema_of(dsn)
    plan = schema.plan(dsn)
    assert re.fullmatch(r"0\.1\.0 \([0-9a-f]{8}\)", plan.before or "")
    assert len(plan.migrations) >= 2
    with psycopg.connect(dsn) as connection:
        nodes = connection.execute("select count(*) from pgmem.node").fetchone()
    assert (plan.tables["node"],) == nodes
    assert schema_of(dsn) == before
    schema.upgrade(dsn, ())
    assert schema.plan(dsn) == schema.Plan(schema.release(), (), False, {})


def test_an_interrupted_renewal_goes_on_where_it_was(database: MakeDatabase, program: Program) -> None:
    dsn = past_the_pooler(database())
    install_released(dsn, program)
    with psycopg.connect(dsn, autocommit=True) as connection:
        nodes = connection.execute("update pgmem.node set text_length = 999 where seq > 1").rowcount
    schema.upgrade(dsn, (), renew=False)
    with psycopg.connect(dsn, autocommit=True) as connection:
        steps = []
        while (row := connection.execute("select * from pgmem.renew(2)").fetchone()) and row[0] is not None:
            steps.append(row)
            if len(steps) == 3:
                break
        left = connection.execute("select count(*) from pgmem.node where text_length = 999").fetchone()
        assert left is not None
        assert 0 < left[0] < nodes
        assert schema.upgrade(dsn, ()).changed is False
        assert connection.execute("select count(*) from pgmem.node where text_length = 999").fetchone() == (
            0,
        )
        assert connection.execute("select from pgmem.renewal where done_at is null").fetchall() == []


def test_an_upgrade_waits_for_a_session_that_uses_the_store_and_names_it(
    database: MakeDatabase, program: Program
) -> None:
    dsn = past_the_pooler(database())
    install_released(dsn, program)
    with psycopg.connect(dsn) as other:
        other.execute("select count(*) from pgmem.node")
        lines = []

        def progress(line: str) -> None:
            lines.append(line)
            other.rollback()

        assert schema.upgrade(dsn, (), progress=progress).changed is True
        assert lines[0].startswith("waiting for sessions that use the store: ")
        assert f"pid {other.info.backend_pid}" in lines[0]


def test_an_upgrade_gives_up_on_a_session_that_stays(
    database: MakeDatabase, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "_ROUNDS", 1)
    dsn = past_the_pooler(database())
    install_released(dsn, program)
    before = released_schema_of(dsn)
    with psycopg.connect(dsn) as other:
        other.execute("select count(*) from pgmem.node")
        with pytest.raises(UnsuitableDatabase, match="Other sessions use the tables of pgmem"):
            schema.upgrade(dsn, ())
    assert released_schema_of(dsn) == before
    assert schema.upgrade(dsn, ()).changed is True


def test_an_upgrade_gives_way_to_a_save_instead_of_a_deadlock(empty: str, sql_folder: Path) -> None:
    """The save holds the memories and then asks for a view; the upgrade holds the views and then asks for the memories."""
    dsn = past_the_pooler(empty)
    schema.upgrade(dsn)
    for name in ("90-views", "95-triggers"):
        with (sql_folder / "core" / "install" / f"{name}.sql").open("a", encoding="utf-8") as chapter:
            chapter.write("\n-- changed\n")
    lines: list[str] = []
    waits = "exists (select from pg_stat_activity a where %(saver)s = any (pg_blocking_pids(a.pid)))"
    with psycopg.connect(dsn) as saver, ThreadPoolExecutor(1) as installer:
        saver.execute("select pgmem.save_session('begin', 'ferry')")

        def progress(line: str) -> None:
            lines.append(line)
            saver.commit()

        done = installer.submit(schema.upgrade, dsn, progress=progress)
        pid = saver.info.backend_pid
        until_the_server_says(waits, dsn, {"saver": pid}, "the upgrade does not wait for the save")
        assert saver.execute("select count(*) from pgmem.session").fetchone() == (1,)
        assert done.result(60).changed is True
    assert f"pid {pid}" in lines[0]


@pytest.mark.parametrize("has_called", [True, False])
def test_calls_that_wait_while_their_store_is_upgraded_are_answered(
    database: MakeDatabase, program: Program, monkeypatch: pytest.MonkeyPatch, has_called: bool
) -> None:
    """They have begun with functions of the last release, and go on when the types of those have more attributes."""
    monkeypatch.setattr(schema, "_WAIT_BRIEFLY", "set local lock_timeout = '1min'")
    dsn = past_the_pooler(database())
    install_released(dsn, program)
    blocked = (
        "(select count(*) from pg_stat_activity a where %(by)s = any (pg_blocking_pids(a.pid))) = %(waiting)s"
    )
    save = "select (pgmem.save_context('Said meanwhile ' || clock_timestamp(), 'shop')).status"
    search = "select count(*) from pgmem.search_memory('nothing of that', p_project_id => 'shop')"
    with psycopg.connect(dsn) as other, ExitStack() as stack:
        clients = stack.enter_context(ThreadPoolExecutor(3))
        sessions = [stack.enter_context(psycopg.connect(dsn, autocommit=True)) for _ in range(3)]

        def call(session: psycopg.Connection[tuple[object, ...]], text: str) -> object:
            return session.execute(text.encode()).fetchone()

        # A session that has called them before waits at the first table that they read, and not for their types.
        if has_called:
            assert [call(sessions[0], save), call(sessions[1], search)] == [("saved",), (0,)]
        last, _ = other.execute(schema._OUR_TABLES).fetchall()[-1]
        other.execute(sql.SQL("lock table pgmem.{} in access share mode").format(sql.Identifier(last)))
        done = clients.submit(schema.upgrade, dsn, ())
        by = {"by": other.info.backend_pid}
        until_the_server_says(blocked, dsn, {**by, "waiting": 1}, "the upgrade does not wait")
        calls = [clients.submit(call, sessions[0], save), clients.submit(call, sessions[1], search)]
        upgrading = "select a.pid from pg_stat_activity a where %(by)s = any (pg_blocking_pids(a.pid))"
        (pid,) = sessions[2].execute(upgrading.encode(), by).fetchone() or (0,)
        until_the_server_says(blocked, dsn, {"by": pid, "waiting": 2}, "the calls do not wait")
        other.rollback()
        assert done.result(60).changed is True
        assert [made.result(60) for made in calls] == [("saved",), (0,)]


def test_labels_that_pgmem_takes_for_itself_get_another_name_with_their_nodes(
    database: MakeDatabase, program: Program
) -> None:
    dsn = past_the_pooler(database())
    install_released(dsn, program)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            'select pgmem.init_schema(\'[{"name": "File"}]\', \'[{"name": "HOLDS", "from_labels": ["File"]}]\')'
        )
        connection.execute(
            "select pgmem.remember('File', '{\"name\": \"drawer 3\"}', p_project_id => 'shop')"
        )
    done = schema.upgrade(dsn, ())
    assert done.notices == ("The label File is one of pgmem now: yours is named OwnFile from now on.",)
    with psycopg.connect(dsn, autocommit=True) as connection:
        found = connection.execute("select label from pgmem.get_node('OwnFile', 'drawer 3')").fetchone()
        assert found == ("OwnFile",)
        assert connection.execute(
            "select from_labels from pgmem.relation where name = 'HOLDS'"
        ).fetchone() == (["OwnFile"],)
        connection.execute(
            "select pgmem.remember('OwnFile', '{\"name\": \"drawer 3\"}', p_project_id => 'shop')"
        )
        count = "select count(*) from pgmem.node where label = 'OwnFile'"
        assert connection.execute(count).fetchone() == (1,)


@pytest.mark.parametrize("back", [False, True], ids=["gone", "made again"])
def test_a_store_works_on_after_its_extensions_were_dropped(empty: str, back: bool) -> None:
    extensions = schema.upgrade(empty).extensions
    with psycopg.connect(empty, autocommit=True, row_factory=dict_row) as connection:
        call = caller(connection)
        call("save_session", objective="open", project_id="shop")
        call("save_decision", title="Take cards", rationale="all banks", project_id="shop")
        if "vector" in extensions:
            call("register_model", name="test:two", dimensions=2)
        for name in extensions:
            connection.execute(f"drop extension {name} cascade".encode())
    schema.upgrade(empty, extensions if back else ())
    has_what_is_saved_and_takes_more(empty)
    if back and "vector" in extensions:
        with psycopg.connect(empty) as connection:
            assert connection.execute("select waiting from pgmem.embedding_status()").fetchone() == (3,)


def has_what_is_saved_and_takes_more(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        call = caller(connection)
        assert call("search_memory", query="cards", project_id="shop")["title"] == "Take cards"
        saved = call("save_decision", title="Refuse cash", rationale="r", project_id="shop")
        assert saved["status"] == "saved"
        graph = connection.execute("select age_version is not null as graph from pgmem.status()").fetchone()
        if graph == {"graph": True}:
            assert connection.execute("select * from pgmem.check_graph()").fetchall() == []


@pytest.mark.parametrize(
    ("sqlstate", "advice"),
    [
        ("53100", "Make room on the disk of the server, then run pgmem init again."),
        pytest.param(
            "58P01",
            "Install the package of that extension on the server again, then run pgmem init.",
            marks=pytest.mark.long,
        ),
        pytest.param("57P01", "Run pgmem init again when the server answers.", marks=pytest.mark.long),
    ],
    ids=["disk full", "library gone", "server stops"],
)
def test_a_server_that_fails_in_the_middle_is_answered_with_what_to_do(
    database: MakeDatabase, program: Program, sql_folder: Path, sqlstate: str, advice: str
) -> None:
    dsn = past_the_pooler(database())
    install_released(dsn, program)
    before = released_schema_of(dsn)
    chapter = sql_folder / "core/install/95-triggers.sql"
    text = chapter.read_text(encoding="utf-8")
    failing = f"do $$ begin raise exception using errcode = '{sqlstate}', message = 'it cannot'; end $$;"
    chapter.write_text(f"{text}\n{failing}\n", encoding="utf-8")
    with pytest.raises(UnsuitableDatabase) as refused:
        schema.upgrade(dsn, ())
    assert str(refused.value) == f"it cannot. {advice} The store was not changed."
    assert released_schema_of(dsn) == before
    chapter.write_text(text, encoding="utf-8")
    assert schema.upgrade(dsn, ()).changed is True


def test_a_login_that_does_not_own_the_store_gets_the_name_of_the_owner(
    database: MakeDatabase, role: MakeRole, program: Program
) -> None:
    dsn = past_the_pooler(database())
    install_released(dsn, program)
    before = schema_of(dsn)
    with pytest.raises(
        UnsuitableDatabase, match="Run pgmem init as the role that owns the store, or as a superuser"
    ):
        schema.upgrade(role(dsn), ())
    assert schema_of(dsn) == before
