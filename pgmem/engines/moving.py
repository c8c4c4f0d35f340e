"""MovingEngine: a store as lines of JSON, and lines of JSON as a store."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from pgmem.engines.base import Engine
from pgmem.errors import InvalidArgument
from pgmem.models import Exported, Imported

__all__ = ["FORMAT", "MovingEngine"]

FORMAT = 1
"""Version of the lines: an import refuses a newer one and reads every older one."""

_PARTS = ("vocabulary", "project", "focus", "node", "edge", "run", "files", "intent", "save")
_PAGE = 250  # records a call
_PAGE_BYTES = 4 * 1024 * 1024  # of an import's batch, unless one line alone is longer
_TIMEOUT_S = 600.0  # a page takes milliseconds, but a server may be busy

Told = Callable[[int, int], object]


class MovingEngine(Engine):
    """Both ways take memory for a page, however large the store is."""

    async def export_lines(
        self,
        write: Callable[[str], object],
        *,
        vectors: bool = False,
        all_tenants: bool = False,
        progress: Told | None = None,
    ) -> Exported:
        """Write what the caller sees, as it is at one moment, as lines of JSON: a header, the records, an end.

        Args:
            write: takes text that ends at a line's end.
            vectors: with the embeddings; else they are made again where the file is imported.
            all_tenants: everything, for who keeps the store.
            progress: called with (lines written, lines there will be about).

        Raises:
            NotPermitted: all tenants were asked for by somebody who does not keep the store.
        """
        counts: Counter[str] = Counter()
        asked = {"vectors": vectors, "all_tenants": all_tenants}
        async with self._database.snapshot(_TIMEOUT_S) as rows:
            header = (await rows("export_header", **asked))[0]["export_header"]
            write(_line(header))
            total = header["nodes"] + header["edges"] + header["saves"]
            for part in _PARTS:
                place: list[str] | None = None
                while True:
                    page = await rows("export_records", part=part, after=place, limit=_PAGE, **asked)
                    write("".join(f"{row['record']}\n" for row in page))
                    counts[part] += len(page)
                    if progress is not None:
                        progress(counts.total(), max(total, counts.total()))
                    if len(page) < _PAGE:
                        break
                    place = page[-1]["place"]
        write(_line({"type": "end", "lines": counts.total()}))
        return Exported(lines=counts.total() + 2, counts={k: n for k, n in counts.items() if n})

    async def import_lines(
        self,
        lines: Iterable[str],
        *,
        vectors: bool = True,
        all_tenants: bool = False,
        progress: Told | None = None,
    ) -> Imported:
        """Take the lines of an export. What is here stays as it is, so that a run that was ended half-way is run again.

        Args:
            lines: as `export_lines` wrote them.
            vectors: keep the vectors of the file; without, every text waits for the worker.
            all_tenants: each row goes to the tenant the file names, for who keeps the store; else all of it
                becomes the caller's.
            progress: called with (lines taken, lines there will be about).

        Raises:
            InvalidArgument: it is no export, a newer one, or a line cannot be taken; the message names the line.
            NotPermitted: the login keeps no store.
        """
        given = iter(lines)
        header = _header(next(given, ""), all_tenants)
        total = header["nodes"] + header["edges"] + header["saves"]
        done = Imported()
        batch: list[str] = []
        size, first, number, ended = 0, 2, 1, False

        async def send() -> None:
            nonlocal done, batch, size, first
            if batch:
                row = (
                    await self._database.rows(
                        "import_records",
                        _TIMEOUT_S,
                        records=f"[{','.join(batch)}]",
                        first_line=first,
                        vectors=vectors,
                        all_tenants=all_tenants,
                    )
                )[0]
                done = Imported(
                    **{name: getattr(done, name) + row[name] for name in ("taken", "present", "merged")}
                )
            batch, size, first = [], 0, number + 1
            if progress is not None:
                progress(number - 1, max(total, number - 1))

        for text in given:
            number += 1
            record = _record(text, number)
            if record.get("type") == "end":
                ended = record.get("lines") == number - 2
                number -= 1
                break
            batch.append(text)
            size += len(text)
            if len(batch) >= _PAGE or size >= _PAGE_BYTES:
                await send()
        await send()
        if not ended:
            raise InvalidArgument(
                f"The file ends after line {number} without its last line: what was there is here, but export it again "
                "and import the whole."
            )
        return done


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def _record(text: str, number: int) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise InvalidArgument(f"Line {number} is no JSON object: is this a file that pgmem export wrote?")
    return record


def _header(text: str, all_tenants: bool) -> dict[str, Any]:
    header = _record(text, 1)
    form = header.get("pgmem_export")
    if not isinstance(form, int):
        raise InvalidArgument("Line 1 is no header of an export: is this a file that pgmem export wrote?")
    if form > FORMAT:
        raise InvalidArgument(
            f"The file has format {form} and this pgmem reads formats up to {FORMAT}: upgrade pgmem."
        )
    if header.get("all_tenants") and not all_tenants:
        raise InvalidArgument(
            "The file holds all tenants of a store: import it with --all-tenants, or export as one tenant."
        )
    return {name: int(header.get(name) or 0) for name in ("nodes", "edges", "saves")}
