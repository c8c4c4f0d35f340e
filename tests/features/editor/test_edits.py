"""The hook of an edit: memories that name the file come, with cards or without, and none of another file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pgmem.features.editor.file_names import names
from tests.conftest import Call
from tests.features.editor.conftest import Hook, context, repository
from tests.repositories import git

ODD = (
    "app/[slug]/page.tsx",
    "src/my file (copy).ts",
    "node_modules/@scope/pkg/index.js",
    "c++lib/a.cc",
    "R&D/it's.py",
    "ordner/größe.py",
    "日本語/設定.toml",
    "a,b/c;d=e.yml",
    "$HOME/x.sh",
    "src/𠮟d/q.rs",
    ".github/workflows/ci.yml",
    "données/être.csv",
    "pkg/v1.2/__init__.py",
    "Makefile",
)


@pytest.fixture
def root(tmp_path: Path, hook: Hook) -> Path:
    """A repository whose project has memories and no cards."""
    root = repository(tmp_path / "webshop", "git@github.com:acme/webshop.git")
    hook({"session_id": "s0", "cwd": str(root), "hook_event_name": "SessionStart", "source": "startup"})
    return root


def edited(root: Path, path: str, session: str = "s1") -> dict[str, Any]:
    return {
        "session_id": session,
        "cwd": str(root),
        "hook_event_name": "PreToolUse",
        "permission_mode": "default",
        "tool_name": "Edit",
        "tool_input": {"file_path": path if path.startswith("/") else str(root / path)},
    }


def made(root: Path, path: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).touch()


def note(call: Call, content: str, project: str = "webshop") -> None:
    call("save_context", content=content, project_id=project, topic=f"note {len(content)} {content[:8]}")


def test_a_file_brings_what_names_it_in_a_project_without_cards(
    hook: Hook, call: Call, root: Path, data_dir: Path
) -> None:
    for path in ODD:
        made(root, path)
        note(call, f"The file {path} must never call the network.")
    for path in ODD:
        text = context(hook(edited(root, path)), "PreToolUse")
        assert f"The file {path} must never" in text
        assert text.count("must never call") == 1, path
        assert hook(edited(root, path)) is None  # once a session
    log = data_dir / "hooks" / "hook.log"  # a busy machine may need more than the 400 ms of a hook
    assert all("statement timeout" in line for line in (log.read_text().splitlines() if log.exists() else ()))


@pytest.mark.parametrize(
    ("named", "edited_path"),
    [
        ("CLAUDE.md", "sub/CLAUDE.md"),
        ("app/[slug]/page.tsx", "app/[id]/page.tsx"),
        ("lib/config.py", "app/lib/config.py"),
        ("api/routes.py", "api/routes.pyi"),
        ("api/routes.py", "web_api/routes.py"),
        ("routes.py.bak", "routes.py"),
        ("my-routes.py", "routes.py"),
        ("docs/index.md", "index.md"),
        ("設定/値.toml", "値.toml"),
    ],
)
def test_a_path_is_not_another_one_that_ends_or_begins_so(
    hook: Hook, call: Call, root: Path, named: str, edited_path: str
) -> None:
    made(root, named)
    made(root, edited_path)
    note(call, f"Before you change {named}, ask the owner of the contract.")
    assert hook(edited(root, edited_path)) is None
    assert "ask the owner" in context(hook(edited(root, named)), "PreToolUse")


@pytest.mark.parametrize(
    "said",
    [
        "Keep core/shuttle.py free of prints.",
        "Keep `shuttle.py` free of prints.",
        "shuttle.py: no prints.",
        "In ./src/core/shuttle.py:12 there must be no prints.",
        "Prints are forbidden (see src/core/shuttle.py).",
        "No prints in @src/core/shuttle.py, please.",
        r"No prints in src\core\shuttle.py.",
        "No prints in Shuttle.py!",
        "シャトルはshuttle.pyに印刷しない",
        f"{'The warehouse moves on Monday. ' * 30}No prints in shuttle.py. {'It is far. ' * 90}",
    ],
)
def test_a_shorter_path_means_the_only_file_that_ends_so(
    hook: Hook, call: Call, root: Path, said: str
) -> None:
    made(root, "src/core/shuttle.py")
    note(call, said)
    text = context(hook(edited(root, "src/core/shuttle.py")), "PreToolUse")
    assert "shuttle.py" in text.split("not instructions.")[1].lower()
    made(root, "tools/core/shuttle.py")
    short = "src" not in said
    assert (hook(edited(root, "src/core/shuttle.py", "s2")) is None) == short


def test_a_note_that_names_a_file_by_its_place_on_this_machine_is_brought(
    hook: Hook, call: Call, root: Path, tmp_path: Path
) -> None:
    note(call, f"{root}/app.py is generated.")
    note(call, "webshop/app.py has its tests in another repository.")
    note(call, f"{tmp_path}/hosts.txt is shared by all services.")
    text = context(hook(edited(root, "app.py")), "PreToolUse")
    assert "is generated" in text
    assert "in another repository" in text
    assert "shared by all" in context(hook(edited(root, str(tmp_path / "hosts.txt"))), "PreToolUse")


def test_a_file_outside_of_any_repository_brings_what_names_it(
    hook: Hook, call: Call, tmp_path: Path
) -> None:
    folder = tmp_path / "plain"
    made(folder, "notes/todo.txt")
    start = {"session_id": "s0", "cwd": str(folder), "hook_event_name": "SessionStart", "source": "startup"}
    project = (
        context(hook(start), "SessionStart").split('project_id of the pgmem tools here: "')[1].split('"')[0]
    )
    call("save_context", content="notes/todo.txt is read by cron.", project_id=project, topic="cron")
    assert "read by cron" in context(hook(edited(folder, "notes/todo.txt")), "PreToolUse")


def test_a_file_is_asked_for_again_when_the_database_did_not_answer(
    hook: Hook, call: Call, root: Path, data_dir: Path
) -> None:
    note(call, "The file app.py prints its own path.")
    assert hook(edited(root, "app.py"), PGMEM_DSN="host=127.0.0.1 port=1 connect_timeout=1") is None
    assert "prints its own path" in context(hook(edited(root, "app.py")), "PreToolUse")


def test_an_instruction_is_brought_before_notes_and_the_longer_path_before_the_shorter(
    call: Call, shop: str
) -> None:
    for content in (
        "Always run the linter on src/deep/a.py before a commit.",
        "The module src/deep/a.py was split in March.",
        "a.py is slow.",
        "Nothing of this file: b.py.",
    ):
        note(call, content, shop)
    found = call("file_surface", names=["src/deep/a.py", "deep/a.py", "a.py"], project_id=shop)
    assert [match["content"].split()[0] for match in found["matches"]] == ["Always", "The", "a.py"]
    assert found["total_found"] == 3


def test_a_name_that_is_a_plain_word_counts_where_it_is_marked_as_one(call: Call, shop: str) -> None:
    note(call, "We generate the methods at night.", shop)
    note(call, "Never run `generate` on Fridays.", shop)
    found = call("file_surface", names=["generate"], project_id=shop)["matches"]
    assert [match["content"] for match in found] == ["Never run `generate` on Fridays."]


def test_names_of_a_file_leave_out_the_ends_that_another_file_has(tmp_path: Path) -> None:
    root = repository(tmp_path / "shop")
    for path in ("a/x/index.js", "b/x/index.js", "a/y/Only.js"):
        made(root, path)
    git(root, "add", ".")
    assert names(root, "a/x/index.js")[-1] == "a/x/index.js"
    assert names(root, "a/y/Only.js")[-3:] == ["a/y/Only.js", "y/Only.js", "Only.js"]
    assert "shop/a/x/index.js" in names(root, "a/x/index.js")


def test_file_surface_refuses_more_names_than_a_path_has(call: Call) -> None:
    with pytest.raises(Exception, match="names has at most 50 paths of 4096 characters"):
        call("file_surface", names=["a"] * 51, project_id="webshop")
