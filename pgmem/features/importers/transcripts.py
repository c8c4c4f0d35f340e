"""Whole histories of conversations, as their clients keep or export them, taken in as turns.

    claude-code   a transcript (SESSION.jsonl), or a folder of them (~/.claude/projects)
    codex         a rollout (rollout-*.jsonl), or a folder of them (~/.codex/sessions)
    cursor        a transcript (ID.jsonl, earlier ID.txt), or a folder of them (~/.cursor/projects)
    gemini-cli    a session (session-*.jsonl, earlier .json), or a folder of them (~/.gemini/tmp)
    copilot       events.jsonl of Copilot CLI, a transcript or a chat session of VS Code, or a folder of them
    windsurf      a transcript (ID.jsonl), or a folder of them (~/.windsurf/transcripts)
    zed           a thread or a text thread as JSON, or a folder of them
    cline         ui_messages.json or api_conversation_history.json of a task, or a folder of tasks
    opencode      a session as `opencode export` prints it, or a folder of them
    chatgpt       conversations.json of the data export, or the folder or zip file that holds it
    claude        conversations.json of the data export of claude.ai, or the folder or zip file that holds it

A turn is named by its client, session and id, so a history can be imported again, after a break too, and nothing is
doubled. A conversation with branches gives the one that the client shows. A file, a line or a message that
cannot be read stops no other one; the answer names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from pgmem.errors import InvalidArgument
from pgmem.features.importers import exported, sessions
from pgmem.features.importers.records import unreadable, why_empty
from pgmem.foreign import Account
from pgmem.memory import Memory
from pgmem.models import Imported
from pgmem.workspace.identity import chosen_project

Turn = dict[str, str]

_TURNS = 100
"""Turns in one save."""
_CHARS = 400_000
"""Characters in one save, about; a turn has at most 100 000."""


@dataclass(frozen=True)
class Conversation:
    """A conversation: its id in its client, its turns in order, and the folder that it was held in, where known."""

    session_id: str
    turns: list[Turn] = field(default_factory=list)
    folder: str | None = None


def read(client: str, path: Path, account: Account | None = None) -> Iterator[Conversation]:
    """Return the conversations of a file or folder, one after the other; those without turns are left out.

    Args:
        client: a name of CLIENTS.
        path: the file or folder.
        account: counts the lines left out.

    Raises:
        InvalidArgument: no turn is there; the message says what was found.
    """
    account = account if account is not None else Account()
    try:
        is_there = path.is_dir() or path.is_file()
    except OSError as error:  # a folder above it is closed
        raise InvalidArgument(f"{path} is not taken: {unreadable(error)}.") from error
    if not is_there:
        raise InvalidArgument(f"{path} is neither a file nor a folder.")
    empty = True
    for found, folder in CLIENTS[client](path, account):
        for session, turns in groupby(found, key=lambda turn: turn["session"]):
            empty = False
            yield Conversation(session, [_bare(turn) for turn in turns], folder)
    if empty:
        raise InvalidArgument(
            f"{path} holds no conversations of {client}: is --from right?{why_empty(account)}"
        )


def _bare(turn: Turn) -> Turn:
    return {name: value for name, value in turn.items() if name != "session"}


async def load(
    memory: Memory,
    client: str,
    path: Path,
    project: str | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Imported:
    """Keep the turns of all conversations of a file or folder.

    Args:
        memory: the store.
        client: a name of CLIENTS.
        path: the file or folder.
        project: the project of all turns; None takes that of the folder that each conversation was held in.
        progress: called after each save with the number of turns, twice, as their total is not known before the end.

    Returns:
        How many turns were kept, were present already, and were left out by reason.

    Raises:
        InvalidArgument: the path cannot be read, or no conversation has a folder and project is None.
    """
    kept, known, account = 0, 0, Account()
    homeless: str | None = None
    for conversation in read(client, path, account):
        name = project or await _project(memory, conversation)
        if name is None:
            homeless = conversation.session_id[:80]
            account.leave(
                f"conversation {homeless}",
                None,
                "it names no folder: send --project, the project of its turns",
            )
            continue
        for batch in _batches(conversation.turns):
            part: Any
            for part in (batch, *([turn] for turn in batch)):  # the second time, each turn for itself
                try:
                    done = await memory.capture_turns(client, conversation.session_id, part, name)
                except InvalidArgument as error:
                    if len(part) == 1:
                        account.leave(
                            f"turn {part[0]['id'][:80]} of {conversation.session_id[:80]}", None, str(error)
                        )
                    continue
                kept, known = kept + done.captured, known + done.known
                if part is batch:
                    break
            if progress is not None:
                progress(kept + known, kept + known)
    if homeless is not None and not kept + known:
        raise InvalidArgument(
            f"Conversation {homeless} names no folder: send --project, the project of its turns."
        )
    return Imported(
        taken=kept, present=known, converted=dict(account.converted), left_out=dict(account.left_out)
    )


async def _project(memory: Memory, conversation: Conversation) -> str | None:
    if conversation.folder is None:
        return None
    folder = Path(conversation.folder)
    if folder.is_dir():
        return await memory.project_of(folder, create=True)
    return chosen_project(folder) or folder.name or "root"


def _batches(turns: Iterable[Turn]) -> Iterator[list[Turn]]:
    batch: list[Turn] = []
    chars = 0
    for turn in turns:
        if batch and (len(batch) == _TURNS or chars + len(turn["content"]) > _CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(turn)
        chars += len(turn["content"])
    if batch:
        yield batch


CLIENTS: Mapping[str, Callable[[Path, Account], Iterator[tuple[list[Turn], str | None]]]] = {
    **sessions.CLIENTS,
    **exported.CLIENTS,
}
"""The readers, by the name of the client: each yields the turns of a conversation, and its folder."""
