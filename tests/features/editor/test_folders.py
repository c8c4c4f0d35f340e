"""A session in a repository that git does not read, and in one that is part of another."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pgmem.workspace.identity import identify, unread
from tests.conftest import Call
from tests.features.editor.conftest import Hook, context, repository
from tests.repositories import git


def begun(folder: Path, session: str = "s1") -> dict[str, Any]:
    return {"session_id": session, "cwd": str(folder), "hook_event_name": "SessionStart", "source": "startup"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a repository to another user")
def test_a_repository_of_another_user_is_one_project_and_the_session_begins_with_the_reason(
    hook: Hook, tmp_path: Path, data_dir: Path
) -> None:
    """In a container each folder of it had a separate project, without a word."""
    shop = repository(tmp_path / "webshop", "git@github.com:acme/webshop.git")
    (shop / "src" / "api").mkdir(parents=True)
    for place in (shop, shop / ".git"):
        os.chown(place, 65534, 65534)
    for folder in (shop / "src" / "api", shop):
        opening = context(hook(begun(folder), HOME=str(tmp_path)), "SessionStart")
        assert 'project_id of the pgmem tools here: "webshop"' in opening
        assert "dubious ownership" in opening
        assert f'safe.directory "{shop}"' in opening
    assert (data_dir / "hooks" / "hook.log").read_text().count("dubious ownership") == 1
    git(tmp_path, "config", "--file", str(tmp_path / ".gitconfig"), "--add", "safe.directory", str(shop))
    opening = context(hook(begun(shop, "s2"), HOME=str(tmp_path)), "SessionStart")
    assert 'project_id of the pgmem tools here: "webshop"' in opening, (
        "it is the same project once git reads it"
    )
    assert "dubious" not in opening


def test_a_repository_without_git_on_the_machine_is_one_project(
    hook: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = repository(tmp_path / "webshop")
    (shop / "src").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert identify(shop / "src") == identify(shop)
    assert identify(shop).names[0] == "webshop"
    found = unread(shop / "src")
    assert found is not None
    assert (found[0], "git is not installed" in found[1]) == (shop.resolve(), True)


@pytest.mark.parametrize("made", ["link", "file", "empty", "none"])
def test_a_dot_git_that_is_no_repository_makes_no_root(made: str, tmp_path: Path) -> None:
    other = repository(tmp_path / "other")
    folder = tmp_path / "plain" / "inner"
    folder.mkdir(parents=True)
    dot = folder.parent / ".git"
    match made:
        case "link":
            dot.symlink_to(other / ".git")
        case "file":
            dot.write_text(f"gitdir: {other / '.git'}\n")
        case "empty":
            dot.mkdir()
    assert unread(folder) is None
    if made in ("empty", "none"):
        assert identify(folder).names[0] == "inner"


def test_a_submodule_says_that_it_is_one_and_names_the_project_around_it(
    hook: Hook, call: Call, tmp_path: Path
) -> None:
    library = repository(tmp_path / "library", "git@github.com:acme/library.git")
    shop = repository(tmp_path / "webshop", "git@github.com:acme/webshop.git")
    allow = ("-c", "protocol.file.allow=always")
    git(shop, *allow, "submodule", "add", "-q", str(library), "vendor/library")
    inside = shop / "vendor" / "library"
    assert "submodule" not in context(hook(begun(inside)), "SessionStart"), (
        "the other project has no memory yet"
    )
    assert "submodule" not in context(hook(begun(shop)), "SessionStart")
    call("save_context", content="Deploy the shop on Tuesdays.", project_id="webshop", topic="deploy")
    opening = context(hook(begun(inside, "s2")), "SessionStart")
    assert 'project_id "webshop"' in opening
    assert "is a submodule" in opening
    assert "Tuesdays" not in opening, "it is offered, not brought"
