"""Texts at an act: before a tool runs, after it has failed, to a sub-agent, and after a compaction.

A session waits for it, so it imports nothing that is slow. Silence is the rule: most commands concern nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pgmem.escaping import as_data
from pgmem.features.acts import trial
from pgmem.features.editor import events, payloads
from pgmem.features.editor.events import Brought, Event
from pgmem.features.editor.libpq import Connection, QueryFailed
from pgmem.features.editor.state import Session, log
from pgmem.texts import by, fitting
from pgmem.transcripts import INJECTED

_CHARACTERS = 240  # 60 tokens, with the marks around the lines
_MOST_LINES = 3
_AGAIN_CHARACTERS = 2_400
_MOST_KEPT = 20  # lines that are brought again after a compaction
_MOST_OUTPUT = 20_000
_MOST_FILES = 3
_MOST_STEPS, _MOST_FAILURES = 8, 5
_PATCHED = re.compile(r"^\*\*\* (Update|Add|Delete) File: (.+)$", re.MULTILINE)
_READS = re.compile(
    r"\s*(cat|ls|cd|pwd|grep|rg|head|tail|find|wc|echo|which|git (status|log|diff|show)|sed -n)\b"
)
_TEXTS = ("new_string", "content", "new_source", "new_str", "text", "sql", "query", "input", "patch")
_ERROR = re.compile(
    r"^.*(?:error|fatal|failed|exception|cannot|not found|denied).*$", re.IGNORECASE | re.MULTILINE
)
_PARTS = re.compile(r"\n(?=- )")


class Act(NamedTuple):
    """A call of a tool: its name, the line of a shell, the file, and the text that it is given."""

    tool: str
    command: str | None = None
    path: str | None = None
    content: str | None = None
    exists: bool | None = None


def before(event: Event, connection: Connection, found: Brought) -> Brought:
    """Bring the rules that concern a tool's call; a rule of a person that forbids it makes the client ask."""
    acts = list(_acts(event.given))
    _note_step(event.session, acts)
    if not acts or not events.is_on("PGMEM_ACTS"):
        return found
    if trial.is_without(event.session):
        return found
    client = payloads.reads(event.client, event.name), payloads.asks(event.client, event.name)
    return _rules(event, connection, found, acts) if any(client) else found


def after(event: Event, connection: Connection, found: Brought) -> Brought:
    """Bring memories of an error; offer its remedy as a pattern, where the same command then succeeds."""
    acts = list(_acts(event.given))
    if not acts or not events.is_on("PGMEM_ACTS"):
        return found
    if not trial.is_without(event.session) and not payloads.reads(
        event.client, "PreToolUse" if event.client != "gemini-cli" else "BeforeTool"
    ):
        _note_step(event.session, acts)
        found = _rules(event, connection, found, acts)
    if event.session.has("met", _whole(acts[0])):
        project, _ = events.opened(event, connection)
        connection.rows("commit")
        record(event, connection, project, "done", _whole(acts[0]))
    command = acts[0].command
    output = payloads.failure_of(event.name, event.given)
    if output is not None:
        return _repairs(event, connection, found, command, output)
    if command is not None:
        _offer(event, connection, command)
    return found


def child(event: Event, connection: Connection, found: Brought) -> Brought:
    """Bring to a sub-agent the opening of a session of the project, as it is now."""
    own = Session(
        event.data_dir, event.client, f"{payloads.session_of(event.given)} {event.given.get('agent_id')}"
    )
    return events.start(event._replace(session=own), connection) if not found.text else found


def again(event: Event, _connection: Connection, found: Brought) -> Brought:
    """Bring once more the opening that the session had before a compaction took it away."""
    if not event.session.read("compacted") and event.given.get("source") != "compact":
        return found
    event.session.write("compacted", False)
    kept = event.session.read("brought")
    lines = [line for line in kept if line not in found.text] if isinstance(kept, list) else []
    return _with(found, lines, _AGAIN_CHARACTERS) if lines else found


def compacting(event: Event, _connection: Connection, found: Brought) -> Brought:
    """Note that a session is compacted now: the next event that the model reads brings the opening again."""
    if event.name.replace("-", "").lower().startswith("precomp"):
        event.session.write("compacted", True)
        event.session.forget("shown")
        event.session.forget("act")
    return found


def keep_lines(event: Event, found: Brought) -> None:
    """Keep the ids of the memories brought, for `again`."""
    lines = [line for line in _PARTS.split(found.text) if line.startswith("- ")]
    if lines:
        kept = event.session.read("brought")
        lines = [line.removesuffix(f"\n</{INJECTED}>") for line in lines]
        before_these = [line for line in kept if line not in lines] if isinstance(kept, list) else []
        event.session.write("brought", [*before_these, *lines][-_MOST_KEPT:])


def _acts(given: Mapping[str, Any]) -> Iterable[Act]:
    """Return the effects of a call of a tool; none for a tool of pgmem itself."""
    tool, asked = str(given.get("tool_name") or ""), given.get("tool_input")
    asked = asked if isinstance(asked, dict) else {"command": given.get("command") or asked}
    if "pgmem" in tool:
        return
    command = asked.get("command") or asked.get("cmd")
    if isinstance(command, list):
        command = shlex.join(map(str, command))
    texts = (asked.get(name) for name in _TEXTS)
    content = next((text for text in texts if isinstance(text, str)), None)
    patch = command if isinstance(command, str) and "*** Begin Patch" in command else content or ""
    if patched := _PATCHED.findall(patch):
        for way, path in patched[:_MOST_FILES]:
            yield Act(tool or "apply_patch", path=path.strip(), content=patch, exists=way != "Add")
    elif isinstance(command, str):
        yield Act(tool or "Bash", command=command)
    elif path := payloads.file_of(given):
        yield Act(tool, path=path, content=content)
    elif tool:
        yield Act(tool, content=content or json.dumps(asked)[:2_000])


def _rules(event: Event, connection: Connection, found: Brought, acts: list[Act]) -> Brought:
    project, root = events.opened(event, connection)
    folder, branch = payloads.folder_of(event.given), _branch(root)
    matches: dict[str, Mapping[str, Any]] = {}
    more, known = 0, set(map(str, found.ids))
    for act in acts:
        where = folder / act.path if act.path else None
        asked: dict[str, Any] = {
            "tool": act.tool,
            "command": act.command,
            "path": _relative(where, root or folder) if where else None,
            "content": act.content[:_MOST_OUTPUT] if act.content else None,
            "project_id": project,
            "branch": branch,
            "exists": where.exists() if where and act.exists is None else act.exists,
            "limit": _MOST_LINES,
        }
        answer = connection.call("memory_for_act", **asked)
        if answer["matches"] and where:
            # A rule may be about a file of this name elsewhere: git knows the others, and takes as long as all else.
            names = events.names_of(where, root or folder)[1]
            answer = connection.call("memory_for_act", **asked, names=names)
        matches |= {str(match["id"]): match for match in answer["matches"]}
        more += answer["more"]
    connection.rows("commit")
    if not matches:
        return found
    forbidding = [one for one, match in matches.items() if match["forbids"]]
    if forbidding and is_before(event):
        record(event, connection, project, "met", _whole(acts[0]), forbidding)
        event.session.first("met", _whole(acts[0]))
        event.session.write("met", True)
    done = " ".join((acts[0].command or acts[0].path or acts[0].tool).split()[:2])
    forbids = next((m for m in matches.values() if m["forbids"] and m["by"] == "person"), None)
    reason = _reason(forbids) if forbids and events.is_on("PGMEM_ASK") else ""
    new = [
        match
        for one, match in matches.items()
        if event.session.first("act", f"{one} {done}")
        and one not in known
        and (match["standing"] or not event.session.has("shown", one))
    ]
    lines = [_line(match) for match in new[:_MOST_LINES]]
    brought = _with(found, lines, _CHARACTERS, f" ({more} more)" if more else "") if lines else found
    ids = [
        *found.ids,
        *(m["id"] for m in new),
        *([forbids["id"]] if forbids and forbids not in new and reason else []),
    ]
    return brought._replace(project=project, ids=ids, reason=reason)


def _repairs(
    event: Event, connection: Connection, found: Brought, command: str | None, output: str
) -> Brought:
    if command is not None:
        _note_failure(event.session, command, output)
    project, _ = events.opened(event, connection)
    answer = connection.call(
        "memory_for_error", output=output[-_MOST_OUTPUT:], command=command, project_id=project, limit=2
    )
    connection.rows("commit")
    matches = answer["matches"] if not trial.is_without(event.session) else []
    record(event, connection, project, "failed", str(answer["error"]), [match["id"] for match in matches])
    if not matches or not event.session.first("error", str(answer["error"])):
        return found
    brought = _with(found, [_line(match) for match in matches], _CHARACTERS)
    return brought._replace(project=project, ids=[*found.ids, *(match["id"] for match in matches)])


def is_before(event: Event) -> bool:
    """Whether an event comes before its act is done."""
    return event.kind == "file"


def record(
    event: Event,
    connection: Connection,
    project: str | None,
    act: str,
    whole: str,
    memory_ids: Iterable[object] = (),
) -> None:
    """Record for the balance that rules met an act, that it was done all the same, or that it failed."""
    events.record(
        event,
        connection,
        1.0,
        "record_act",
        act=act,
        key=hashlib.sha256(whole.encode(errors="replace")).hexdigest()[:32],
        memory_ids=[str(one) for one in memory_ids],
        project_id=project,
        client=event.client,
        session_id=payloads.session_of(event.given),
    )


def _whole(act: Act) -> str:
    return f"{act.tool} {act.command or act.path or act.content}"


def _note_failure(session: Session, command: str, output: str) -> None:
    failures = [one for one in session.read("failures") or [] if one["command"] != command]
    line = next((text for text in reversed(output.strip().splitlines()) if re.search(r"\w", text)), "")
    found = _ERROR.search(output)
    said = (found[0] if found else line).strip()[:300]
    session.write("failures", [*failures, {"command": command, "error": said, "since": []}][-_MOST_FAILURES:])


def _note_step(session: Session, acts: list[Act]) -> None:
    """Note a change that is made while a failure waits for its repair."""
    failures = session.read("failures")
    if not failures or not acts:
        return
    act = acts[0]
    if act.path is None and (act.command is None or _READS.match(act.command)):
        return
    step = act.command or f"edit {act.path}"
    for one in failures:
        if step != one["command"] and step not in one["since"]:
            one["since"] = [*one["since"], step[:300]][-_MOST_STEPS:]
    session.write("failures", failures)


def _offer(event: Event, connection: Connection, command: str) -> None:
    """Propose a failure with the changes after which the same command succeeded, for a person to decide."""
    failures = event.session.read("failures") or []
    mended = next((one for one in failures if one["command"] == command), None)
    if mended is None:
        return
    event.session.write("failures", [one for one in failures if one["command"] != command])
    if not mended["since"]:
        return
    from pgmem.secret_forms import redacted

    project, _ = events.opened(event, connection)
    try:
        connection.call(
            "propose_change",
            verb="save_pattern",
            arguments={
                "trigger": redacted(f"{command[:300]} fails: {mended['error']}"),
                "repeatable_steps": [redacted(step) for step in mended["since"]],
                "project_id": project,
            },
            origin=f"a session of {event.client}, where {redacted(command[:200])} failed and then succeeded",
        )
        connection.rows("commit")
    except QueryFailed as error:  # a replica, or a project with too many reviews
        connection.rows("rollback")
        log(event.data_dir, event.name, f"the repair was not proposed: {error}")


def _line(match: Mapping[str, Any]) -> str:
    kind = "Instruction" if match.get("standing") else f"{match['label']}{by(match)}"
    return f"- [{kind}, {str(match['created_at'])[:10]}] {' '.join(as_data(str(match['text'])).split())}"


def _reason(match: Mapping[str, Any]) -> str:
    text = " ".join(str(match["text"]).split())
    text = text if len(text) <= 300 else text[:299] + "…"
    return (
        f"{match['author']} said on {str(match['created_at'])[:10]}: “{text}”. "
        "PGMEM_ASK=off in the environment of this client ends such questions."
    )


def _with(found: Brought, lines: list[str], characters: int, ending: str = "") -> Brought:
    """Add lines to the text, in separate marks."""
    opening, closing = f"<{INJECTED}>", f"</{INJECTED}>"
    left = characters - len(opening) - len(closing) - len(ending) - 2
    share = left // len(lines) - 1
    shown = (
        lines if len(lines) == 1 else [line if len(line) <= share else _cut(line, share) for line in lines]
    )
    kept = fitting(shown, left, 40)
    if not kept:
        return found
    block = "\n".join([opening, *kept[:-1], kept[-1] + ending, closing])
    return found._replace(text=f"{found.text}\n{block}" if found.text else block)


def _cut(line: str, most: int) -> str:
    cut = line[: most - 1]
    return cut[: max(cut.rfind(" "), most // 2)] + "…"


def _relative(path: Path, root: Path) -> str:
    try:
        return Path(os.path.realpath(path)).relative_to(os.path.realpath(root)).as_posix()
    except ValueError:
        return path.as_posix()


def _branch(root: Path | None) -> str | None:
    """Return the branch that a work tree is on, read from its files: git would take as long as all else."""
    if root is None:
        return None
    place = root / ".git"
    try:
        if place.is_file():  # a linked work tree
            place = root / place.read_text("utf-8")[:4096].removeprefix("gitdir:").strip()
        head = (place / "HEAD").read_bytes()[:1024].decode(errors="replace").strip()
    except OSError:
        return None
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else None
