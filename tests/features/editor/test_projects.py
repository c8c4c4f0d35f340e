"""One project a repository: worktrees and clones share it, forks and namesakes do not."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pgmem import Memory
from pgmem.settings import Settings
from pgmem.workspace.identity import identify, normalised
from pgmem.workspace.trust import trust
from tests.features.editor.conftest import repository
from tests.repositories import git

pytestmark = pytest.mark.anyio
SHOP = "git@github.com:acme/webshop.git"


@pytest.fixture
async def memory(dsn: str, tmp_path: Path) -> AsyncIterator[Memory]:
    settings = Settings(dsn=dsn, data_dir=tmp_path / "data", embedding_provider="none")
    async with Memory.connect(settings) as memory:
        yield memory


async def project(memory: Memory, folder: Path) -> str:
    return await memory.project_of(folder, create=True)


async def test_worktrees_clones_subfolders_and_a_moved_folder_share_a_project(
    memory: Memory, tmp_path: Path
) -> None:
    shop = repository(tmp_path / "code" / "anything", SHOP)
    (shop / "src").mkdir()
    assert await project(memory, shop) == "webshop"
    assert await project(memory, shop / "src") == "webshop"
    git(shop, "worktree", "add", "-q", str(tmp_path / "elsewhere"), "-b", "topic")
    assert await project(memory, tmp_path / "elsewhere") == "webshop"
    git(tmp_path, "clone", "-q", str(shop), "copy")
    assert await project(memory, tmp_path / "copy") == "webshop"
    git(tmp_path / "copy", "remote", "set-url", "origin", "https://ada:token@GitHub.com/acme/webshop")
    assert await project(memory, tmp_path / "copy") == "webshop"
    shutil.move(tmp_path / "copy", tmp_path / "moved")
    assert await project(memory, tmp_path / "moved") == "webshop"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{tmp_path / 'moved'}", "shallow")
    git(tmp_path / "shallow", "remote", "set-url", "origin", SHOP)
    assert await project(memory, tmp_path / "shallow") == "webshop", "it has no memory that could leak"


async def test_a_fork_a_namesake_and_another_repository_at_the_same_place_have_their_own(
    memory: Memory, tmp_path: Path
) -> None:
    shop = repository(tmp_path / "a" / "webshop", SHOP)
    assert await project(memory, shop) == "webshop"
    git(tmp_path, "clone", "-q", str(shop), "fork")
    git(tmp_path / "fork", "remote", "set-url", "origin", "git@github.com:ada/webshop.git")
    git(tmp_path / "fork", "remote", "add", "upstream", SHOP)
    assert await project(memory, tmp_path / "fork") == "ada-webshop"
    assert await project(memory, repository(tmp_path / "b" / "webshop")) not in ("webshop", "ada-webshop")
    shutil.rmtree(shop)
    again = repository(tmp_path / "a" / "webshop", "git@example.org:other/webshop.git")
    assert await project(memory, again) == "other-webshop"


async def test_a_repository_keeps_its_project_while_it_gets_commits_and_a_remote(
    memory: Memory, tmp_path: Path
) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    git(root, "init", "-q")
    assert await project(memory, root) == "notes"
    git(root, "commit", "-qm", "first", "--allow-empty")
    assert await project(memory, root) == "notes"
    git(root, "remote", "add", "origin", "https://example.org/ada/diary.git")
    assert await project(memory, root) == "notes"
    git(root, "remote", "set-url", "origin", "https://example.org/ada/journal.git")
    assert await project(memory, root) == "notes"


async def test_a_project_that_was_made_by_name_and_is_empty_is_taken_by_the_first_repository_of_that_name(
    memory: Memory, tmp_path: Path
) -> None:
    await memory.open_project(["webshop"])
    first = repository(tmp_path / "a" / "webshop", SHOP)
    second = repository(tmp_path / "b" / "webshop", "git@example.org:other/webshop.git")
    assert await memory.project_of(first) == "webshop"
    assert await project(memory, first) == "webshop"
    assert await project(memory, second) == "other-webshop"


async def test_asking_makes_no_project(memory: Memory, tmp_path: Path) -> None:
    assert await memory.project_of(repository(tmp_path / "webshop", SHOP)) == "webshop"
    assert (await memory.get_scope_state("webshop")).project_exists is False


async def test_a_setting_or_a_file_of_the_repository_overrides(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "webshop", SHOP)
    (root / "src").mkdir()
    (root / ".pgmem.toml").write_text('project = "shared"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert await project(memory, root / "src") != "shared"
    trust(root / ".pgmem.toml", "shared")
    assert await project(memory, root / "src") == "shared"
    monkeypatch.setenv("PGMEM_PROJECT", "mine")
    assert await project(memory, root / "src") == "mine"


async def test_a_folder_outside_of_any_repository_is_known_by_its_place(
    memory: Memory, tmp_path: Path
) -> None:
    for folder in ("a/notes", "b/notes"):
        (tmp_path / folder).mkdir(parents=True)
    one, two = [await project(memory, tmp_path / folder) for folder in ("a/notes", "b/notes")]
    assert one == "notes" != two
    assert await project(memory, tmp_path / "a/notes") == "notes"


def test_a_hostile_repository_runs_nothing(tmp_path: Path) -> None:
    root = repository(tmp_path / "webshop", SHOP)
    trap = tmp_path / "trap"
    git(root, "config", "core.fsmonitor", f"touch {trap}")
    git(root, "config", "core.sshCommand", f"touch {trap}")
    git(root, "config", "alias.rev-parse", f"!touch {trap}")
    assert identify(root).remotes == ["github.com/acme/webshop"]
    assert not trap.exists()


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("git@github.com:Acme/Shop.git", "github.com/acme/shop"),
        ("https://user:token@github.com/acme/shop/", "github.com/acme/shop"),
        ("ssh://git@github.com:22/acme/shop.git", "github.com/acme/shop"),
        ("https://dev.azure.com/o/p/_git/r", "dev.azure.com/o/p/_git/r"),
        ("https://forge.example/acme/../../evil/./shop.git", "forge.example/evil/shop"),
        ("git@forge.example:../shop.git", "forge.example/shop"),
        ("https://forge.example/..", None),
        ("/srv/git/shop.git", None),
        ("../shop", None),
        ("file:///srv/shop", None),
        ("C:\\code\\shop", None),
        ("C:/code/shop", None),
    ],
)
def test_an_address_is_the_same_however_it_is_written(url: str, address: str | None) -> None:
    assert normalised(url) == address
