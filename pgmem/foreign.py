"""Input from other programs: lines of JSON, texts and times, and an account of all that could not be read.

Every file of another program is read by these few rules. A line ends at a newline alone. A text is cleaned by one rule
(`cleaned`). A record that cannot be read stops no other one: it is counted, with file, line and reason (`Account`). A
time is a moment or none, and a guess says that it is one (`Moment`).

The module imports little, because a hook of an editor waits for it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

NESTING = 100
"""Levels of objects and lists in each other."""
REPLACED = "\ufffd"
"""A sign in the place of one that no store keeps."""
NO_JSON = "it is not JSON"
"""Why most lines cannot be taken."""

_TOO_DEEP = f"it is nested more than {NESTING} levels deep"
_MOST_NAMED = 20  # places of one reason in one file; the others are counted together
_NOT_KEPT = re.compile("[\0\ud800-\udfff]")
_FEW_SIGNS = re.compile(r"\d{1,20}(\.\d*)?")
_ZONE = re.compile(r"\s*(?:UTC|GMT|Z)\Z", re.IGNORECASE)
_LEAP = re.compile(r"\A(.*\d:\d\d):60(?=\D|\Z)(.*)\Z")
_ISO = re.compile(r"\d{4}-?\d\d-?\d\d")


class Line(NamedTuple):
    """A line: its number from 1 on, its value, and why it cannot be taken, or None."""

    number: int
    value: Any
    reason: str | None


class Moment(NamedTuple):
    """A point in time; `claimed` is the value of the other program, where that is not the same."""

    at: datetime | None
    claimed: str | None = None


@dataclass(slots=True)
class Account:
    """Counts of records converted, left out and not known, each by a sentence with file, line and reason."""

    converted: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    """Forms of other programs that no reader here knows, though they hold text: client, release and form."""
    _places: Counter[tuple[str, str]] = field(default_factory=Counter)

    def leave(self, file: str, number: int | None, reason: str) -> None:
        """Count a record that is left out."""
        self.left_out[self._sentence(file, number, reason)] += 1

    def convert(self, file: str, number: int | None, reason: str) -> None:
        """Count a record that is taken in another form."""
        self.converted[self._sentence(file, number, reason)] += 1

    def meet(self, file: str, number: int | None, form: str) -> None:
        """Count a form that holds text and that no reader knows; its text is left out."""
        self.unknown[form] += 1
        self.leave(file, number, f"{form} is not known to this release of pgmem, and its text is left out")

    def add(self, other: Account) -> None:
        """Add the counts of another account."""
        self.converted += other.converted
        self.left_out += other.left_out
        self.unknown += other.unknown

    def _sentence(self, file: str, number: int | None, reason: str) -> str:
        reason = reason.rstrip(".")
        if number is None:
            return f"{file}: {reason}"
        self._places[file, reason] += 1
        if self._places[file, reason] > _MOST_NAMED:
            return f"further lines of {file}: {reason}"
        return f"line {number} of {file}: {reason}"


def in_utf_8(contents: bytes) -> bytes:
    """Return the bytes of a text in UTF-8; a program of Windows writes UTF-16, with a mark or, of JSON, without one."""
    form = json.detect_encoding(contents[:4])
    if form.startswith("utf-8"):
        return contents
    text = contents.decode(form, "replace")
    marked = contents[:2] in (b"\xff\xfe", b"\xfe\xff") or contents[:4] == b"\0\0\xfe\xff"
    return text.encode(errors="replace") if marked or text[:1] in ("{", "[") else contents


def read_line(text: str) -> tuple[Any, str | None]:
    """Read a line of JSON; the reason is None where it could be read."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return None, _TOO_DEEP if isinstance(error, RecursionError) else NO_JSON
    if too_deep(value):
        return None, _TOO_DEEP
    return value, None


def _several(text: str) -> list[dict[str, Any]]:
    """Return the objects of a line on which two writers, or one without a newline, left more than one; else nothing."""
    found, place = list[dict[str, Any]](), 0
    text = text.strip()
    try:
        while place < len(text):
            value, place = json.JSONDecoder().raw_decode(text, place)
            if not isinstance(value, dict) or too_deep(value):
                return []
            found.append(value)
            place += len(text[place:]) - len(text[place:].lstrip())
    except (ValueError, RecursionError):
        return []
    return found


def json_lines(given: str | bytes | Iterable[str | bytes], *, first: int = 1) -> Iterator[Line]:
    """Read lines of JSON, which end at a newline alone; lines of blanks are passed over.

    A line that holds several objects, as it is left when a newline was not written, gives each of them.

    Args:
        given: the text, or its lines.
        first: the number of the first line.
    """
    lines: Any = given
    if isinstance(given, bytes | str):
        given = in_utf_8(given) if isinstance(given, bytes) else given
        lines = given.split(b"\n" if isinstance(given, bytes) else "\n")  # type: ignore[arg-type]
    for number, line in enumerate(lines, first):
        reason = None
        if isinstance(line, bytes):
            try:
                line = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                reason = "it is not UTF-8 text"
                line = line.decode(errors="replace")
        elif number == 1:
            line = line.removeprefix("\ufeff")
        if not line.strip():
            continue
        value, problem = read_line(line)
        several = _several(line) if problem == NO_JSON else []
        for each in several or [value]:
            yield Line(number, each, (None if several else problem) or reason)


def too_deep(value: object, most: int = NESTING) -> bool:
    """Whether objects and lists lie in each other in more levels than `most`."""
    level, depth = [value], 0
    while level := [
        part
        for item in level
        if isinstance(item, dict | list | tuple)
        for part in (item.values() if isinstance(item, dict) else item)
    ]:
        depth += 1
        if depth > most:
            return True
    return False


def unfit(value: object) -> str | None:
    """Why PostgreSQL cannot store a value of JSON, or None: a text holds NUL, or half of a surrogate pair."""
    for text in _texts(value):
        if found := _NOT_KEPT.search(text):
            return (
                "a text in it holds the character NUL, which no store keeps"
                if found[0] == "\0"
                else "a text in it holds half of a surrogate pair, which is not a character"
            )
    return None


def cleaned(value: Any) -> Any:
    """Return a text, or a value of JSON with all its texts and keys, as a store keeps it.

    NUL is taken out. Half of a surrogate pair, of which a client that cuts texts by UTF-16 units leaves one, becomes
    U+FFFD. A line ends with a newline alone.
    """
    if isinstance(value, str):
        text = value.replace("\r\n", "\n")
        return _NOT_KEPT.sub(lambda found: "" if found[0] == "\0" else REPLACED, text)
    if isinstance(value, Mapping):
        return {cleaned(str(key)): cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(item) for item in value]
    return value


def holds_words(value: object) -> bool:
    """Whether a value holds a text of several words: such a one was perhaps said by somebody."""
    return any(len(text.split(None, 3)) > 2 for text in _texts(value))


def moment(value: object) -> Moment:
    """Read a time of another program: ISO 8601, a date, or a count since 1970; one without a zone is of UTC.

    A count is of seconds, or of thousandths, millionths or billionths of one: no other of these lies between 1973 and
    the year 5138. A value that means none of these gives None, and the claim.
    """
    if value is None or value == "" or isinstance(value, bool):
        return Moment(None)
    claimed = " ".join(str(value).split())[:100]
    try:
        if isinstance(value, datetime | date):
            found: datetime | None = (
                value if isinstance(value, datetime) else datetime.combine(value, time(), UTC)
            )
        elif isinstance(value, int | float):
            found = _counted(float(value))
        else:
            found, guessed = _written(claimed)
            if guessed and found is not None:
                return Moment(_in_utc(found), claimed)
    except (ValueError, OverflowError, OSError):
        found = None
    return Moment(_in_utc(found)) if found is not None else Moment(None, claimed or None)


def _counted(count: float) -> datetime | None:
    """Return the moment that a count since 1970 means, by its size; none where it means nothing."""
    for least, a_second in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3), (1e8, 1)):
        if count >= least:
            return datetime.fromtimestamp(count / a_second, UTC) if count < 1e20 else None
    return None


def _written(text: str) -> tuple[datetime | None, bool]:
    """Return the moment that a text means, and whether that is not exactly that of the text."""
    if _FEW_SIGNS.fullmatch(text) and not (len(text) == 8 and _ISO.fullmatch(text)):
        return _counted(float(text)), False
    if leap := _LEAP.match(text):  # a leap second, which no clock of a store has
        found, _ = _written(f"{leap[1]}:59{leap[2]}")
        return (found + timedelta(seconds=1) if found else None), True
    if not _ISO.match(text):
        from email.utils import parsedate_to_datetime  # takes a while to load

        return parsedate_to_datetime(text), False
    plain = _ZONE.sub("", text)
    found = datetime.fromisoformat(plain)
    return (found if plain == text else found.replace(tzinfo=UTC)), False


def _in_utc(found: datetime) -> datetime:
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _texts(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            waiting += item.keys()
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item
