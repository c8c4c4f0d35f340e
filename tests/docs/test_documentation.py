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
REFERENCE = ROOT / "docs" / "reference"
# Pages that are made from the code and the catalog, with the site.
MADE = {
    REFERENCE / name
    for name in ("cli.md", "errors.md", "mcp-tools.md", "settings.md", "verbs.md", "views.md")
}
PAGES = [
    page
    for page in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
    if page not in MADE and page.parent != REFERENCE / "verbs"
]


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
    found = {**generation.modules(dsn), **generation.listing(dsn)}
    assert len(found) == 9
    assert [path.name for path in generation.stale(found)] == [], "run scripts/generate"


def test_a_changed_verb_makes_what_is_generated_from_it_stale(
    generation: ModuleType, connection: psycopg.Connection[DictRow], dsn: str
) -> None:
    connection.execute("comment on function pgmem.status() is 'Something else.'")
    stale = [path.name for path in generation.stale(generation.modules(dsn))]
    assert stale == ["methods.py"]
    assert "Something else." in reference(generation, dsn)["verbs/nodes.md"]


def reference(generation: ModuleType, dsn: str) -> dict[str, str]:
    """The pages that are made with the site, by their places in docs/reference."""
    return {str(path.relative_to(REFERENCE)): text for path, text in generation.reference(dsn).items()}


def test_the_reference_names_every_verb_and_command_and_its_links_lead_somewhere(
    generation: ModuleType, dsn: str
) -> None:
    pages = reference(generation, dsn)
    assert {path.name for path in MADE} == {name for name in pages if "/" not in name}
    for name in sorted(commands(app)):
        assert re.search(rf"^## pgmem {name}\b", pages["cli.md"], re.MULTILINE), name
    for name, page in pages.items():
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page):
            target = (REFERENCE / name).parent / link
            assert target.exists() or str(target.relative_to(REFERENCE)) in pages, f"{name}: {link}"
    usage = re.findall(r"^pgmem .*|(?<=^\| )`[^`]+`", pages["cli.md"], re.MULTILINE)
    assert len(usage) > 100
    assert [line for line in usage if not re.fullmatch(r"[^][]*(?:\[[^][]*\][^][]*)*", line)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    places = {link: (page.parent / link).resolve() for link in local}
    assert [link for link, place in places.items() if place not in MADE and not place.exists()] == []


def test_every_page_is_listed() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    kinds = ("tutorial", "how-to", "reference", "explanation")
    pages = [f"{kind}/{page.name}" for kind in kinds for page in (ROOT / "docs" / kind).glob("*.md")]
    pages += [f"reference/{page.name}" for page in MADE]
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


def test_the_map_for_whoever_comes_next_is_short() -> None:
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) <= 80
