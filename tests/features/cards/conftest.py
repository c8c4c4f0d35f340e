"""Fixtures of the tests of engineering memory: a project, drafts, reports, small repositories."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow
from typer.testing import CliRunner, Result

from pgmem import Memory
from pgmem.cli import app
from pgmem.settings import load
from tests import repositories
from tests.conftest import Call

Draft = Callable[..., Any]
Query = Callable[..., dict[str, Any]]
Records = Callable[..., list[dict[str, Any]]]
Refresh = Callable[..., DictRow]
Opened = Callable[..., AbstractAsyncContextManager[Memory]]
Run = Callable[..., Result]
Set = Callable[[str, object], None]


@pytest.fixture(autouse=True)
def no_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors play no part here."""
    monkeypatch.setenv("EMBEDDING_PROVIDER", "none")


@pytest.fixture
def draft(call: Call, shop: str) -> Draft:
    """`draft("The cache is never cleared.", "pkg/mod.py")`: the id of a drafted card."""

    def draft(
        statement: str, path: str = "pkg/mod.py", record_type: str = "risk_note", **more: object
    ) -> object:
        arguments: dict[str, object] = {"project_id": shop, **more}
        return call(
            "record_candidate", record_type=record_type, statement=statement, subject_path=path, **arguments
        )["card_id"]

    return draft


@pytest.fixture
def approved(call: Call, draft: Draft) -> Draft:
    """`approved(statement, path)`: the id of a card that a person has approved."""

    def approved(*arguments: Any, **more: Any) -> object:
        card_id = draft(*arguments, **more)
        call("approve_card", card_id=card_id, by="maintainer")
        return card_id

    return approved


@pytest.fixture
def query(call: Call, shop: str) -> Query:
    """`query("search", query="cache")`: the payload of a mode."""

    def query(mode: str, **arguments: object) -> dict[str, Any]:
        if "record_id" in arguments:
            arguments["record_id"] = str(arguments["record_id"])
        payload = call("query_engineering_memory", project_id=shop, mode=mode, **arguments)["payload"]
        assert isinstance(payload, dict)
        return payload

    return query


@pytest.fixture
def card(query: Query) -> Callable[[object], dict[str, Any]]:
    """`card(card_id)`: a card in full."""
    return lambda card_id: dict(query("get", record_id=card_id)["record"])


@pytest.fixture
def relevant(call: Call, shop: str) -> Records:
    """`relevant(["pkg/mod.py"])`: the cards about some paths, in full."""

    def relevant(scope: list[str] | None = None, **arguments: object) -> list[dict[str, Any]]:
        given: dict[str, object] = {"scope": scope} if scope is not None else {}
        arguments.setdefault("detail_level", "full")
        found = call("get_relevant_memory", project_id=shop, **given, **arguments)["records"]
        assert isinstance(found, list)
        return found

    return relevant


@pytest.fixture
def setting(connection: psycopg.Connection[DictRow]) -> Set:
    """`setting("max_candidates", 3)`: the owner changes a row of pgmem.setting."""

    def setting(name: str, value: object) -> None:
        connection.execute("select pgmem.set_setting(%s, %s)", (name, str(value)))

    return setting


def report(**changes: Any) -> dict[str, Any]:
    """A complete report of a small repository: two modules, one importing the other, and a test."""
    return {
        "schema": "pgmem.cards/1",
        "complete": True,
        "fingerprint": "f1",
        "commit": "c0ffee",
        "files": {"pkg/a.py": "a1", "pkg/b.py": "b1", "tests/test_a.py": "t1", "docs/guide.md": "d1"},
        "modules": [
            {
                "path": "pkg/a.py",
                "module": "pkg.a",
                "doc": "Sells things.",
                "imports": ["pkg/b.py"],
                "exports": ["sell", "Till"],
                "last_commit": "c0ffee",
            },
            {"path": "pkg/b.py", "module": "pkg.b", "doc": "Counts things.", "imports": []},
        ],
        "tests": [{"path": "tests/test_a.py", "anchors": ["pkg/a.py"]}],
        "skipped": [],
        **changes,
    }


def without(path: str) -> dict[str, Any]:
    """The same repository after a module was deleted."""
    made = report()
    made["files"].pop(path)
    made["modules"] = [module for module in made["modules"] if module["path"] != path]
    for module in made["modules"]:
        module["imports"] = [name for name in module["imports"] if name != path]
    made["tests"] = [test for test in made["tests"] if path not in test["anchors"]]
    return made


def edited(path: str, digest: str = "changed") -> dict[str, Any]:
    """The same repository after a file was edited in a way that changes none of its cards."""
    made = report()
    made["files"][path] = digest
    return made


@pytest.fixture
def refresh(call: Call, shop: str) -> Refresh:
    """`refresh(report())`: the result of a run."""

    def refresh(given: dict[str, Any] | None = None, **arguments: object) -> DictRow:
        return call("refresh_from_run", project_id=shop, report=given or report(), **arguments)

    return refresh


FILES = {
    "README.md": "# Shop\n\nThe till is `pkg/till.py`; see also pkg.stock.count.\n",
    "pkg/__init__.py": '"""A shop."""\n',
    "pkg/till.py": (
        '"""Takes money.\n\nLong text."""\nfrom pkg import stock\nfrom . import missing\n\n\n'
        "def pay():\n    return stock.count()\n\n\ndef _hidden():\n    pass\n\n\nLIMIT = 3\n"
    ),
    "pkg/stock.py": '"""Counts goods."""\n__all__ = ["count"]\n\n\ndef count():\n    return 1\n',
    "pkg/broken.py": "def (:\n",
    "tests/test_till.py": "from pkg.till import pay\n\n\ndef test_pay():\n    assert pay() == 1\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small repository, not under git."""
    root = tmp_path / "shop"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


Commit = Callable[[str], None]


@pytest.fixture
def commit(tree: Path) -> Commit:
    """`commit("2026-01-10")` makes the tree a repository, if it is none, and commits all of it on that day."""

    def commit(day: str) -> None:
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", day]):
            repositories.git(tree, *command, at=f"{day}T12:00:00Z")

    return commit


Git = Callable[..., str]
Committed = Callable[..., None]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """`git("commit", "-m", "…", day=3, who="Ada")` in a repository; each call has a day of January 2026."""
    root = tmp_path / "shop"
    root.mkdir()

    def git(*arguments: str, day: int = 1, who: str = "Ada", cwd: Path = root) -> str:
        return repositories.git(cwd, *arguments, who=who, at=f"2026-01-{day:02}T12:00:00Z")

    git("init", "-q")
    return git


@pytest.fixture
def committed(git: Git, tmp_path: Path) -> Committed:
    """`committed({"a.py": "x = 1"}, "Subject.", day=2)` writes files and commits everything."""

    def committed(files: dict[str, str | None], message: str, *, day: int = 1, who: str = "Ada") -> None:
        for name, text in files.items():
            path = tmp_path / "shop" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text, encoding="utf-8")
        git("add", "-A", day=day)
        git("commit", "-q", "--allow-empty", "-m", message, day=day, who=who)

    return committed


@pytest.fixture
def run(dsn: str, tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("status")`: a command of `pgmem cards` in the repository shop."""
    monkeypatch.setenv("PGMEM_DSN", dsn)
    monkeypatch.setenv("PGMEM_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tree)
    return lambda *arguments, **more: CliRunner().invoke(app, ["cards", *map(str, arguments)], **more)


@pytest.fixture
def opened(dsn: str, tmp_path: Path, call: Call) -> Opened:
    """`async with opened(root) as memory`: pgmem as it runs in a work tree of the project shop; None: in none.

    With `named=False` nothing but the name of its folder says that the project is that of the work tree.
    """
    call("save_session", objective="o", project_id="shop")

    def opened(
        root: Path | None = tmp_path / "shop", *, named: bool = True, **more: Any
    ) -> AbstractAsyncContextManager[Memory]:
        return Memory.connect(
            load(
                dsn=dsn,
                data_dir=tmp_path / "data",
                embedding_provider="none",
                retry_wait_s=0,
                repository=root,
                repository_project="shop" if root and named else None,
                **more,
            )
        )

    return opened
