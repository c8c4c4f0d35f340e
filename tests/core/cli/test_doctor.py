"""`pgmem doctor`: each thing that can be wrong is made, and found with its remedy."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow

from pgmem.database.database import Database
from pgmem.doctor import database as examine
from pgmem.models import MemoryScope
from pgmem.outbox import QueuedSave
from pgmem.settings import Settings, misspelt
from tests.conftest import Call, new_database, renew_sessions
from tests.core.cli.conftest import Run
from tests.core.sql.test_upkeep import import_titles
from tests.fixtures.verbs import Rows

Found = dict[str, dict[str, str | None]]
Examine = Callable[..., tuple[int, Found]]


@pytest.fixture
def surroundings(surroundings: dict[str, str | None], store: str) -> dict[str, str | None]:
    """A store is examined, also behind a front, which doctor --cells examines."""
    return {**surroundings, "PGMEM_DSN": store}


@pytest.fixture
def doctor(run: Run, tmp_path: Path) -> Examine:
    """`doctor()`: the exit code, and the findings by subject; the home directory holds no settings."""

    def doctor(**variables: str | None) -> tuple[int, Found]:
        result = run("doctor", "--json", **{"HOME": str(tmp_path), "PYTHONPATH": "", **variables})
        assert result.stderr == ""
        return result.exit_code, {each["check"]: each for each in json.loads(result.stdout)}

    return doctor


@pytest.mark.usefixtures("age", "vectors")
def test_nothing_is_wrong_with_a_good_store(run: Run, doctor: Examine, call: Call) -> None:
    code, found = doctor()
    assert code == 0
    checks = {"server", "vector", "age", "jit", "shared_buffers", "schema", "graph", "embeddings", "saves"}
    assert set(found) >= {*checks, "isolation", "outbox"}
    assert {check for check, each in found.items() if each["level"] == "look"} == set()
    assert all(each["remedy"] for each in found.values() if each["level"] == "hint")
    shown = run("doctor")
    assert shown.exit_code == 0
    assert "ok    the graph agrees with the tables\n" in shown.stdout
    isolation = {
        1: "hint  users are kept apart by pgmem's functions only: enough for one user",
        2: "ok    verbs and row-level security isolate tenants",
    }
    assert isolation[call("status")["isolation_layers"]] in shown.stdout


def test_a_server_that_does_not_answer(run: Run, doctor: Examine) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        dsn = f"host=127.0.0.1 port={taken.getsockname()[1]} dbname=x"
        code, found = doctor(PGMEM_DSN=dsn)
        shown = run("doctor", PGMEM_DSN=dsn).stdout
    assert (code, set(found)) == (1, {"server", "outbox"})
    assert "does not answer" in str(found["server"]["message"])
    assert shown.startswith("look  the server does not answer: ")
    assert "correct host, port, database and login of PGMEM_DSN" in shown


@contextmanager
def database(server: str, options: str) -> Iterator[str]:
    name = f"pgmem_test_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"create database {name} template template0 {options}".encode())
        try:
            yield make_conninfo(server, dbname=name)
        finally:
            admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.mark.parametrize(
    "options",
    ["encoding 'UTF8' locale_provider libc locale 'C'", "encoding 'LATIN1' locale_provider libc locale 'C'"],
    ids=["collation", "encoding"],
)
def test_a_database_whose_collation_or_encoding_knows_no_accents(
    server: str, doctor: Examine, options: str
) -> None:
    with database(server, options) as dsn:
        code, found = doctor(PGMEM_DSN=dsn)
    assert (code, found["collation"]["level"]) == (1, "look")
    assert "create database pgmem template template0 encoding 'UTF8'" in str(found["collation"]["remedy"])


@pytest.mark.usefixtures("age", "vectors")
def test_extensions_that_are_offered_and_not_installed(
    server: str, template_text_only: str, doctor: Examine
) -> None:
    with new_database(server, template_text_only) as dsn:
        code, found = doctor(PGMEM_DSN=dsn)
    assert code == 0
    for name, without in (("vector", "by full text only"), ("age", "everything but Cypher")):
        assert found[name]["level"] == "hint"
        assert without in str(found[name]["message"])
        assert f"create extension {name}" in str(found[name]["remedy"])


def test_no_schema_and_an_old_one(
    server: str, doctor: Examine, connection: psycopg.Connection[DictRow]
) -> None:
    with new_database(server, "template0") as empty:
        code, found = doctor(PGMEM_DSN=empty)
        assert (code, found["schema"]["remedy"]) == (1, "pgmem init")
        assert found["schema"]["message"] == "This database holds no pgmem schema yet."
    connection.execute("update pgmem.schema_version set release = '0.0.1', digest = 'of an older release'")
    code, found = doctor()
    assert (code, found["schema"]["remedy"]) == (1, "pgmem init")
    assert "holds pgmem schema 0.0.1" in str(found["schema"]["message"])


@pytest.mark.usefixtures("age")
def test_a_graph_that_differs_from_the_tables(
    run: Run, doctor: Examine, call: Call, connection: psycopg.Connection[DictRow]
) -> None:
    call("save_session", objective="Open the shop", project_id="shop")
    call("save_decision", title="a b c", rationale="r", project_id="shop")
    connection.execute('delete from pgmem_graph."Decision"')
    code, found = doctor()
    assert code == 1
    assert found["graph"]["message"] == "the graph differs from the tables in Decision"
    assert found["graph"]["remedy"] == "run pgmem graph rebuild"
    assert run("graph", "rebuild").exit_code == 0
    assert doctor()[1]["graph"]["level"] == "ok"


@pytest.fixture
def extension(superuser: None, connection: psycopg.Connection[DictRow]) -> Callable[[str, str], None]:
    """`extension("vector", "0.8.1")`: what the catalog says that is installed."""
    connection.execute("set allow_system_table_mods = on")

    def extension(name: str, version: str) -> None:
        connection.execute("update pg_extension set extversion = %s where extname = %s", (version, name))

    return extension


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize(
    ("version", "level", "named"),
    [
        ("0.8.0", "hint", "CVE-2026-3172"),
        ("0.8.1", "hint", "pgmem builds its own without workers"),
        ("0.8.2", "hint", "can damage an HNSW index at vacuum"),
        ("0.8.3", "hint", "can damage an HNSW index at vacuum"),
        ("0.8.4", "ok", "pgvector 0.8.4"),
        ("0.10.0", "ok", "pgvector 0.10.0"),
    ],
)
def test_a_pgvector_with_known_damage(
    call: Call,
    doctor: Examine,
    extension: Callable[[str, str], None],
    version: str,
    level: str,
    named: str,
) -> None:
    extension("vector", version)
    call("enable_vector")
    code, found = doctor()
    assert (code, found["vector"]["level"]) == (0, level)
    assert named in str(found["vector"]["message"])
    if level == "hint":
        assert "alter extension vector update" in str(found["vector"]["remedy"])


@pytest.mark.usefixtures("vectors")
def test_an_index_that_an_old_pgvector_would_build_in_parallel(
    run: Run,
    doctor: Examine,
    extension: Callable[[str, str], None],
    connection: psycopg.Connection[DictRow],
) -> None:
    extension("vector", "0.8.1")
    connection.execute("alter table pgmem.embedding reset (parallel_workers)")
    code, found = doctor()
    assert (code, found["vector"]["level"]) == (1, "look")
    assert "run pgmem init" in str(found["vector"]["remedy"])
    assert run("init").exit_code == 0
    assert doctor()[1]["vector"]["level"] == "hint"


@pytest.mark.parametrize(
    ("number", "remedy"),
    [(150017, "15.18"), (170009, "17.10"), (180003, "18.4"), (180004, None), (190000, None)],
)
def test_a_release_of_postgresql_with_a_known_hole(number: int, remedy: str | None) -> None:
    # A server of that release takes its packages; which releases have the hole is PostgreSQL's own list.
    found = {each.check: each for each in examine._server({"number": number, "version": "x"})}
    assert found["server"].level == "ok"
    if remedy is None:
        assert set(found) == {"server"}
    else:
        assert found["server_release"].level == "hint"
        assert f"{remedy} or later" in str(found["server_release"].remedy)


@pytest.mark.usefixtures("vectors")
def test_an_index_of_vectors_that_is_missing(
    run: Run, doctor: Examine, call: Call, connection: psycopg.Connection[DictRow]
) -> None:
    call("set_setting", name="vector_index_limit", value="2")
    call("register_model", name="test:two", dimensions=2)
    call("save_session", objective="Open the shop", project_id="shop")
    for n in range(3):
        call("save_context", content=f"note {n}", project_id="shop")
    connection.execute(
        "insert into pgmem.embedding (node_seq, model_id, tenant, project_seq, text_hash, vector, indexed)"
        " select seq, 1, '', project_seq, '', '[1,2]', true from pgmem.node where label = 'Context'"
    )
    connection.execute("delete from pgmem.embedding_queue")
    code, found = doctor()
    assert (code, found["vector_index"]["level"]) == (1, "look")
    assert "the index of model test:two is missing" in str(found["vector_index"]["message"])
    assert run("worker", "--once").exit_code == 0
    code, found = doctor()
    assert (code, "vector_index" in found) == (0, False)


@pytest.mark.usefixtures("age", "superuser")
def test_a_graph_whose_paths_are_answered_from_an_old_state(
    run: Run, doctor: Examine, connection: psycopg.Connection[DictRow]
) -> None:
    # AGE 1.8 has this function; before it a function of the same name replaces it and has nothing to renew.
    connection.execute(
        "do $$ begin if to_regprocedure('ag_catalog.age_invalidate_graph_cache()') is null then"
        " create function ag_catalog.age_invalidate_graph_cache() returns trigger language plpgsql"
        " as 'begin return null; end'; end if; end $$"
    )
    connection.execute('drop trigger if exists _age_cache_invalidate on pgmem_graph."Decision"')
    code, found = doctor()
    assert (code, found["graph"]["level"]) == (1, "look")
    assert "no trigger _age_cache_invalidate" in str(found["graph"]["message"])
    assert run("init").exit_code == 0
    assert doctor()[1]["graph"]["level"] == "ok"


@pytest.mark.usefixtures("vectors")
def test_texts_that_wait_for_a_vector_and_texts_that_get_none(
    run: Run, doctor: Examine, call: Call, connection: psycopg.Connection[DictRow]
) -> None:
    call("register_model", name="static:l2_supercat_256", dimensions=256)
    call("save_session", objective="Open the shop", project_id="shop")
    code, found = doctor()
    assert (code, found["embeddings"]["message"]) == (1, "1 text has no vector yet")
    assert "pgmem worker" in str(found["embeddings"]["remedy"])
    connection.execute("update pgmem.embedding_queue set attempts = 5")
    assert "tried five times" in str(doctor()[1]["embeddings"]["message"])
    assert run("worker", "--once", EMBEDDING_PROVIDER="static").exit_code == 0
    assert doctor()[1]["embeddings"]["level"] == "ok"


def test_an_order_of_title_words_that_is_not_the_workers_to_renew(
    doctor: Examine, call: Call, rows: Rows
) -> None:
    call("save_session", objective="Open", project_id="shop")
    call("save_decision", title="Sell tea", rationale="r", project_id="shop")
    import_titles(rows, 1000)
    assert "title_words" not in doctor()[1]
    call("set_setting", name="dedup_refresh_limit", value="1000")
    found = doctor()[1]["title_words"]
    assert (found["level"], "1001 titles" in str(found["message"])) == ("hint", True)
    assert call("refresh_dedup", if_worth=True) == {"refresh_dedup": 0}
    call("refresh_dedup")
    assert "title_words" not in doctor()[1]


def test_a_variable_that_looks_like_a_setting(doctor: Examine) -> None:
    code, found = doctor(PGMEM_DNS="postgresql://elsewhere/memory", PGMEM_HOOKS="off", PGMEM_CAPTURE="0")
    assert code == 1
    assert found["environment"] == {
        "check": "environment",
        "level": "look",
        "message": "Unknown setting PGMEM_DNS is ignored",
        "remedy": "set PGMEM_DSN, if that is meant",
    }


@pytest.mark.parametrize(
    "name", ["PGMEM_CAPTURE", "PGMEM_EMBEDDED", "PGMEM_HOOKS", "PGMEM_PROJECT", "PGMEM_TEST_DSN"]
)
def test_other_variables_of_pgmem_are_not_misspellings(name: str) -> None:
    assert misspelt([name, "DEFAULT_ORG_ID", "PGMEM_DSN", "DSN"], []) == {}


def test_a_variable_that_looks_like_a_row_of_the_store(doctor: Examine) -> None:
    found = doctor(PGMEM_FOCUS_LIMITS="3", PGMEM_TURN_DAYS="90")[1]["environment"]
    assert (found["message"], found["remedy"]) == (
        "Unknown setting PGMEM_FOCUS_LIMITS is ignored",
        "set PGMEM_FOCUS_LIMIT, if that is meant",
    )


def test_a_variable_of_a_family_that_has_no_such_row(doctor: Examine) -> None:
    found = doctor(HYBRID_ALFA="0.9", HYBRID_GRAPH_BETA="0.15")[1]["environment"]
    assert (found["message"], found["remedy"]) == (
        "Unknown setting HYBRID_ALFA is ignored",
        "set PGMEM_HYBRID_ALPHA, if that is meant",
    )


@pytest.mark.parametrize(
    ("variable", "value", "row", "stored"),
    [
        ("HYBRID_ALPHA", "0.9", "hybrid_alpha", "0.5"),
        ("PGMEM_FOCUS_LIMIT", "3", "focus_limit", "10"),
    ],
)
def test_a_variable_that_differs_from_the_store(
    run: Run, doctor: Examine, variable: str, value: str, row: str, stored: str
) -> None:
    said = f"{variable} is {value} and the store has {stored}, which is in force"
    remedy = f"run pgmem config set {row} {value}, or unset the variable"
    found = doctor(**{variable: value})[1]["environment"]
    assert (found["level"], found["message"], found["remedy"]) == ("hint", said, remedy)
    assert run("status", **{variable: value}).stderr == f"pgmem: {said}: {remedy}.\n"
    assert "environment" not in doctor(**{variable: f"{float(stored)}"})[1]
    assert run("status", **{variable: stored}).stderr == ""


def test_saves_that_are_not_saved(doctor: Examine, call: Call) -> None:
    call("save_session", objective="Open the shop", project_id="shop")
    call("save_decision", title="a b c", rationale="r", project_id="shop")
    call("save_decision", title="a b d", rationale="r", project_id="shop")
    code, found = doctor()
    assert (code, found["saves"]["message"]) == (1, "1 save is unresolved")
    assert "pgmem review" in str(found["saves"]["remedy"])


def test_saves_that_wait_in_the_outbox(run: Run, doctor: Examine, store: str, tmp_path: Path) -> None:
    away = make_conninfo(store, host="/nonexistent")
    queued = QueuedSave(
        save_id=uuid4(),
        verb="save_session",
        params={"objective": "Open the shop", "project_id": "shop"},
        scope=MemoryScope(),
        source="mcp",
        made_at=datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
    )
    outbox = Database(Settings(dsn=away, data_dir=tmp_path / "data")).outbox
    outbox.put(queued)
    code, found = doctor(PGMEM_DSN=away)
    assert code == 1
    assert str(found["outbox"]["message"]).startswith("1 save is queued in ")
    assert str(found["outbox"]["message"]).endswith("the oldest since 2026-01-02 03:04 UTC")
    assert doctor()[1]["outbox"]["level"] == "ok"  # they are for another database
    (path,) = outbox.pending()
    path.write_text("{", encoding="utf-8")
    assert outbox.read(path) is None
    assert "cannot be read and were renamed" in str(doctor()[1]["outbox"]["message"])


@pytest.mark.direct("a cell has the roles")
def test_one_wall_is_wrong_once_there_are_tenants(doctor: Examine, call: Call) -> None:
    assert doctor()[1]["isolation"]["level"] == "hint"
    call("issue_token", org_id="acme")
    code, found = doctor()
    assert (code, found["isolation"]["level"]) == (1, "look")
    assert "pgmem init --roles" in str(found["isolation"]["remedy"])


def test_jit_that_is_on(doctor: Examine, store: str, connection: psycopg.Connection[DictRow]) -> None:
    name = str(conninfo_to_dict(store)["dbname"])
    connection.execute(sql.SQL("alter database {} set jit = on").format(sql.Identifier(name)))
    renew_sessions(store, connection.info.backend_pid)
    code, found = doctor()
    assert (code, found["jit"]["level"]) == (0, "hint")
    connection.execute(str(found["jit"]["remedy"]).encode())
    renew_sessions(store, connection.info.backend_pid)
    assert doctor()[1]["jit"]["level"] == "ok"


@pytest.mark.embedded
def test_a_small_shared_memory(doctor: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    # A smaller /dev/shm takes a container; its effect on an index build is known from them.
    monkeypatch.setattr(examine, "shared_memory_is_small", lambda: True)
    code, found = doctor()
    assert (code, found["shared_memory"]["level"]) == (0, "hint")
    assert "--shm-size=256m" in str(found["shared_memory"]["remedy"])


def test_a_replica_that_is_none(doctor: Examine, store: str) -> None:
    code, found = doctor(PGMEM_READ_DSN=store)
    assert (code, found["replica"]["level"]) == (1, "look")
    assert "it is not a replica" in str(found["replica"]["message"])


def test_what_a_tenant_may_not_count_is_left_to_the_owner(doctor: Examine, server: str, store: str) -> None:
    name = f"pgmem_plain_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as admin:
        made = sql.SQL("create role {} login password 'only-for-tests'")
        admin.execute(made.format(sql.Identifier(name)))
        try:
            code, found = doctor(PGMEM_DSN=make_conninfo(store, user=name, password="only-for-tests"))
        finally:
            admin.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))
    assert (code, found["schema"]["level"]) == (1, "look")
    assert found["schema"]["remedy"] == "grant it pgmem_writer or pgmem_reader"


OLD = "/usr/bin/python3 -m pgmem hook Stop --client claude-code"
NEW = "/usr/bin/python3 -P -m pgmem hook Stop --client claude-code"


def settings_with(folder: Path, command: str) -> None:
    """Write the settings of `pgmem connect`, with a command of our choice, beside a hook of another program."""
    program, *arguments = command.partition(" hook ")[0].split()
    hooks = [
        {"hooks": [{"type": "command", "command": text}]} for text in ("python3 -m pgmem_of_others", command)
    ]
    (folder / ".claude").mkdir(parents=True, exist_ok=True)
    (folder / ".claude" / "settings.json").write_text(f"// mine\n{json.dumps({'hooks': {'Stop': hooks}})}")
    server = {"command": program, "args": [*arguments, "mcp"]}
    for name in (".claude.json", ".mcp.json"):
        (folder / name).write_text(json.dumps({"mcpServers": {"pgmem": server}}))
    (folder / ".codex").mkdir(exist_ok=True)
    (folder / ".codex" / "config.toml").write_text(
        f"[mcp_servers.pgmem]\ncommand = {json.dumps(program)}\nargs = {json.dumps(server['args'])}\n"
    )


def test_settings_of_a_client_that_start_what_a_repository_brings(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    monkeypatch.chdir(project)
    moved = dict.fromkeys(("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "PYTHONPATH"), "")
    around = {**moved, "HOME": str(home)}

    def found() -> dict[str, str]:
        shown = json.loads(run("doctor", "--json", **around).stdout)
        of_clients = [each for each in shown if each["check"] == "clients"]
        assert all(each["level"] == "look" for each in of_clients)
        return {each["message"].partition(" starts pgmem")[0]: each["remedy"] for each in of_clients}

    settings_with(home, NEW)
    settings_with(project, NEW)
    assert found() == {}
    settings_with(home, OLD)
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text("{")  # of a client whose settings nobody can read
    assert found() == {
        str(home / ".claude.json"): "run pgmem connect claude-code",
        str(home / ".claude" / "settings.json"): "run pgmem connect claude-code",
        str(home / ".codex" / "config.toml"): "run pgmem connect codex",
    }
    settings_with(project, OLD)
    assert found()[str(project / ".mcp.json")] == f"run pgmem connect claude-code --folder {project}"
    for client in ("claude-code", "codex"):
        assert run("connect", client, **around).exit_code == 0
        assert run("connect", client, "--folder", str(project), **around).exit_code == 0
    assert found() == {}


@pytest.mark.parametrize(
    ("value", "level"), [("/a:/b", None), ("", None), ("/a:", "look"), ("src:/b", "look")]
)
def test_a_path_of_modules_that_leads_into_the_current_folder(
    doctor: Examine, value: str, level: str | None
) -> None:
    assert doctor(PYTHONPATH=value)[1].get("python_path", {}).get("level") == level
