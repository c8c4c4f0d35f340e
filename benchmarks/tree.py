"""The speed of the cards of a large tree: init, an answer after no change and after a change of one line."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import sysconfig
from pathlib import Path
from time import perf_counter

from benchmarks.databases import Progress, filled_database
from benchmarks.timing import quantile
from pgmem.errors import InvalidArgument
from pgmem.memory import Memory
from pgmem.server.embedded import temporary_server
from pgmem.settings import load

_ROUNDS = 20
_MOST_BYTES = 200_000


def time_tree(dsn: str | None, files: int, commits: int, progress: Progress) -> dict[str, float]:
    """Seconds of init, and of an answer at p50 and p95 with nothing and with one line changed before each.

    Args:
        dsn: a server where databases can be created; None: an embedded one in a temporary directory.
        files: how many installed Python files the tree has.
        commits: how many commits its history has; every hundredth has a tag.
        progress: called as the work advances.

    Raises:
        InvalidArgument: not so many files are installed.
    """
    with temporary_server(dsn) as (server, folder), filled_database(server, 10) as database:
        root = make_tree(folder / "tree", files)
        make_history(root, commits)
        return asyncio.run(_timed(database, root, folder / "data", progress))


async def _timed(dsn: str, root: Path, data_dir: Path, progress: Progress) -> dict[str, float]:
    settings = load(
        dsn=dsn, data_dir=data_dir, embedding_provider="none", repository=root, repository_project="tree"
    )
    edited = sorted(root.rglob("*.py"))[len(list(root.rglob("*.py"))) // 2]
    path = edited.relative_to(root).as_posix()
    async with Memory.connect(settings) as memory:
        began = perf_counter()
        await memory.get_relevant_memory("tree", [path])
        made = {"init, s": round(perf_counter() - began, 2)}
        for what, change in (("nothing changed", False), ("one line edited", True)):
            times = []
            for number in range(_ROUNDS):
                if change:
                    with edited.open("a", encoding="utf-8") as file:
                        file.write(f"\n# {number}\n")
                began = perf_counter()
                found = await memory.get_relevant_memory("tree", [path])
                times.append(perf_counter() - began)
                expected = "refreshed" if change else "unchanged"
                if found.memory_sync.auto != expected and not (number == 0 and not change):
                    raise InvalidArgument(
                        f"the store said {found.memory_sync.auto} where {expected} was due."
                    )
                progress(what, number + 1, _ROUNDS)
            made[f"{what}, p50 s"] = round(quantile(times, 0.5), 3)
            made[f"{what}, p95 s"] = round(quantile(times, 0.95), 3)
    return made


def make_tree(root: Path, files: int) -> Path:
    """A git work tree with one commit of files that are installed beside this program.

    Raises:
        InvalidArgument: not so many files are installed.
    """
    installed = Path(sysconfig.get_paths()["purelib"])
    found = [
        one for one in sorted(installed.rglob("*.py")) if one.is_file() and one.stat().st_size <= _MOST_BYTES
    ]
    if len(found) < files:
        raise InvalidArgument(f"only {len(found)} Python files are installed; ask for at most so many.")
    step = len(found) / files
    for place in range(files):
        source = found[int(place * step)]
        target = root / source.relative_to(installed)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    who = {f"GIT_{role}_{part}": "bench" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    for command in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", "One tree."]):
        subprocess.run(["git", *command], cwd=root, env={**kept, **who}, check=True, capture_output=True)
    return root


def make_history(root: Path, commits: int) -> None:
    """Add commits that each change a line of one to three small files, with a tag at every hundredth."""
    small = [one for one in sorted(root.rglob("*.py")) if one.stat().st_size < 2_000]
    names = [one.relative_to(root).as_posix() for one in small]
    texts = [one.read_bytes() for one in small]
    dice = random.Random(7)
    with subprocess.Popen(["git", "fast-import", "--quiet"], cwd=root, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        begin = (
            b"from refs/heads/%s^0\n"
            % subprocess.check_output(["git", "branch", "--show-current"], cwd=root).strip()
        )
        branch = begin[5:-3]
        for number in range(commits):
            message = (
                b"Change part %d.\n\nIt must hold because of part %d, and nobody knows why it did before."
                % (
                    number,
                    dice.randrange(100),
                )
            )
            who = b"Person %d <%d@example.com> %d +0000" % (
                *[dice.randrange(30)] * 2,
                1_600_000_000 + 5_000 * number,
            )
            process.stdin.write(
                b"commit %s\ncommitter %s\ndata %d\n%s\n%s" % (branch, who, len(message), message, begin)
            )
            begin = b""
            first = dice.randrange(len(names))
            for place in range(first, min(first + dice.randint(1, 3), len(names))):
                text = texts[place] + b"\n# %d\n" % number
                process.stdin.write(
                    b"M 100644 inline %s\ndata %d\n%s\n" % (names[place].encode(), len(text), text)
                )
            if number % 100 == 0:
                process.stdin.write(b"reset refs/tags/v1.%d\nfrom %s\n\n" % (number, branch))
    subprocess.run(["git", "reset", "-q", "--hard"], cwd=root, check=True)
