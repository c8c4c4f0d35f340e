"""The pages: generated ones are fresh, links lead somewhere, commands that are named exist."""

from __future__ import annotations

import importlib.util
import re
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest
import typer

from pgmem.cli import app

ROOT = Path(__file__).parent.parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(scope="module")
def write_reference() -> ModuleType:
    loader = SourceFileLoader("write_reference", str(ROOT / "scripts" / "write-reference"))
    spec = importlib.util.spec_from_loader("write_reference", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_the_reference_is_what_the_code_and_the_catalog_say(write_reference: ModuleType, dsn: str) -> None:
    assert write_reference.stale(write_reference.pages(dsn)) == [], "run scripts/write-reference"


def test_a_changed_verb_makes_its_page_stale(write_reference: ModuleType, dsn: str) -> None:
    found = write_reference.pages(dsn)
    changed = {path: text + ("\nx" if path.name == "verbs.md" else "") for path, text in found.items()}
    assert write_reference.stale(changed) == ["verbs.md"]


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


def test_commands_that_the_pages_name_exist() -> None:
    group = typer.main.get_command(app)
    known = set(getattr(group, "commands", {}))
    for page in PAGES:
        if "decisions" in page.parts or page.name == "CHANGELOG.md":
            continue
        text = page.read_text(encoding="utf-8")
        shells = "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
        named = set(re.findall(r"`pgmem ([a-z][a-z-]+)", text))
        named |= set(re.findall(r"^pgmem ([a-z][a-z-]+)", shells, re.MULTILINE))
        assert named <= known, f"{page.name}: {named - known}"


def test_the_map_for_whoever_comes_next_is_short() -> None:
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) <= 80
