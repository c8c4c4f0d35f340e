"""Files that memories rest on, compared by git: at the commit that is named, else as they were when it was saved."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pgmem import Memory
from pgmem.features.cards.citations import states
from pgmem.settings import load
from tests.repositories import git

pytestmark = pytest.mark.anyio
SAVED = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository whose till.py gained a line, shut.py changed, gone.py went, new.py came."""
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q")
    for name, text in {
        "till.py": "one\ntwo\nthree\n",
        "shut.py": "at seven\n",
        "gone.py": "x\n",
        "same.py": "y\n",
    }.items():
        (root / name).write_text(text)
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    (root / "till.py").write_text("zero\none\ntwo\nthree\n")
    (root / "shut.py").write_text("at eight\n")
    (root / "new.py").write_text("new\n")
    (root / "gone.py").unlink()
    git(root, "add", "-A")
    git(root, "commit", "-qm", "second", at="2026-03-01T12:00:00Z")
    return root


def test_a_file_is_compared_with_the_commit_that_is_named_or_the_time_of_the_memory(tree: Path) -> None:
    first = git(tree, "rev-parse", "HEAD^")
    expected = {
        "till.py:1-2": "FRESH",
        f"till.py:2-3@{first[:8]}": "FRESH",
        "till.py": "STALE",
        "shut.py:1": "STALE",
        f"shut.py@{first}": "STALE",
        "gone.py:1": "GONE",
        "./same.py": "FRESH",
        "till.py:90-99": "UNCHECKABLE",
        "new.py": "UNCHECKABLE",
        "till.py@0000000": "UNCHECKABLE",
        "../shop/till.py": "UNCHECKABLE",
        "--output=/tmp/x": "UNCHECKABLE",
        "two\nlines": "UNCHECKABLE",
        ":(exclude)till.py": "UNCHECKABLE",
        "": "UNCHECKABLE",
    }
    assert (
        dict(zip(expected, states(tree, [(target, SAVED) for target in expected]), strict=True)) == expected
    )
    assert states(tree, []) == []
    assert states(tree.parent, [("till.py", SAVED)]) == ["UNCHECKABLE"]


async def test_the_worker_compares_the_files_of_its_repository(
    store: str, tree: Path, tmp_path: Path
) -> None:
    settings = load(
        dsn=store,
        data_dir=tmp_path / "data",
        embedding_provider="none",
        repository=tree,
        repository_project="shop",
    )
    async with Memory.connect(settings) as memory:
        await memory.save_session("open", "shop")
        first = git(tree, "rev-parse", "HEAD^")
        saved = await memory.save_context("The shop shuts at seven", "shop", citation=[f"shut.py:1@{first}"])
        assert (await memory.maintain())["compared"] == 1
        assert saved.artifact_id is not None
        (source,) = await memory.get_sources(saved.artifact_id)
        assert source.state == "STALE"
        assert source.checked_at is not None
        (found,) = (await memory.search_memory("shuts", project_id="shop")).results
        assert found.sources == "STALE"
