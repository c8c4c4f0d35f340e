"""The examples of the documentation run, print the output on the pages, and are on the pages unchanged."""

from __future__ import annotations

import io
import json
import re
import runpy
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem._verbs import VERBS
from pgmem.settings import load
from tests.conftest import GRAPH_TIERS, Call, caller, output_of, past_the_pooler, tier

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "docs" / "examples"
PAGES = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("tutorial/*.md")),
    *sorted((ROOT / "docs").glob("how-to/*.md")),
)
BLOCK = re.compile(r"(?:<!-- example: (\S+) -->\n)?```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LANGUAGES = {".py": "python", ".sql": "sql", ".json": "json", ".out": "text"}


def python(name: str, dsn: str, tmp_path: Path) -> str:
    """The output of a program. It is run here: a process would import the same again, which takes seconds."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setenv("PGMEM_DSN", dsn)
        patch.setenv("PGMEM_DATA_DIR", str(tmp_path))
        patch.setenv("EMBEDDING_PROVIDER", "none")
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return printed.getvalue()


def run_sql(name: str, connection: psycopg.Connection[DictRow]) -> list[list[DictRow]]:
    """Every statement of an example, on a search path as `pgmem psql` has it; the rows of each."""
    connection.execute("set search_path = pgmem, public")
    found = []
    cursor = connection.execute((EXAMPLES / name).read_bytes())
    while True:
        found.append(cursor.fetchall() if cursor.description else [])
        if not cursor.nextset():
            return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_is_an_example_that_is_run(page: Path) -> None:
    for name, language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if not name:
            # Commands, their output, and the configuration of other programs.
            assert language in ("sh", "text", "yaml"), f"this block of {page.name} is not an example:\n{text}"
            continue
        assert LANGUAGES[Path(name).suffix] == language, name
        assert text == (EXAMPLES / name).read_text(encoding="utf-8"), (
            f"{page.name} and examples/{name} differ"
        )


def test_every_example_is_in_a_page_and_is_run() -> None:
    named = {name for page in PAGES for name, _, _ in BLOCK.findall(page.read_text(encoding="utf-8")) if name}
    files = {path.name for path in EXAMPLES.iterdir() if path.is_file()}
    transcripts = {name for name in files if name.endswith((".txt", ".tsv"))}
    assert files - transcripts == named
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    assert [name for name in transcripts if name not in pages] == []
    here = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in named if Path(name).stem not in here] == []


def test_the_tutorial_prints_what_it_says(
    dsn: str, tmp_path: Path, connection: psycopg.Connection[DictRow]
) -> None:
    for name in ("first_memory", "again", "conflict"):
        assert python(f"{name}.py", dsn, tmp_path) == (EXAMPLES / f"{name}.out").read_text(), name
    decisions, lineage, conflicts = run_sql("look.sql", connection)
    assert [(row["title"], row["status"], row["replaced"]) for row in decisions] == [
        ("Keep the orders in PostgreSQL 17", "superseded", True),
        ("Keep all the orders in PostgreSQL 17", "superseded", True),
        ("Keep the orders in PostgreSQL 18", "active", False),
        ("Cache product pages for an hour", "active", False),
        ("Never cache anything with a price", "active", False),
    ]
    assert [(row["age"], row["title"]) for row in lineage] == [
        (0, "Keep the orders in PostgreSQL 18"),
        (1, "Keep all the orders in PostgreSQL 17"),
        (2, "Keep the orders in PostgreSQL 17"),
    ]
    assert [tuple(row.values()) for row in conflicts] == [
        ("Cache product pages for an hour", "Never cache anything with a price")
    ]


def test_psql_prints_what_the_page_says(dsn: str, tmp_path: Path) -> None:
    for name in ("first_memory", "again", "conflict"):
        python(f"{name}.py", dsn, tmp_path)
    past = past_the_pooler(dsn)
    command = (sys.executable, "-m", "pgmem", "psql", "--dsn", past, "-f", EXAMPLES / "psql_memory.sql")
    assert output_of(*command, PGMEM_DATA_DIR=str(tmp_path)) == (EXAMPLES / "psql_memory.out").read_text()


FRAMEWORKS = ("sync_memory", "langgraph_store", "memory_tool")


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_examples_of_frameworks_print_what_the_page_says(name: str, dsn: str, tmp_path: Path) -> None:
    assert python(f"{name}.py", dsn, tmp_path) == (EXAMPLES / f"{name}.out").read_text()


def test_the_search_over_own_stores_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It imports networkx_store.py and array_store.py."""
    pytest.importorskip("networkx", reason="of the extra test")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    assert python("own_stores.py", "", tmp_path) == (EXAMPLES / "own_stores.out").read_text()


@pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")
def test_the_driver_of_age_prints_what_the_page_says(
    dsn: str, tmp_path: Path, superuser: None, age: None
) -> None:
    pytest.importorskip("age", reason="needs pip install 'pgmem-agent[age]'")
    python("first_memory.py", dsn, tmp_path)
    printed = python("age_driver.py", past_the_pooler(dsn), tmp_path)
    assert printed == (EXAMPLES / "age_driver.out").read_text()


def test_the_example_of_openai_agents_prints_what_the_page_says(dsn: str, tmp_path: Path) -> None:
    """In a process: the library leaves an event loop open."""
    printed = output_of(
        *(sys.executable, EXAMPLES / "agents_session.py"),
        PGMEM_DSN=dsn,
        PGMEM_DATA_DIR=str(tmp_path),
        EMBEDDING_PROVIDER="none",
    )
    assert printed == (EXAMPLES / "agents_session.out").read_text()


def test_the_client_of_the_reference_server_starts_its_toolset() -> None:
    (server,) = json.loads((EXAMPLES / "server_memory.json").read_text())["mcpServers"].values()
    assert load(toolsets=server["env"]["PGMEM_TOOLSETS"]).toolsets == ("server-memory",)


def test_every_output_is_that_of_an_example() -> None:
    others = (
        "first_memory",
        "again",
        "conflict",
        "psql_memory",
        "agents_session",
        "own_stores",
        "age_driver",
    )
    named = [f"{name}.out" for name in (*others, *FRAMEWORKS)]
    assert sorted(path.name for path in EXAMPLES.glob("*.out")) == sorted(named)


def test_the_first_memory_from_psql(connection: psycopg.Connection[DictRow]) -> None:
    session, decision, decisions, found = run_sql("first_memory.sql", connection)
    assert session == [{"status": "saved"}]
    assert decision == [{"status": "saved", "dedup_outcome": "new"}]
    assert [row["title"] for row in decisions] == ["Keep the orders in PostgreSQL 17"]
    assert [row["title"] for row in found][:1] == ["Keep the orders in PostgreSQL 17"]


def test_the_table_of_contents_lists_every_verb(connection: psycopg.Connection[DictRow]) -> None:
    contents, changes = run_sql("psql_contents.sql", connection)
    assert [row["name"] for row in contents] == list(VERBS)
    assert all(row["chapter"] and row["rights"] and row["effect"] for row in contents)
    writing = [name for name, verb in VERBS.items() if verb.effect not in ("read", "look")]
    assert [row["name"] for row in changes] == writing


def test_the_questions_of_the_analyst_have_answers(
    connection: psycopg.Connection[DictRow], call: Call
) -> None:
    assert [rows[0]["status"] for rows in run_sql("psql_verbs.sql", connection)[:3]] == ["saved"] * 3
    _, _, _, context, _, around = run_sql("psql_verbs.sql", connection)
    assert context[0]["retrieval_status"] == "succeeded"
    assert [row["title"] for row in around] == ["Stripe"]
    call("save_session", objective="x", project_id="shop", open_items=["Backups", "Prices"])
    call("save_decision", title="Show revenue by week", rationale="r", project_id="shop")
    active, writers, changes, conflicts = run_sql("psql_decisions.sql", connection)
    assert [row["title"] for row in active] == ["Report revenue by week"]
    assert [row["count"] for row in writers] == [1]
    assert (changes, conflicts) == ([], [])
    items, projects, facts = run_sql("psql_sessions.sql", connection)
    assert [row["open"] for row in items] == ["Backups", "Prices"]
    assert [row["name"] for row in projects] == ["shop"]
    assert [row["entity_name"] for row in facts] == ["Stripe"]
    refused, reviews = run_sql("psql_saves.sql", connection)
    assert [row["dedup_outcome"] for row in refused] == ["manual_review"]
    assert [(row["title"], row["candidate_title"]) for row in reviews] == [
        ("Show revenue by week", "Report revenue by week")
    ]
    if tier(connection) not in GRAPH_TIERS:
        return
    graph, tables = run_sql("psql_cypher.sql", connection)
    assert [row["run_cypher"] for row in graph] == [{"title": "Report revenue by week", "status": "active"}]
    assert [row["title"] for row in tables] == ["Report revenue by week"]


def test_seventeen_questions_are_answered_in_sql(
    connection: psycopg.Connection[DictRow], agent: Call
) -> None:
    """Each of a store in which something is to be found."""
    agent("save_session", objective="x", project_id="shop", open_items=["Backups"])
    old = agent(
        "save_decision", title="Keep the orders in PostgreSQL 17", rationale="One.", project_id="shop"
    )
    agent("save_decision", title="Keep the orders in PostgreSQL 18", rationale="Faster.", project_id="shop",
          supersedes=str(old["artifact_id"]))  # fmt: skip
    for title in ("Cache product pages", "Never cache a price"):
        agent("save_decision", title=title, rationale="r", project_id="shop")
    agent("relate", from_label="Decision", from_key="Cache product pages", rel_type="CONFLICTS_WITH",
          to_label="Decision", to_key="Never cache a price")  # fmt: skip
    for fact in ("Takes cards.", "Takes cards and cash."):
        agent("upsert_entity", entity_name="Till", fact=fact, project_id="shop")
    agent("save_decision", title="Sell tea", rationale="r", project_id="shpo")
    prompt = {"by": "UserPromptSubmit", "act": "injected", "project_id": "shop"}
    agent("record_recall", **prompt, memory_ids=[str(old["artifact_id"])], tokens=12)
    agent("record_recall", **prompt, memory_ids=[])
    answers = run_sql("psql_questions.sql", connection)
    assert len(answers) == 17
    named = [number for number, rows in enumerate(answers, 1) if not rows]
    assert named == [5], "nothing was believed thirty days ago"
    assert [(row["title"], row["became"]) for row in answers[0]] == [
        ("Keep the orders in PostgreSQL 17", "Keep the orders in PostgreSQL 18")
    ]
    assert answers[2][0]["author"] == "claude"
    assert answers[5] == [{"one": "claude", "other": "claude", "count": 1}]
    assert {"fact": "Takes cards."}.items() <= next(r for r in answers[6] if r["label"] == "EntityFact")[
        "changed_from"
    ].items()
    assert answers[15] == [{"project": "shop", "prompts": 2, "helped": 1}]


@pytest.fixture
def agent(connection: psycopg.Connection[DictRow]) -> Call:
    """`agent("save_decision", title=…)`: a verb as an agent calls it over MCP."""
    connection.execute(
        "select set_config('pgmem.source', 'mcp', false), set_config('pgmem.agent_id', 'claude', false)"
    )
    return caller(connection)


@pytest.mark.direct("a front cannot take back a save: its cell has committed it")
def test_a_memory_joins_the_transaction_of_its_caller(
    dsn: str, tmp_path: Path, connection: psycopg.Connection[DictRow]
) -> None:
    assert python("join_transaction.py", dsn, tmp_path) == "saved\n"
    rows = connection.execute(
        "select i.number, e.fact from invoice i cross join pgmem.entity_fact e"
    ).fetchall()
    assert rows == [{"number": 1, "fact": "Written for 99.50"}]
    run_sql("join_transaction.sql", connection)
    rows = connection.execute(
        "select p.number, e.fact from payment p cross join pgmem.entity_fact e where e.project = 'payments'"
    ).fetchall()
    assert rows == [{"number": 1, "fact": "Taken: 99.50"}]


@pytest.mark.parametrize("name", ["mcp.json", "vscode_mcp.json", "mcp_with_settings.json"])
def test_the_configuration_of_a_client_starts_the_server(name: str) -> None:
    from pgmem.settings import Settings

    found = json.loads((EXAMPLES / name).read_text(encoding="utf-8"))
    (server,) = (found.get("mcpServers") or found["servers"]).values()
    assert Path(server["command"]).name == "pgmem"
    assert server["args"] == ["mcp"]
    known = {f"PGMEM_{field.upper()}" for field in Settings.model_fields}
    assert set(server.get("env", {})) <= known
    program = shutil.which("pgmem", path=str(Path(sys.executable).parent))
    assert program is not None
    shown = subprocess.run([program, *server["args"], "--help"], capture_output=True, text=True, check=True)
    assert "Model Context Protocol" in shown.stdout
