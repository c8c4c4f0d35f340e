"""The words of the command lines for which a session waits, parsed without the command line of pgmem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def parsed(
    arguments: Sequence[str], options: Mapping[str, str], flags: Mapping[str, str]
) -> tuple[list[str], dict[str, Any]] | None:
    """Return the words and the options by their names; None where the full command line has to parse them.

    Args:
        arguments: as they were typed.
        options: the names of options that have a value.
        flags: the names of those that have none.
    """
    words: list[str] = []
    given: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        option, equals, value = argument.partition("=") if argument.startswith("--") else (argument, "", "")
        if option in options:
            text = value if equals else next(rest, None)
            if text is None:
                return None
            given[options[option]] = text
        elif argument in flags:
            given[flags[argument]] = True
        elif argument.startswith("-"):
            return None
        else:
            words.append(argument)
    return words, given
