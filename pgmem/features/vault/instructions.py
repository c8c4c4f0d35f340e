"""The block of a file of instructions, such as CLAUDE.md or AGENTS.md, that pgmem keeps up to date.

An agent follows such a file, so it holds only the words of persons: their instructions and their decisions.

All bytes outside of the two marks stay as they are. The opening mark holds the hash of pgmem's text, so that a
change by hand is noticed: it becomes a proposal for review and is never overwritten before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from pgmem import plain_files, texts
from pgmem.errors import InvalidArgument
from pgmem.escaping import as_data, counted, shortened
from pgmem.features.vault.fields import TEXTS
from pgmem.memory import Memory

FILES = {
    "claude-code": "CLAUDE.md",
    "codex": "AGENTS.md",
    "cursor": ".cursor/rules/pgmem.mdc",
    "gemini-cli": "GEMINI.md",
    "vscode": ".github/copilot-instructions.md",
    "windsurf": ".windsurf/rules/pgmem.md",
    "zed": ".rules",
}
"""The file of instructions that each client reads, in the folder of a project."""
_OPENING = re.compile(rb"<!-- pgmem:instructions (?:([0-9a-f]{12}) )?[^\r\n]*?-->")
_CLOSING = b"<!-- /pgmem:instructions -->"
_MENTION = re.compile(rb"<!-- /?pgmem:instructions")
_LINE = re.compile(r"^- (?P<text>.*?) <!-- (?P<id>[0-9a-f-]{36}) -->$")
_LINE_CHARS = 400
_CUT = "not whole: read such a text in the memory of the project before you act on it."
_MOST_BYTES = 4 * 2**20
_MOST_TOKENS = 4_000
_MOST_PROPOSALS = 20
"""Changes of one file in one run, as a person decides on each; a block may have thousands of lines."""


class Block(NamedTuple):
    """The block in a file: the bytes before it, in it and behind it, and whether a hand changed it."""

    before: bytes
    lines: list[str]
    after: bytes
    changed: bool


class Proposal(NamedTuple):
    """The proposal of a change by hand: another text of a memory, none, or a new one."""

    id: str | None
    text: str | None


def find(contents: bytes) -> Block | None:
    """Return the block of a file; None where there is none.

    Raises:
        InvalidArgument: a mark is missing, or there are two blocks.
    """
    if not _MENTION.search(contents):
        return None
    opening = list(_OPENING.finditer(contents))
    if len(opening) != 1 or contents.count(_CLOSING) != 1 or len(_MENTION.findall(contents)) != 2:
        raise InvalidArgument(
            "It must hold one opening and one closing mark of pgmem: repair or remove the marks."
        )
    start, end = opening[0].end(), contents.index(_CLOSING)
    if end < start:
        raise InvalidArgument("Its closing mark comes before the opening one: repair or remove the marks.")
    text = contents[start:end].decode("utf-8", "replace").replace("\r\n", "\n").strip("\n")
    written = (opening[0][1] or b"").decode()
    return Block(
        contents[: opening[0].start()],
        text.split("\n"),
        contents[end + len(_CLOSING) :],
        digest(text) != written,
    )


def render(
    project: str, standing: Iterable[Mapping[str, Any]], decisions: Iterable[Mapping[str, Any]]
) -> list[str]:
    """Return the lines of a block: instructions of a project, and decisions; and that some are cut."""
    lines, cut = [f"## Memory of {_one_line(project, 100)}"], 0
    for heading, items in (("Standing instructions:", standing), ("Decisions:", decisions)):
        found = [(line_text(item), item["id"]) for item in items]
        if found:
            lines += ["", heading, "", *(f"- {text} <!-- {key} -->" for text, key in found)]
        cut += sum(text.endswith("…") for text, _ in found)
    if cut:
        # A line of a list would be taken for a new instruction.
        lines += ["", f"{counted(cut, 'line')} above {'is' if cut == 1 else 'are'} {_CUT}"]
    return lines


def line_text(item: Mapping[str, Any]) -> str:
    """Return a memory as the text of a line."""
    return _one_line(texts.whole(item), _LINE_CHARS)


def put(contents: bytes, lines: list[str] | None) -> bytes:
    """Return a file with these lines in its block; a new block comes at the end. None: without the block.

    Raises:
        InvalidArgument: the marks are not right.
    """
    block = find(contents)
    if lines is None:
        return (
            contents
            if block is None
            else block.before.removesuffix(b"\n\n") + block.after.removeprefix(b"\n")
        )
    newline = b"\r\n" if b"\r\n" in contents else b"\n"
    text = "\n".join(lines)
    about = "kept by pgmem connect --instructions; edits are proposed for review"
    opening = f"<!-- pgmem:instructions {digest(text)} {about} -->"
    inner = f"{opening}\n{text}\n".encode().replace(b"\n", newline) + _CLOSING
    if block is not None:
        return block.before + inner + block.after
    gap = b"" if not contents else newline if contents.endswith(b"\n") else newline * 2
    return contents + gap + inner + newline


def proposals(block: Block, written: Mapping[str, str]) -> list[Proposal]:
    """Return the proposals of a change by hand in a block.

    Args:
        block: as it is.
        written: the texts of the lines that pgmem would write now, by id.
    """
    made, seen, kept = [], set(), set(written.values())
    for line in block.lines:
        if found := _LINE.match(line.rstrip()):
            seen.add(found["id"])
            if found["id"] in written and found["text"] != written[found["id"]]:
                made.append(Proposal(found["id"], found["text"]))
        elif line.startswith(("- ", "* ")) and line[2:].strip() and line[2:].strip() not in kept:
            made.append(Proposal(None, line[2:].strip()))
    return made + [Proposal(key, None) for key in written if key not in seen]


class Kept(NamedTuple):
    """The result of a run: proposals, whether the file changes, and how many decisions of agents it leaves out.

    `left` are changes by hand beyond the limit of a run: with any, the file stays as it is.
    """

    proposals: list[Proposal]
    written: bool
    of_agents: int = 0
    left: Sequence[Proposal] = ()


async def keep(
    memory: Memory, file: Path, folder: Path, *, undo: bool = False, dry_run: bool = False
) -> Kept:
    """Bring the block of a file up to date; a change by hand in it becomes a proposal for review first.

    Args:
        memory: of the store.
        file: of the instructions; it is made if it does not exist.
        folder: of the project, which the file must not leave by a link.
        undo: remove the block.
        dry_run: only report the proposals and whether the file would change.

    Raises:
        InvalidArgument: the file cannot be read or written, or its marks are not right; it stays as it is.
    """
    if not Path(os.path.realpath(file.parent)).is_relative_to(folder):
        raise InvalidArgument(f"{file} leads out of {folder} by a link: remove the link.")
    try:
        before = plain_files.read(file, _MOST_BYTES)
    except FileNotFoundError:
        before = b""
    except OSError as error:
        raise InvalidArgument(f"{file} cannot be read: {error.strerror or error}.") from None
    try:
        block = find(before)
        project = await memory.project_of(folder)
        found = await memory.retrieve_context(project, "project", max_tokens=_MOST_TOKENS)
        standing = [asdict(item) for item in found.standing]
        decided = [item for item in found.items if item.label == "Decision"]
        decisions = [asdict(item) for item in decided if item.by == "person"]
        of_agents = len(decided) - len(decisions)
        items = {str(item["id"]): item for item in (*standing, *decisions)}
        made: list[Proposal] = []
        if block is not None and block.changed:
            made = proposals(block, {key: line_text(item) for key, item in items.items()})
        made, left = made[:_MOST_PROPOSALS], made[_MOST_PROPOSALS:]
        after = before if left else put(before, None if undo else render(project, standing, decisions))
    except InvalidArgument as error:
        raise InvalidArgument(f"{file}: {error}") from None
    if dry_run:
        return Kept(made, after != before, of_agents, left)
    for proposal in made:
        await _propose(memory, project, proposal, items, str(file))
    if after != before:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            if (plain_files.read(file, _MOST_BYTES) if os.path.lexists(file) else b"") != before:
                raise InvalidArgument(f"{file} changed meanwhile and stays as it is: run the command again.")
            plain_files.replace(file, after, mode=None, like=file.lstat() if file.exists() else None)
        except OSError as error:
            raise InvalidArgument(f"{file} cannot be written: {error.strerror or error}.") from None
    return Kept(made, after != before, of_agents, left)


async def _propose(
    memory: Memory, project: str, proposal: Proposal, items: Mapping[str, Mapping[str, Any]], file: str
) -> None:
    item = items.get(proposal.id or "")
    if proposal.id is not None and proposal.text is None:
        await memory.propose_change("forget", {"purge": False}, UUID(proposal.id), file)
    elif item is not None and proposal.text is not None and not line_text(item).endswith("…"):
        text = proposal.text.removeprefix(f"{item['title']}: ")
        field = TEXTS.get(str(item["label"]), "body")
        await memory.propose_change("edit_memory", {"properties": {field: text}}, UUID(proposal.id), file)
    else:
        content = {"content": proposal.text, "project_id": project, "scope": "project"}
        await memory.propose_change("save_context", content, origin=file)


def digest(text: str) -> str:
    """Return the hash of the text of a block that its opening mark holds."""
    return sha256(text.encode()).hexdigest()[:12]


def _one_line(text: str, most: int) -> str:
    text = " ".join(as_data(text).split()).replace("--", "–").replace("<!", "‹!").replace("->", "→")
    return shortened(text, most)
