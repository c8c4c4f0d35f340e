"""The templates: Jinja2 with autoescape, and the filters that write dates, counts and texts.

The pages and the report share the base layout, the stylesheet and the charts. Python computes numbers and geometry; the
markup is in `templates/`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from pgmem.features.ui import words
from pgmem.features.ui.charts import hue_of


@cache
def environment() -> Environment:
    """The environment of all templates: every value is escaped, an unknown name is an error."""
    made = Environment(
        loader=PackageLoader("pgmem.features.ui"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(ago=ago, day=day, exactly=exactly, plain=words.plain, number=number, rest=rest)
    made.globals["hue_of"] = hue_of
    return made


def number(count: int) -> str:
    """A count with its thousands apart by a thin space."""
    return f"{count:,}".replace(",", "\u202f")


def ago(moment: datetime | None) -> str:
    """How long ago a time was, in the words that people use; a date from a month on."""
    if moment is None:
        return ""
    seconds = (datetime.now(UTC) - moment).total_seconds()
    if seconds < -60:
        return f"on {day(moment)}"
    for limit, size, name in (
        (90, 1, ""),
        (5400, 60, "minute"),
        (129600, 3600, "hour"),
        (2592000, 86400, "day"),
    ):
        if seconds < limit:
            count = round(seconds / size)
            return "just now" if not name else f"{count} {name}{'s' if count != 1 else ''} ago"
    return day(moment)


def day(moment: Any) -> str:
    """A date as 7 March 2026."""
    return f"{moment.day} {moment:%B %Y}" if moment is not None else ""


def exactly(moment: datetime | None) -> str:
    """A time to the minute, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if moment is not None else ""


def rest(excerpt: str | None, title: str) -> str:
    """An excerpt without the title that it begins with; a title that a sentence goes on from stays."""
    left = (excerpt or "").removeprefix(title.removesuffix("…"))
    goes_on = not title.endswith("…") and left[:1] not in ("", "\n", ".", ":", ";", "…")
    return (excerpt or "") if goes_on else left.lstrip(" …")
