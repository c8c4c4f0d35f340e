"""Reading a repository: the contents of a report, with and without git, and that nothing is written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pgmem import InvalidArgument
from pgmem.features.cards import Reading, python, scan
from pgmem.features.cards.imports import Imports
from tests.features.cards.conftest import Commit


def picture(root: Path) -> dict[str, Any]:
    """Every file below a folder with its bytes and times."""
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_mode)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_a_report_holds_modules_imports_surface_and_tests(tree: Path) -> None:
    made = scan(tree)
    modules = {module["path"]: module for module in made["modules"]}
    assert list(modules) == ["pkg/__init__.py", "pkg/broken.py", "pkg/stock.py", "pkg/till.py"]
    assert modules["pkg/till.py"] == {
        "path": "pkg/till.py",
        "module": "pkg.till",
        "doc": "Takes money.",
        "imports": ["pkg/__init__.py", "pkg/stock.py"],
        "exports": ["pay", "LIMIT"],
        "symbols": modules["pkg/till.py"]["symbols"],
    }
    assert set(modules["pkg/till.py"]["symbols"]) == {"pay", "_hidden"}
    assert made["facts"]["pkg/till.py"]["tests"][0]["path"] == "tests/test_till.py"
    assert modules["pkg/stock.py"]["exports"] == ["count"]
    assert made["tests"] == [
        {"path": "tests/test_till.py", "module": "tests.test_till", "anchors": ["pkg/till.py"]}
    ]
    assert set(made["files"]) == {*modules, "tests/test_till.py", "README.md"}


def test_what_cannot_be_read_is_left_out_and_said(tree: Path) -> None:
    (tree / "link.py").symlink_to(tree / "pkg/till.py")
    skipped = scan(tree)["skipped"]
    assert "pkg/broken.py: cannot be parsed (SyntaxError); only its name is kept" in skipped
    assert any(line.startswith("git: ") and line.endswith("are skipped") for line in skipped)
    assert "link.py" not in scan(tree)["files"]


def test_without_git_installed_it_goes_on_and_reports_it(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tree))
    made = scan(tree)
    assert made["skipped"][0] == "git: git is not installed; history and commits are skipped"
    assert (made["commit"], len(made["modules"])) == (None, 4)


def test_git_gives_the_last_commit_of_each_file(tree: Path, commit: Commit) -> None:
    commit("2025-09-01")
    for day in range(1, 7):
        (tree / "pkg/till.py").write_text(f'"""Takes money."""\n# {day}\n', encoding="utf-8")
        commit(f"2026-01-{day:02}")
    (tree / ".gitignore").write_text("secret.py\n", encoding="utf-8")
    (tree / "secret.py").write_text("x = 1\n", encoding="utf-8")
    made = scan(tree)
    modules = {module["path"]: module for module in made["modules"]}
    assert made["facts"]["pkg/till.py"]["commits"] == 7
    assert modules["pkg/till.py"]["last_commit"] == made["commit"]
    assert modules["pkg/stock.py"]["last_commit"] != made["commit"]
    assert "secret.py" not in made["files"]


def test_the_same_repository_gives_a_byte_identical_report(tree: Path, commit: Commit) -> None:
    commit("2026-01-01")
    first = json.dumps(scan(tree))
    assert json.dumps(scan(tree)) == first
    assert Reading(tree).fingerprint == json.loads(first)["fingerprint"]
    (tree / "pkg/till.py").write_text("x = 1\n", encoding="utf-8")
    assert Reading(tree).fingerprint != json.loads(first)["fingerprint"]


def test_reading_changes_nothing_not_even_git_s_own_files(tree: Path, commit: Commit) -> None:
    commit("2026-01-01")
    os.utime(tree / "pkg/till.py", (1, 1))  # git would refresh its index if it were allowed to
    before = picture(tree)
    scan(tree)
    assert Reading(tree).fingerprint
    assert picture(tree) == before


def test_progress_is_modules_file_by_file(tree: Path) -> None:
    seen: list[tuple[int, int]] = []
    scan(tree, lambda done, total: seen.append((done, total)))
    assert seen == [(number, 6) for number in range(1, 7)]


def test_a_folder_that_is_not_there_is_an_error(tree: Path) -> None:
    with pytest.raises(InvalidArgument, match="is not a directory"):
        scan(tree / "nowhere")


@pytest.mark.parametrize(
    ("path", "packages", "name"),
    [
        ("pkg/sub/mod.py", {"pkg", "pkg/sub"}, "pkg.sub.mod"),
        ("pkg/__init__.py", {"pkg"}, "pkg"),
        ("src/pkg/mod.py", {"src/pkg"}, "pkg.mod"),
        ("src/spaced/mod.py", set(), "spaced.mod"),
        ("tools/run.py", set(), "tools.run"),
        ("setup.py", set(), "setup"),
    ],
)
def test_a_module_is_named_from_its_outermost_package(path: str, packages: set[str], name: str) -> None:
    assert python.module_name(path, frozenset(packages)) == name


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import a.b.c", ["a/b.py"]),
        ("from a.b import c", ["a/b.py"]),
        ("from a import b, other", ["a/__init__.py", "a/b.py"]),
        ("from . import b", ["a/b.py"]),
        ("from .b import c", ["a/b.py"]),
        ("from .. import a", ["a/__init__.py"]),
        ("from ...far import away", []),
        ("import os", []),
        ("def f():\n    import a.b", ["a/b.py"]),
    ],
)
def test_imports_are_resolved_to_files_of_the_repository(source: str, found: list[str]) -> None:
    path, name = ("a/sub/me.py", "a.sub.me") if source.startswith("from ..") else ("a/me.py", "a.me")
    names = {"a/__init__.py": "a", "a/b.py": "a.b", path: name}
    if source == "from .. import a":
        names = {"a/__init__.py": "x.a", path: "x.sub.me"}
    sources = {file: python.read(source.encode() if file == path else b"") for file in names}
    assert Imports(sources, names, {}).direct(path) == found


def test_files_of_other_languages_are_modules_by_path_with_the_comment_at_their_head(
    tree: Path, commit: Commit
) -> None:
    for name, text in {
        "web/till.ts": "/**\n * Shows the till.\n *\n * More.\n */\nimport { pay } from './pay';\n",
        "web/till.test.ts": "// Tests the till.\n",
        "web/vendor.min.js": "// Squeezed.\n",
        "cmd/serve.go": "// Copyright 2026 the authors.\n\n// Serves the shop\n// over HTTP.\npackage main\n",
        "src/stock.rs": "use std::io;\n",
        "README.md": "# Shop\n\nThe page is `web/till.ts`.\n",
    }.items():
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")
    commit("2026-01-01")
    made = scan(tree)
    modules = {m["path"]: (m["module"], m["doc"]) for m in made["modules"] if not m["path"].endswith(".py")}
    assert modules == {
        "cmd/serve.go": ("cmd/serve.go", "Serves the shop over HTTP."),
        "src/stock.rs": ("src/stock.rs", None),
        "web/till.ts": ("web/till.ts", "Shows the till."),
    }
    assert [t["path"] for t in made["tests"] if t["path"].endswith(".ts")] == ["web/till.test.ts"]
    assert made["facts"]["web/till.ts"]["tests"][0]["path"] == "web/till.test.ts"
