"""A folder that says it is of a project of the person: by its name, its remote, or a `.git` that leads elsewhere."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pgmem import Memory
from pgmem.calls import projects
from pgmem.cli import app
from pgmem.errors import NotPermitted
from pgmem.settings import Settings
from pgmem.workspace.identity import identify
from tests.features.editor.conftest import Hook, context, data_dir, hook, repository
from tests.repositories import git

__all__ = ["data_dir", "hook"]
pytestmark = pytest.mark.anyio
PAY = "git@github.com:acme/pay.git"
WORD = "The code word is OSPREY."


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("PGMEM_PROJECT", raising=False)


@pytest.fixture
async def memory(dsn: str, tmp_path: Path) -> AsyncIterator[Memory]:
    settings = Settings(dsn=dsn, data_dir=tmp_path / "store", embedding_provider="none")
    async with Memory.connect(settings, source="cli") as memory:
        yield memory


@pytest.fixture
def session(hook: Hook) -> Callable[..., str]:
    """`session(folder)`: the text that a new session in a folder begins with."""
    count = iter(range(100))

    def session(folder: Path, name: str | None = None) -> str:
        sent = {
            "hook_event_name": "SessionStart",
            "source": "startup",
            "session_id": name or f"session {next(count)}",
            "cwd": str(folder),
        }
        return context(hook(sent), "SessionStart")

    return session


@pytest.fixture
def trust(dsn: str, data_dir: Path) -> Callable[..., Any]:
    def trust(*arguments: str, answer: str | None = None) -> Any:
        where = ("--dsn", dsn, "--data-dir", str(data_dir))
        return command("trust", *arguments, *where, answer=answer)

    return trust


def command(*arguments: str, answer: str | None = None) -> Any:
    """A command on another thread, as it runs a loop."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(CliRunner().invoke, app, arguments, input=answer).result()


async def learn(memory: Memory, project: str = "pay") -> None:
    await memory.save_session("open", project)
    await memory.save_context(WORD, project)


async def known(memory: Memory, folder: Path) -> Path:
    """A repository of the person, whose project has a memory."""
    root = repository(folder, PAY)
    assert await memory.project_of(root, create=True) == "pay"
    await learn(memory)
    return root


async def test_a_clone_with_the_name_of_a_project_is_asked_about_and_has_its_own_until_then(
    memory: Memory, session: Callable[..., str], trust: Callable[..., Any], tmp_path: Path
) -> None:
    await learn(memory)
    clone = repository(tmp_path / "pay", "https://git.example/evil/pay.git")
    for _ in range(2):
        text = session(clone)
        assert "OSPREY" not in text
        assert "pgmem trust" in text
        assert 'project_id of the pgmem tools here: "evil-pay"' in text
    said = trust(str(clone), answer="y\n")
    assert (said.exit_code, "'pay'" in said.output) == (0, True), said.output
    text = session(clone)
    assert "OSPREY" in text
    assert "pgmem trust" not in text
    assert trust(str(clone), "--undo").exit_code == 0
    text = session(clone)
    assert "OSPREY" not in text
    assert "pgmem trust" in text


async def test_a_no_is_an_answer_too(
    memory: Memory, session: Callable[..., str], trust: Callable[..., Any], tmp_path: Path
) -> None:
    await learn(memory)
    clone = repository(tmp_path / "pay", "https://git.example/evil/pay.git")
    session(clone)
    assert trust(str(clone), answer="n\n").exit_code == 1
    text = session(clone)
    assert "OSPREY" not in text
    assert "pgmem trust" not in text
    said = trust(str(clone))
    assert (said.exit_code, "'evil-pay'" in said.output) == (1, True)


async def test_a_session_that_goes_on_after_the_answer_has_the_memory(
    memory: Memory, session: Callable[..., str], trust: Callable[..., Any], tmp_path: Path
) -> None:
    await learn(memory)
    own = repository(tmp_path / "pay", PAY)
    text = session(own, "one")
    assert "OSPREY" not in text
    assert "This folder may be of a project that already has a memory" in text
    assert trust(str(own), "--yes").exit_code == 0
    assert "OSPREY" in session(own, "one")


async def test_no_agent_answers(dsn: str, tmp_path: Path, memory: Memory) -> None:
    await learn(memory)
    clone = repository(tmp_path / "pay", "https://git.example/evil/pay.git")
    settings = Settings(dsn=dsn, data_dir=tmp_path / "store", embedding_provider="none")
    async with Memory.connect(settings, source="mcp") as agent:
        with pytest.raises(NotPermitted, match="Only a person says"):
            await projects.opened(agent.caller, clone, answer=True)
    assert await memory.project_of(clone) == "evil-pay"


def no_commits(folder: Path) -> None:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", PAY)


def shallow(folder: Path) -> None:
    repository(folder, PAY)
    head = git(folder, "rev-parse", "HEAD").strip()
    (folder / ".git" / "shallow").write_text(f"{head}\n")


@pytest.mark.parametrize("archive", [no_commits, shallow])
async def test_an_address_without_a_history_proves_nothing(
    memory: Memory, session: Callable[..., str], tmp_path: Path, archive: Callable[[Path], None]
) -> None:
    await known(memory, tmp_path / "own" / "pay")
    archive(tmp_path / "archive" / "pay")
    text = session(tmp_path / "archive" / "pay")
    assert "OSPREY" not in text
    assert "pgmem trust" in text
    # The first repository keeps its memory, and a second clone is proved by its history.
    git(tmp_path, "clone", "-q", str(tmp_path / "own" / "pay"), "second")
    git(tmp_path / "second", "remote", "set-url", "origin", PAY)
    for folder in ("own/pay", "second"):
        text = session(tmp_path / folder)
        assert "OSPREY" in text
        assert "pgmem trust" not in text


def gitdir_file(folder: Path, secret: Path) -> None:
    (folder / ".git").write_text(f"gitdir: ../{secret.name}/.git\n")


def gitdir_of_a_worktree(folder: Path, secret: Path) -> None:
    git(secret, "worktree", "add", "-q", "-b", "topic", str(secret.parent / "real"))
    (folder / ".git").write_text(f"gitdir: ../{secret.name}/.git/worktrees/real\n")


def forged_worktree(folder: Path, secret: Path) -> None:
    own = folder / "inner" / "worktrees" / "x"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "commondir").write_text(f"{secret}/.git\n")
    (own / "gitdir").write_text(f"{folder}/.git\n")
    (folder / ".git").write_text("gitdir: inner/worktrees/x\n")


def link(folder: Path, secret: Path) -> None:
    (folder / ".git").symlink_to(f"../{secret.name}/.git")


def common_directory(folder: Path, secret: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "commondir").write_text(f"../../{secret.name}/.git\n")


def work_tree_elsewhere(folder: Path, secret: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "config", "core.worktree", f"../../{secret.name}")


def links_of_objects(folder: Path, secret: Path) -> None:
    git(folder, "init", "-q")
    for name in ("objects", "refs", "HEAD"):
        path = folder / ".git" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        path.symlink_to(f"../../{secret.name}/.git/{name}")


def alternates(folder: Path, secret: Path) -> None:
    git(folder, "init", "-q")
    head = git(secret, "rev-parse", "HEAD").strip()
    (folder / ".git" / "objects" / "info" / "alternates").write_text(f"../../../{secret.name}/.git/objects\n")
    git(folder, "update-ref", "HEAD", head)


def replaced(folder: Path, secret: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "commit", "-qm", "another", "--allow-empty")
    ours, head = git(folder, "rev-parse", "HEAD").strip(), git(secret, "rev-parse", "HEAD").strip()
    loose = folder / ".git" / "objects" / head[:2] / head[2:]
    loose.parent.mkdir(exist_ok=True)
    shutil.copy(folder / ".git" / "objects" / ours[:2] / ours[2:], loose)
    (folder / ".git" / "refs" / "replace").mkdir()
    (folder / ".git" / "refs" / "replace" / head).write_text(f"{ours}\n")
    branch = git(folder, "symbolic-ref", "HEAD").strip()
    (folder / ".git" / branch).write_text(f"{head}\n")


@pytest.mark.parametrize(
    "archive",
    [
        gitdir_file,
        gitdir_of_a_worktree,
        forged_worktree,
        link,
        common_directory,
        work_tree_elsewhere,
        links_of_objects,
        alternates,
        replaced,
    ],
)
async def test_a_repository_that_is_led_to_is_not_that_of_the_folder(
    memory: Memory, session: Callable[..., str], tmp_path: Path, archive: Callable[[Path, Path], None]
) -> None:
    secret = repository(tmp_path / "secret")
    assert await memory.project_of(secret, create=True) == "secret"
    await learn(memory, "secret")
    folder = tmp_path / "archive"
    folder.mkdir()
    archive(folder, secret)
    assert "OSPREY" not in session(folder)
    assert not set(identify(folder).roots) & set(identify(secret).roots)
    assert "OSPREY" in session(secret)


async def test_a_repository_beside_its_work_tree_is_believed_after_a_person_answers(
    memory: Memory, session: Callable[..., str], trust: Callable[..., Any], tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    git(tmp_path, "init", "-q", f"--separate-git-dir={tmp_path / 'kept'}", str(tree))
    git(tree, "commit", "-qm", "first", "--allow-empty")
    text = session(tree)
    assert "pgmem trust" in text
    assert trust(str(tree), "--yes").exit_code == 0
    assert "pgmem trust" not in session(tree)
    assert identify(tree).roots
    assert trust(str(tree), "--undo").exit_code == 0
    assert not identify(tree).roots


async def test_instructions_hold_nothing_of_a_project_that_a_folder_only_asks_for(
    dsn: str, memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await learn(memory)
    await memory.save_decision("Pay by wire", "OSPREY is what the contract names", "pay")
    clone = repository(tmp_path / "pay", "https://git.example/evil/pay.git")
    monkeypatch.setenv("PGMEM_DSN", dsn)
    said = command("connect", "codex", "--instructions", "--folder", str(clone))
    assert said.exit_code == 0, said.output
    assert "pgmem trust" in said.output
    file = clone / "AGENTS.md"
    assert not file.exists() or "OSPREY" not in file.read_text()


async def test_a_published_first_commit_without_the_remote_proves_nothing(
    memory: Memory, session: Callable[..., str], trust: Callable[..., Any], tmp_path: Path
) -> None:
    """Whoever has a clone of a published repository can pack a folder with its first commit."""
    own = await known(memory, tmp_path / "own" / "pay")
    git(tmp_path, "clone", "-q", str(own), "packed")
    git(tmp_path / "packed", "remote", "remove", "origin")
    text = session(tmp_path / "packed")
    assert "OSPREY" not in text
    assert "pgmem trust" in text
    assert trust(str(tmp_path / "packed"), "--yes").exit_code == 0
    assert "OSPREY" in session(tmp_path / "packed")


async def test_a_remote_of_another_proves_nothing_for_a_project_without_one(
    memory: Memory, session: Callable[..., str], tmp_path: Path
) -> None:
    own = tmp_path / "pay"
    own.mkdir()
    git(own, "init", "-q")
    git(own, "commit", "-qm", "first", "--allow-empty")
    project = await memory.project_of(own, create=True)
    assert project
    await learn(memory, project)
    git(tmp_path, "clone", "-q", str(own), "packed")
    git(tmp_path / "packed", "remote", "set-url", "origin", "https://git.example/evil/pay.git")
    text = session(tmp_path / "packed")
    assert "OSPREY" not in text
    assert "pgmem trust" in text
    git(tmp_path, "clone", "-q", str(own), "local")
    assert "OSPREY" in session(tmp_path / "local"), "a clone of a repository that nobody published"


# The daily work of one person, in which nothing is asked.


async def test_a_persons_own_folders_are_never_asked_about(
    memory: Memory, session: Callable[..., str], tmp_path: Path
) -> None:
    def knows(folder: Path) -> bool:
        text = session(folder)
        assert "pgmem trust" not in text
        return "OSPREY" in text

    own = tmp_path / "code" / "pay"
    own.mkdir(parents=True)
    git(own, "init", "-q")
    assert not knows(own)
    await learn(memory)
    assert knows(own), "a second session in the folder"
    (own / "app").mkdir()
    assert knows(own / "app"), "a folder in it"
    git(own, "commit", "-qm", "first", "--allow-empty")
    assert knows(own), "its first commit"
    git(own, "remote", "add", "origin", PAY)
    assert knows(own), "its first remote"
    git(own, "worktree", "add", "-q", "-b", "topic", str(tmp_path / "topic"))
    assert knows(tmp_path / "topic"), "a worktree"
    git(tmp_path, "clone", "-q", str(own), "second")
    git(tmp_path / "second", "remote", "set-url", "origin", PAY)
    assert knows(tmp_path / "second"), "a second clone from the same address"
    shutil.move(own, tmp_path / "renamed")
    assert knows(tmp_path / "renamed"), "a folder that was renamed"
    fork = tmp_path / "fork"
    git(tmp_path, "clone", "-q", str(tmp_path / "second"), str(fork))
    git(fork, "remote", "set-url", "origin", "git@github.com:ada/pay.git")
    assert not knows(fork), "a fork"
    other = repository(tmp_path / "other" / "pay", "git@example.org:other/pay.git")
    assert not knows(other), "a namesake"
    plain = tmp_path / "plain"
    plain.mkdir()
    assert not knows(plain), "a folder outside of any repository"
    git(tmp_path / "second", "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "part")
    assert not knows(tmp_path / "second" / "part"), "a submodule"
    assert identify(tmp_path / "second" / "part").roots, "a submodule is a separate repository"


async def test_a_place_that_was_known_before_stays_known(
    memory: Memory, session: Callable[..., str], tmp_path: Path
) -> None:
    """Such as a shallow clone, whose roots no release read."""
    shallow(tmp_path / "pay")
    place = identify(tmp_path / "pay")
    assert not place.roots
    root = "a" * 40
    await memory.open_project(["pay"], place.remotes, [root], place.places)
    await learn(memory)
    text = session(tmp_path / "pay")
    assert "OSPREY" in text
    assert "pgmem trust" not in text


async def test_a_clone_that_gets_its_history_proves_itself(
    memory: Memory, session: Callable[..., str], tmp_path: Path
) -> None:
    own = await known(memory, tmp_path / "own" / "pay")
    git(own, "commit", "-qm", "second", "--allow-empty")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{own}", "shallow")
    git(tmp_path / "shallow", "remote", "set-url", "origin", PAY)
    assert "OSPREY" not in session(tmp_path / "shallow")
    git(tmp_path / "shallow", "fetch", "-q", "--unshallow", f"file://{own}")
    assert "OSPREY" in session(tmp_path / "shallow")
