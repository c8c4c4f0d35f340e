"""A transcript read from its first line on, or on from where it was read before, with an account of the rest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from pgmem.foreign import NO_JSON, Account, Line, cleaned, holds_words, json_lines, moment, unfit
from pgmem.transcripts.forms import FORMS, Entry, Fork, Spoken, form_of, seconds_between, typed_in_codex
from pgmem.transcripts.words import MOST_CHARACTERS, Said, heard, without_what_was_brought

Turn = dict[str, str]

_COPY_SECONDS = 1.0  # between two lines of a copy, which is written at once; a person takes longer


class Reader:
    """The state of a transcript while it is read.

    Args:
        file: its name in the account.
        client: only lines of this client are read; None: of every one.
        state: the `state` at which an earlier reader stopped.
    """

    def __init__(self, file: str = "the transcript", client: str | None = None, state: Any = None) -> None:
        kept = state if isinstance(state, dict) else {}
        self.file, self.client, self.account = file, client, Account()
        self.session: str | None = kept.get("session")
        self.folder: str | None = kept.get("folder")
        self.release: str = kept.get("release") or ""
        self.began: object = kept.get("began")
        self.agent: str | None = kept.get("agent")
        self.fork: Fork | None = Fork(*kept["fork"]) if kept.get("fork") else None
        self.typed: list[str] | None = [] if kept.get("typed") else None
        self.asked: list[str] = kept.get("asked") or []
        self.form: str | None = kept.get("form")
        self._said: int = kept.get("said") or 0
        self._lines: int = kept.get("lines") or 0
        self.number: int | None = None

    @property
    def state(self) -> dict[str, Any]:
        """The values from which a later reader goes on; of JSON."""
        return {
            "session": self.session,
            "folder": self.folder,
            "release": self.release,
            "began": self.began if isinstance(self.began, str | int | float) else None,
            "agent": self.agent,
            "fork": list(self.fork) if self.fork else None,
            "typed": self.typed is not None,
            "asked": self.asked[-20:],
            "form": self.form,
            "said": self._said,
            "lines": self._lines,
        }

    def meet(self, form: str) -> None:
        """Count a form of the client that no reader knows, at the line that is being read."""
        name = " ".join(filter(None, (self.form, self.release)))
        self.account.meet(self.file, self.number, f"{form} of {name}")

    def leave(self, reason: str) -> None:
        """Count the line that is being read, or a part of it, as left out."""
        self.account.leave(self.file, self.number, reason)

    def read(self, given: str | bytes | Iterable[str | bytes]) -> list[Turn]:
        """Return the turns of the next lines, in order; lines that cannot be read are in the account.

        Returns:
            Objects with id, role (user or assistant) and content; where known with at, agent and session; and with
            created_told where the client gave a time that cannot be read.
        """
        if isinstance(given, bytes):
            given = given.split(b"\n")
        elif isinstance(given, str):
            given = given.split("\n")
        parts = list(given)
        lines = list(json_lines(parts, first=self._lines + 1))
        self._lines += len(parts)
        last = lines[-1] if lines else None
        if (
            last
            and last.reason == NO_JSON
            and last.number == self._lines
            and parts[-1][-1:] not in (b"\n", "\n")
        ):
            lines[-1] = last._replace(reason=f"{NO_JSON}: its end is missing; read it again once it is whole")
        return self.take(lines)

    def take(self, lines: list[Line]) -> list[Turn]:
        """Return the turns of lines that are parsed already."""
        entries: list[tuple[int | None, Entry]] = []
        for number, value, reason in lines:
            if isinstance(value, dict):
                entries.append((number, value))
                if reason is not None:
                    self.account.convert(self.file, number, f"{reason}: other signs are replaced by U+FFFD")
            else:
                self.account.leave(self.file, number, reason or "it is not a JSON object")
        if any(typed_in_codex(entry) is not None for _, entry in entries):
            self.typed = self.typed or []
        spoken: list[tuple[int | None, Spoken, bool]] = []
        for self.number, entry in entries:
            form = form_of(entry)
            if self.client is not None and form not in (self.client, None):
                self.account.leave(self.file, self.number, f"it is a line of {form}, not of {self.client}")
                continue
            if form is None:
                if holds_words(entry):
                    self.meet("a line without a type")
                continue
            self.form = form
            self._leave_the_copy(entry)
            payload = entry.get("payload")
            answers = isinstance(payload, dict) and payload.get("type") == "function_call_output"
            event = answers or typed_in_codex(entry) is not None
            spoken += [(self.number, one, event) for one in FORMS[form](entry, self)]
            if isinstance(undone := entry.get("$rewindTo"), str):
                spoken = self._without_undone(spoken, undone)
            if self.fork is not None and spoken and spoken[-1][0] == self.number:
                spoken[-1] = (self.number, spoken[-1][1]._replace(session=self.fork.of), event)
        return list(
            self._turns(
                (number, one) for number, one, _ in (_typed(spoken) if self.typed is not None else spoken)
            )
        )

    def _without_undone(
        self, spoken: list[tuple[int | None, Spoken, bool]], name: str
    ) -> list[tuple[int | None, Spoken, bool]]:
        """Return what was said before a message that a person went back to: that one and all behind it are undone."""
        kept = next((place for place, (_, one, _) in enumerate(spoken) if one.id == name), len(spoken))
        if count := len(spoken) - kept:
            self.leave(f"it undoes {count} message{'s' if count > 1 else ''} before it, from {name[:60]} on")
        return spoken[:kept]

    def hear(self, spoken: Iterable[tuple[int | None, Spoken]]) -> list[Turn]:
        """Return the turns of a client's document, each with the number of its message."""
        return list(self._turns(spoken))

    def _leave_the_copy(self, entry: Entry) -> None:
        """Note where the copy of another session ends, which is written at once, and its own turns begin."""
        if self.fork is None or "timestamp" not in entry:
            return
        gap = seconds_between(self.fork.at, entry["timestamp"])
        self.fork = (
            None if gap is not None and gap > _COPY_SECONDS else self.fork._replace(at=entry["timestamp"])
        )

    def _turns(self, spoken: Iterable[tuple[int | None, Spoken]]) -> Iterator[Turn]:
        for self.number, one in spoken:
            if why := unfit(one.parts):
                self.account.convert(self.file, self.number, f"{why}: taken out, or U+FFFD in its place")
            parts = [cleaned(part) for part in one.parts]
            if one.role == "user":
                found = heard(parts, by_person=one.by_person, strange=True)
            else:
                found = Said("\n\n".join(filter(None, map(without_what_was_brought, parts))))
            for name in found.unknown:
                self.meet(f"the element <{name}>")
            content = found.text
            if len(content) > MOST_CHARACTERS:
                content = content[:MOST_CHARACTERS]
                self.account.convert(
                    self.file, self.number, f"its text is cut after {MOST_CHARACTERS} characters"
                )
            if not content:
                continue
            self._said += 1
            turn = {"id": one.id or self._name(one, content), "role": one.role, "content": content}
            at, claimed = moment(one.at)
            if at is not None:
                turn["at"] = (
                    one.at
                    if isinstance(one.at, str) and claimed is None and _is_iso(one.at)
                    else at.isoformat()
                )
            if claimed is not None:
                turn["created_told"] = claimed
            about = {"agent": one.agent, "session": one.session}
            yield turn | {name: value for name, value in about.items() if value}

    def _name(self, one: Spoken, content: str) -> str:
        """Return the id of a turn of a client that gives none: by its place in the session, its role and its text.

        So a copy of a session names its turns as the session does, whatever times the copy has.
        """
        parts = (one.session or self.session or "", str(self._said), one.role, content)
        name = hashlib.sha256("\x1f".join(parts).encode(errors="replace")).hexdigest()
        if self.form != "codex" or not (one.session or self.session):
            return name[:32]
        return "-".join((name[:8], name[8:12], name[12:16], name[16:20], name[20:32]))


def turns(given: str | bytes | Iterable[str | bytes]) -> list[Turn]:
    """Return the turns of the lines of a transcript, of whichever client; lines that hold none are passed over."""
    return Reader().read(given)


def with_times(found: list[Turn], *fallback: object) -> list[Turn]:
    """Return turns of which each has a time: one without gets that of the turn before or behind it, never now.

    Args:
        found: the turns of a conversation, in order.
        fallback: times of the conversation and of its file, the better one first; for one in which no turn has a time.
    """
    known = next((turn["at"] for turn in found if "at" in turn), None)
    last, whose = known, "of the turn behind it"
    if last is None:
        times = [(moment(each).at, place) for place, each in enumerate(fallback)]
        first, place = next(((at, place) for at, place in times if at is not None), (None, 0))
        last = first.isoformat() if first else None
        whose = "of its file" if place == len(fallback) - 1 else "of its conversation"
    timed: list[Turn] = []
    for turn in found:
        if "at" in turn:
            last, whose = turn["at"], "of the turn before it"
        elif last is not None:
            claimed = turn.get("created_told")
            turn = {**turn, "at": last, "created_told": f"{claimed or 'no time'}; the time {whose} is kept"}
        timed.append(turn)
    return timed


def of_file(seconds: float) -> str:
    """Return the time of a file, in seconds since 1970, as turns have it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _is_iso(text: str) -> bool:
    return (
        text[:4].isdigit()
        and text[4:5] == "-"
        and (text.endswith("Z") or "+" in text[10:] or "-" in text[10:])
    )


def _typed(
    spoken: list[tuple[int | None, Spoken, bool]],
) -> list[tuple[int | None, Spoken, bool]]:
    """Keep of the messages of a person in a rollout those that an event says were typed, each once."""
    events = [one.parts[0].strip() for _, one, event in spoken if event and one.parts]
    kept: list[tuple[int | None, Spoken, bool]] = []
    matched: list[str] = []
    for number, one, event in spoken:
        if event or one.role != "user":
            kept.append((number, one, event))
            continue
        text = heard([cleaned(part) for part in one.parts]).text
        same = next((e for e in events if e == text), None) or next(
            (e for e in events if text and (e in text or text in e)), None
        )
        if same is not None:
            events.remove(same)
            matched.append(same)
            kept.append((number, one, event))
    found = []
    for number, one, event in kept:
        if event and one.parts and one.parts[0].strip() in matched:
            matched.remove(one.parts[0].strip())
            continue
        found.append((number, one, event))
    return found
