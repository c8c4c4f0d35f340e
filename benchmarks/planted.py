"""How many decisions that a history explains reach an agent that opens the file.

Decisions are planted in the history of a repository: the messages of commits that it has, drawn by lot from those of 1
to 3, of 4 to 10 and of more files, are replaced by ones that explain a decision about one of their sources, among
lists, trailers and other text, as people write them. The changes, and all other messages, stay as they are: so what
later commits explain of the same file displaces a decision as it would. The texts are below; seven of the twelve have
no word such as must or because.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.databases import Progress, filled_database
from pgmem.errors import InvalidArgument
from pgmem.features.cards import scan
from pgmem.features.cards.covering import is_test
from pgmem.features.cards.history import Timeline, explanation
from pgmem.features.cards.parsing import parse
from pgmem.server.embedded import temporary_server
from pgmem.settings import load
from pgmem.sync import Memory
from pgmem.workspace.git import Commit, Git, GitUnavailable

COUNT = 9
_NEWEST = 1_500
"""The commits that decisions are planted in are among so many of the newest."""
_SIZES = ((1, 3), (4, 10), (11, 1_000))
_DECISIONS = """\
Retries in {name} stop after the third attempt, because the fourth one locked accounts of customers in March.
Whoever raises the limit has to ask the operators first.

The caller of {name} now holds the lock, not the function itself.
Two threads entered it at shutdown and each waited for the other.

{name} keeps the old order of the arguments on purpose.
Three plugins call it by position and none of their authors answers.

We measured a cache here and took it out again: {name} is called once a request, and no entry was ever read twice.

Values of {name} stay texts up to the last step.
Parsing them early loses the leading zeros of postal codes.

Errors of {name} are logged and not raised, as the job at night would end at the first broken record.

{name} must not import the settings.
It is loaded by the installer, when there are none yet.

The limit of 64 in {name} comes from the oldest printers in the field.
A larger one works on every machine of ours and fails at customers.

Names are compared without case in {name} since the catalogue of the partner mixes both.
Their support confirmed that this will stay.

Do not sort the result of {name}: the order is that of the file, and the signature is computed over it.

{name} opens the file twice instead of seeking back.
On the network drive of two customers a seek returns stale bytes.

One pass over the input is enough for {name}, and two took nine minutes on the largest archive.
Please measure before splitting it again.
""".split("\n\n")
_FORMS = (
    "{decision}",
    "{decision}\n\nCo-authored-by: Bea <bea@example.com>\nSigned-off-by: Ada <ada@example.com>",
    "* Rename a variable\n* Sort imports\n\n{decision}\n\nCloses #4711",
    "This touches some callers as well, and a few names became shorter on the way so that lines fit.\n\n{decision}",
    "{decision}\n\n```\n$ make check\nok\n```\n\nTested on Linux and by hand.",
)


def measure(root: Path, progress: Progress, dsn: str | None = None, *, count: int = COUNT) -> dict[str, Any]:
    """Plant decisions in a copy of a repository, and look which of them the first screen of their file holds.

    Args:
        root: the repository.
        progress: called with the name of a step, its finished units and their total.
        dsn: a server where databases can be created; None: an embedded one in a temporary directory.
        count: how many decisions.

    Returns:
        {repository, planted, any_sentence, whole, rows: [{path, commit, files, newer, sentences, shown}]}, where
        newer counts the later commits of the file that explain something, and shown its sentences on the first screen.

    Raises:
        InvalidArgument: the history holds too few commits that fit.
    """
    try:
        git = Git(root)
        log = [commit for commit in git.log() if commit.changes]
    except GitUnavailable as error:
        raise InvalidArgument(f"{root}: {error}.") from error
    timeline = Timeline(log, git.files()[0])
    chosen = _chosen(git, root, timeline, log, count)
    texts = {
        commit.id: _DECISIONS[place % len(_DECISIONS)].strip().format(name=Path(path).stem).splitlines()
        for place, (path, commit) in enumerate(chosen)
    }
    messages = {
        commit.id: f"Rework {Path(path).stem}\n\n{_FORMS[place % len(_FORMS)]}\n".format(
            decision=" ".join(texts[commit.id])
        )
        for place, (path, commit) in enumerate(chosen)
    }
    rows = []
    with temporary_server(dsn) as (server, folder), filled_database(server, 10) as database:
        copy = folder / root.resolve().name
        planted(root, copy, messages)
        settings = load(dsn=database, data_dir=folder / "data", embedding_provider="none")
        with Memory.connect(settings) as memory:
            memory.save_session("Plant decisions", "planted")
            memory.refresh_from_run(scan(copy), "planted")
            for number, (path, commit) in enumerate(chosen, 1):
                found = memory.get_relevant_memory("planted", [path])
                said = " ".join(card.statement for digest in found.digests or () for card in digest.cards)
                older = timeline.commits(path)
                newer = older[: next(place for place, one in enumerate(older) if one.id == commit.id)]
                rows.append(
                    {
                        "path": path,
                        "commit": commit.id,
                        "files": len(commit.changes),
                        "newer": sum(explanation(one.message) is not None for one in newer),
                        "sentences": len(texts[commit.id]),
                        "shown": sum(one in said for one in texts[commit.id]),
                    }
                )
                progress("asking the store", number, len(chosen))
    return {
        "repository": root.resolve().name,
        "planted": len(rows),
        "any_sentence": sum(bool(row["shown"]) for row in rows),
        "whole": sum(row["shown"] == row["sentences"] for row in rows),
        "rows": rows,
    }


def _chosen(
    git: Git, root: Path, timeline: Timeline, log: list[Commit], count: int
) -> list[tuple[str, Commit]]:
    """Files and commits, one of each: sources with at least a quarter of the lines that their commit changed."""
    dice = random.Random(7)
    fitting = [one for one in log[:_NEWEST] if len(one.parents) == 1]
    sizes = git.sizes([one.id for one in fitting])
    files: dict[str, Commit | None] = {}
    for commit in fitting:
        for _, path, _ in commit.changes:
            files.setdefault(timeline.renames.get(path, path), None)
    sources = {path for path in sorted(files) if _is_source(root, path)}
    pairs = [
        (today, commit)
        for commit in fitting
        for _, path, _ in commit.changes
        if (today := timeline.renames.get(path, path)) in sources
        and 4 * sizes[commit.id].get(path, 0) >= sum(sizes[commit.id].values()) > 0
    ]
    found: dict[str, Commit] = {}
    while len(found) < count and pairs:
        least, most = _SIZES[len(found) % len(_SIZES)]
        of_size = [one for one in pairs if least <= len(one[1].changes) <= most]
        path, commit = dice.choice(of_size or pairs)
        found[path] = commit
        pairs = [one for one in pairs if one[0] != path and one[1] is not commit]
    if len(found) < count:
        raise InvalidArgument(f"{root}: {len(found)} commits fit; ask for at most so many decisions.")
    return list(found.items())


def _is_source(root: Path, path: str) -> bool:
    """Whether a file is a program that is there, and no test."""
    if not (root / path).is_file():
        return False
    row = parse(path, (root / path).read_bytes())
    return bool(row.get("source")) and not is_test(path) and not row.get("generated")


def planted(root: Path, copy: Path, messages: Mapping[str, str]) -> None:
    """Clone a repository with other messages for some of its commits, by their ids; the files are the same."""
    subprocess.run(
        ["git", "clone", "-q", "--no-checkout", str(root.resolve()), str(copy)],
        check=True,
        capture_output=True,
    )
    export = ["git", "fast-export", "--no-data", "--show-original-ids", "--reencode=no", "HEAD"]
    history = subprocess.run(export, cwd=copy, check=True, capture_output=True).stdout
    given = b"".join(_with_messages(history, messages))
    subprocess.run(["git", "fast-import", "--quiet", "--force"], cwd=copy, input=given, check=True)
    subprocess.run(["git", "checkout", "-q", "planted"], cwd=copy, check=True, capture_output=True)


def _with_messages(history: bytes, messages: Mapping[str, str]) -> Iterator[bytes]:
    """The parts of a stream of fast-export, with other messages."""
    place, name = 0, ""
    while place < len(history):
        end = history.index(b"\n", place) + 1
        line = history[place:end]
        place = end
        if line.startswith((b"commit ", b"reset ")):
            line = line.split()[0] + b" refs/heads/planted\n"
        elif line.startswith(b"original-oid "):
            name = line.split()[1].decode()
        elif line.startswith(b"data "):
            length = int(line.split()[1])
            text = history[place : place + length]
            place += length
            if name in messages:
                text = messages[name].encode()
            line = b"data %d\n%s" % (len(text), text)
        yield line
