"""The trial of a memory: each session is with or without it by a coin, and both kinds are compared.

A session without memory is brought nothing by hooks, and its person knows; it is compared as the coin fell, whatever
its agent then does with the tools.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pgmem.features.editor import events, payloads
from pgmem.features.editor.events import Brought, Event
from pgmem.features.editor.libpq import Connection, QueryFailed
from pgmem.features.editor.state import Session, log
from pgmem.transcripts import INJECTED

_MOST_READ = 64_000_000
_ENDS = "pgmem balance compares both; pgmem config set memory_trial off ends the trial."
_WITH = f"pgmem: the coin of the trial gave this session its memories. {_ENDS}"
_WITHOUT = f"pgmem: the coin of the trial gave this session no memories, so hooks bring nothing. {_ENDS}"
_TOLD = (
    "This session is without memory, by the coin of a trial that the person you work for switched on. "
    "Do not call the tools of pgmem to read what is remembered; save as usual."
)


def is_without(session: Session) -> bool:
    """Whether a session is one of a trial, without memory."""
    return bool(session.read("trial") == "without")


def begin(event: Event, connection: Connection, found: Brought) -> Brought:
    """Toss the coin of a session at its start, inform its person, and take away its withheld texts."""
    arm = event.session.read("trial")
    if arm is None:
        project, _ = events.opened(event, connection)
        try:
            arm = connection.call(
                "begin_trial",
                client=event.client,
                session_id=payloads.session_of(event.given),
                project_id=project,
            )["begin_trial"]
            connection.rows("commit")
        except QueryFailed as error:  # a replica writes nothing
            connection.rows("rollback")
            log(event.data_dir, event.name, f"no session of the trial was begun: {error}")
            return found
        event.session.write("trial", arm)
    if arm not in ("with", "without"):
        return found
    if arm == "with":
        return found._replace(notice=_WITH)
    return Brought(f"<{INJECTED}>\n{_TOLD}\n</{INJECTED}>", found.project, notice=_WITHOUT)


def withhold(event: Event, _connection: Connection, found: Brought) -> Brought:
    """Bring nothing to a session without memory."""
    return Brought("", found.project) if found.text and is_without(event.session) else found


def count(event: Event, connection: Connection, found: Brought) -> Brought:
    """Count a prompt of a session of the trial, and the tokens of its transcript at its end."""
    if event.session.read("trial") not in ("with", "without"):
        return found
    counted: dict[str, Any] = {"prompts": 1} if event.kind == "prompt" else {"tokens": tokens_of(event)}
    if counted.get("prompts") or counted.get("tokens"):
        try:
            connection.begin(1.0, event.client)
            connection.call(
                "record_trial",
                client=event.client,
                session_id=payloads.session_of(event.given),
                **counted,
            )
            connection.rows("commit")
        except QueryFailed as error:
            connection.rows("rollback")
            log(event.data_dir, event.name, f"the trial was not counted: {error}")
    return withhold(event, connection, found)


def tokens_of(event: Event) -> int | None:
    """Return the tokens that the transcript of a session counts: each message once, by its last line."""
    place = payloads.transcript_of(event.given)
    if place is None or payloads.is_of_child(event.name):
        return None
    used: dict[str, int] = {}
    try:
        with Path(place).open("rb") as lines:
            size = 0
            for number, line in enumerate(lines):
                size += len(line)
                if size > _MOST_READ:
                    return None
                if b'"usage"' not in line:
                    continue
                try:
                    message = json.loads(line).get("message") or {}
                    usage = message.get("usage") or {}
                    counts = [usage.get(name) for name in ("input_tokens", "output_tokens")]
                    used[str(message.get("id") or number)] = sum(
                        one for one in counts if isinstance(one, int)
                    )
                except (ValueError, AttributeError):
                    continue
    except OSError:
        return None
    return sum(used.values()) or None
