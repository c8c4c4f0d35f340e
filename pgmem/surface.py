"""`pgmem surface`: what is remembered about a line or a path, for an editor's hooks.

A hook runs at every edit, so this reads no settings file, opens no pool, starts no server and imports nothing it can
do without. Whatever goes wrong it says nothing and ends well: an editor must not stop for its memory.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Question", "ask", "main", "read", "render"]

_LIMIT = 800  # characters: more would crowd out what the agent is about to read
_WAIT_MS = 300  # the answer comes in a tenth of that, or the editor goes on without it


class Question(NamedTuple):
    """What `pgmem surface` was asked."""

    query: str
    project: str | None = None
    limit: int = 5
    dsn: str | None = None
    data_dir: Path | None = None
    as_json: bool = False


def read(arguments: Sequence[str]) -> Question | None:
    """The question of a command line; None for one that needs the whole command line (help, wrong usage, --env-file)."""
    given: dict[str, Any] = {}
    words: list[str] = []
    names = {
        "--project": "project",
        "-p": "project",
        "--limit": "limit",
        "-n": "limit",
        "--dsn": "dsn",
        "--data-dir": "data_dir",
    }
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=") if argument.startswith("--") else (argument, "", "")
        if name in names:
            text = value if equals else next(rest, None)
            if text is None:
                return None
            given[names[name]] = text
        elif argument == "--json":
            given["as_json"] = True
        elif argument.startswith("-"):
            return None
        else:
            words.append(argument)
    if len(words) != 1:
        return None
    if "limit" in given:
        if not given["limit"].isdecimal() or not 1 <= int(given["limit"]) <= 100:
            return None
        given["limit"] = int(given["limit"])
    if "data_dir" in given:
        given["data_dir"] = Path(given["data_dir"])
    return Question(words[0], **given)


def ask(question: Question) -> Mapping[str, Any]:
    """The answer of a server that runs; nothing found where none does."""
    if len(question.query.strip()) < 3 or not (dsn := _dsn(question)):
        return {}
    import psycopg

    environment = os.environ.get
    identity = (
        environment("DEFAULT_ORG_ID", ""),
        environment("DEFAULT_USER_ID", ""),
        str(_WAIT_MS),
    )
    with psycopg.connect(dsn, connect_timeout=2, autocommit=True) as connection, connection.transaction():
        connection.execute(
            "select set_config('pgmem.org_id', %s, true), set_config('pgmem.user_id', %s, true),"
            " set_config('pgmem.source', 'cli', true), set_config('statement_timeout', %s, true)",
            identity,
        )
        row = connection.execute(
            "select matches, total_found from pgmem.memory_surface(%s, %s, %s)",
            (question.query.replace("\0", " ")[:10_000], question.project, question.limit),
        ).fetchone()
    return {} if row is None else {"matches": row[0], "total_found": row[1]}


def _dsn(question: Question) -> str | None:
    """The server that is asked: the DSN, or the embedded server where it runs. None is started for a hook."""
    if dsn := question.dsn or os.environ.get("PGMEM_DSN"):
        return dsn
    folder = question.data_dir or os.environ.get("PGMEM_DATA_DIR")
    if folder is None:
        import platformdirs

        folder = platformdirs.user_data_dir("pgmem")
    try:
        lines = (Path(folder).expanduser() / "postgres" / "postmaster.pid").read_text("utf-8").splitlines()
    except OSError:
        return None
    # The lines are its pid, directory, start time, port and socket directory; it writes them one by one.
    if len(lines) < 5 or not lines[4]:
        return None
    return f"host='{_quoted(lines[4])}' port={int(lines[3])} user=postgres dbname=pgmem"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def render(answer: Mapping[str, Any]) -> str:
    """A line a match, 800 characters at most; the empty text when there is nothing to say."""
    lines: list[str] = []
    left = _LIMIT
    for match in answer.get("matches", ()):
        old = ", stale" if match["freshness"] == "stale" else ""
        line = _plain(f"[{match['label']}{old}] {match['name']}: {match['content']}")
        if len(line) > left:
            line = line[: left - 1] + "…" if left > 80 else ""
        if not line:
            break
        lines.append(line)
        left -= len(line) + 1
    return "\n".join(lines)


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def main(question: Question) -> None:
    """Answer on stdout. Every failure is silence and exit code 0."""
    try:
        answer = ask(question)
    except Exception:  # a hook has nobody to tell it to
        answer = {}
    if question.as_json:
        text = json.dumps(
            {"matches": answer.get("matches", []), "total_found": answer.get("total_found", 0)},
            ensure_ascii=False,
        )
    else:
        text = render(answer)
    if text:
        try:
            sys.stdout.buffer.write(f"{text}\n".encode())
            sys.stdout.flush()
        except OSError:  # the editor has closed its end
            return
