"""Files of other programs, read within limits: size, unpacked size, length of a line, nesting, number of values."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TextIO

from pgmem import foreign
from pgmem.errors import InvalidArgument

NESTING = foreign.NESTING
UNPACKED_BYTES = 256 * 2**20
"""Bytes of a file that is read whole, after unpacking."""
LINE_CHARS = 64 * 2**20
"""Characters of a line of a file that is read line by line."""
VALUES = 1_000_000
"""Values in one document, counted as often as it is written out: an alias in YAML repeats its target."""

_OTHER_ENDS = re.compile("[\x85\u2028\u2029]")
"""Characters that JSON has in a text as they are, and that other programs take for the end of a line."""


def parse(text: str | bytes, what: str) -> Any:
    """Parse JSON.

    Args:
        text: the JSON.
        what: its name in the error, such as a file and a line.

    Raises:
        ValueError: it is not JSON.
        InvalidArgument: it is nested too deeply.
    """
    try:
        found = json.loads(text)
    except RecursionError:
        raise InvalidArgument(f"{what} is nested more than {NESTING} levels deep.") from None
    if foreign.too_deep(found):
        raise InvalidArgument(f"{what} is nested more than {NESTING} levels deep.")
    return found


def check(value: object, what: str, *, values: int = VALUES) -> None:
    """Check nesting and number of values; a value that occurs in several places counts in each.

    Raises:
        InvalidArgument: there is too much of either.
    """
    level, depth, count = [value], 0, 0
    while level:
        below: list[object] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list | tuple):
                below.extend(item)
            if count + len(below) > values:
                raise InvalidArgument(f"{what} holds more than {values} values.")
        count += len(below)
        depth += 1
        if depth > NESTING + 1:
            raise InvalidArgument(f"{what} is nested more than {NESTING} levels deep.")
        level = below


def read_bytes(path: Path) -> bytes:
    """Read a file whole; one that gzip packed is unpacked, and a text in UTF-16 becomes one in UTF-8.

    Raises:
        InvalidArgument: it is too large, or unfolds to too much.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return unpack(file, path.name)


def unpack(file: IO[bytes], name: str) -> bytes:
    """Read an open file whole, and unpack it if gzip packed it.

    Raises:
        InvalidArgument: it is too large, or unfolds to too much.
    """
    raw = file.read(UNPACKED_BYTES + 1)
    if raw[:2] == b"\x1f\x8b":
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(raw)) as unpacked:
                raw = unpacked.read(UNPACKED_BYTES + 1)
        except (zlib.error, gzip.BadGzipFile) as error:
            raise InvalidArgument(f"{name} cannot be unpacked: {error}.") from error
    if len(raw) > UNPACKED_BYTES:
        raise InvalidArgument(f"{name} is larger than {UNPACKED_BYTES // 2**20} MiB; import it in parts.")
    return foreign.in_utf_8(raw)


@contextmanager
def archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip file for a `with` block.

    Raises:
        InvalidArgument: a member is damaged, encrypted, or packed by a method that Python does not know.
    """
    try:
        with zipfile.ZipFile(path) as opened:
            yield opened
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise InvalidArgument(
            f"{path.name} cannot be unpacked: {error}; unpack it and send the folder."
        ) from error


def lines(file: TextIO, name: str) -> Iterator[str]:
    """The lines of an open file, each with its end.

    Raises:
        InvalidArgument: a line is too long.
    """
    number = 0
    while line := file.readline(LINE_CHARS + 1):
        number += 1
        if len(line) > LINE_CHARS:
            raise InvalidArgument(f"Line {number} of {name} is longer than {LINE_CHARS} characters.")
        yield line


def json_line(value: object) -> str:
    """A value as a line of JSON with its end, one line to every program; an unknown value becomes a text."""
    return one_line(json.dumps(value, default=str, ensure_ascii=False)) + "\n"


def one_line(text: str) -> str:
    """A JSON text in which line ends of other programs are escaped."""
    return _OTHER_ENDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def json_lines(text: str | bytes, what: str) -> Iterator[tuple[int, Any, str | None]]:
    """The values of JSON lines, which end at a newline alone; lines of blanks are passed over.

    Args:
        text: the lines.
        what: their name in the reasons, such as that of a file.

    Yields:
        The number of each line from 1 on, its value, and why it cannot be taken, or None.
    """
    for number, value, reason in foreign.json_lines(text):
        reason = reason or foreign.unfit(value)
        yield number, value, reason and f"line {number} of {what}: {reason}"
