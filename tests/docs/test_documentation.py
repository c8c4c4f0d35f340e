"""The pages: generated ones are fresh, links lead somewhere, commands that are named exist."""

from __future__ import annotations

import importlib.util
import re
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import psycopg
import pytest
import typer
from psycopg.rows import DictRow

from benchmarks.commands import app as benchmarks
from pgmem.cli import app

ROOT = Path(__file__).parent.parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(scope="module")
def generation() -> ModuleType:
    """The program `scripts/generate`."""
    loader = SourceFileLoader("generate", str(ROOT / "scripts" / "generate"))
    spec = importlib.util.spec_from_loader("generate", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_what_is_generated_is_what_the_code_and_the_catalog_say(generation: ModuleType, dsn: str) -> None:
    found = {**generation.modules(dsn), **generation.reference(dsn)}
    assert len(found) == 12 + len({*ROOT.glob("docs/reference/verbs/*.md")})
    assert [path.name for path in generation.stale(found)] == [], "run scripts/generate"


def test_a_changed_verb_makes_what_is_generated_from_it_stale(
    generation: ModuleType, connection: psycopg.Connection[DictRow], dsn: str
) -> None:
    connection.execute("comment on function pgmem.status() is 'Something else.'")
    found = {**generation.modules(dsn), **generation.reference(dsn)}
    stale = [path.name for path in generation.stale(found)]
    assert stale == ["methods.py", "nodes.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_every_page_is_listed() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    kinds = ("tutorial", "how-to", "reference", "explanation")
    pages = [f"{kind}/{page.name}" for kind in kinds for page in (ROOT / "docs" / kind).glob("*.md")]
    assert len(pages) > len(kinds)
    assert [page for page in pages if f"({page})" not in index] == []


def commands(app: typer.Typer) -> set[str]:
    """The names of the commands of a group."""
    return set(typer.main.get_command(app).list_commands(None))  # type: ignore[attr-defined]


def test_commands_that_the_pages_name_exist() -> None:
    known, measured = commands(app), commands(benchmarks)
    for page in PAGES:
        if "decisions" in page.parts or page.name == "CHANGELOG.md":
            continue
        text = page.read_text(encoding="utf-8")
        shells = "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
        named = set(re.findall(r"`pgmem ([a-z][a-z-]+)", text))
        named |= set(re.findall(r"^pgmem ([a-z][a-z-]+)", shells, re.MULTILINE))
        assert named <= known, f"{page.name}: {named - known}"
        run = set(re.findall(r"python -m benchmarks ([a-z]+)", text))
        assert run <= measured, f"{page.name}: {run - measured}"


def test_the_reference_of_commands_closes_every_bracket_that_it_opens() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    usage = re.findall(r"^pgmem .*|(?<=^\| )`[^`]+`", page, re.MULTILINE)
    assert len(usage) > 100
    assert [line for line in usage if not re.fullmatch(r"[^][]*(?:\[[^][]*\][^][]*)*", line)] == []


def test_the_map_for_whoever_comes_next_is_short() -> None:
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) <= 80
