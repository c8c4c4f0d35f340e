"""Transfer: export a store as lines of JSON, and import such lines, with one page in memory at a time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from pgmem._verbs import PARTS
from pgmem.calls.methods import Verbs
from pgmem.documents import json_line, one_line, parse
from pgmem.errors import InvalidArgument
from pgmem.foreign import Account, unfit
from pgmem.models import Exported, Imported

FORMAT = 1
"""Version of the lines: an import refuses a newer one and reads every older one."""

_PARTS = ("vocabulary", "project", "focus", "node", "edge", *PARTS, "save")
_PAGE = 250  # records a call
_PAGE_BYTES = 4 * 1024 * 1024  # of an import's batch, unless one line alone is longer
_TIMEOUT_S = 600.0  # a page takes milliseconds, but a server may be busy

Progress = Callable[[int, int], object]


async def export_lines(
    memory: Verbs,
    write: Callable[[str], object],
    *,
    vectors: bool = False,
    all_tenants: bool = False,
    progress: Progress | None = None,
) -> Exported:
    """Write everything that the caller sees as lines of JSON: a header, the records, an end.

    All of it is read from one snapshot.

    Args:
        memory: of the store.
        write: called with text that ends at the end of a line.
        vectors: export vectors too; otherwise the importing store makes them again.
        all_tenants: export every tenant; for the owner of the store and its reviewers.
        progress: called with (lines written, expected number of lines).

    Returns:
        The number of lines, and of records by kind.

    Raises:
        NotPermitted: `all_tenants` is set and the login is neither the owner nor a reviewer.
    """
    counts: Counter[str] = Counter()
    options = {"vectors": vectors, "all_tenants": all_tenants}
    async with memory.caller.database.snapshot(_TIMEOUT_S) as rows:
        header = (await rows("export_header", **options))[0]["export_header"]
        write(json_line(header))
        total = header["nodes"] + header["edges"] + header["saves"]
        for part in _PARTS:
            place: list[str] | None = None
            while True:
                page = await rows("export_records", part=part, after=place, limit=_PAGE, **options)
                write("".join(f"{one_line(row['record'])}\n" for row in page))
                counts[part] += len(page)
                if progress is not None:
                    progress(counts.total(), max(total, counts.total()))
                if len(page) < _PAGE:
                    break
                place = page[-1]["place"]
    write(json_line({"type": "end", "lines": counts.total()}))
    return Exported(lines=counts.total() + 2, counts={k: n for k, n in counts.items() if n})


async def import_lines(
    memory: Verbs,
    lines: Iterable[str],
    *,
    vectors: bool = True,
    all_tenants: bool = False,
    own: bool = False,
    name: str = "the file",
    progress: Progress | None = None,
) -> Imported:
    """Import the lines of an export.

    Records that the store already holds stay as they are, so an import that was interrupted can be run again.
    A line that cannot be taken is left out by its number, and so are lines that need it, such as relations of
    a memory.

    Args:
        memory: of the store.
        lines: as `export_lines` wrote them.
        vectors: store the vectors of the file; otherwise every text is queued for the worker.
        all_tenants: keep the tenants of the file, for the owner and reviewers; else all becomes the caller's.
        own: believe the file who wrote and who approved its memories, as of an export that you wrote; else a person's
            word in it is that of whoever imports it, and no rule until a person approves it.
        name: of the file, in the reasons.
        progress: called with (lines imported, expected number of lines).

    Returns:
        How many records were taken, were present, were merged with present ones, and were left out by reason.

    Raises:
        InvalidArgument: the file is not an export, has a newer format, or has no end; what it holds was imported then.
        NotPermitted: the login is neither the owner of the store nor a reviewer.
    """
    given = iter(lines)
    header = _header(next(given, ""), all_tenants)
    total = header["nodes"] + header["edges"] + header["saves"]
    options = {"vectors": vectors, "all_tenants": all_tenants, "own": own}
    counts, account = Counter[str](), Account()
    batch: list[tuple[int, str]] = []
    size, number, ended = 0, 1, False
    for text in given:
        number += 1
        try:
            record = _record(text, number)
            if record.get("type") == "end":
                number -= 1
                ended = record.get("lines") == number - 1
                break
            batch.append((number, _fit(memory, text, record, number)))
        except InvalidArgument as error:
            account.leave(name, number, _reason(error, number))
            continue
        size += len(batch[-1][1])
        if len(batch) >= _PAGE or size >= _PAGE_BYTES:
            await _import_batch(memory, batch, counts, account, name, options)
            batch, size = [], 0
            if progress is not None:
                progress(number - 1, max(total, number - 1))
    await _import_batch(memory, batch, counts, account, name, options)
    if progress is not None:
        progress(number - 1, max(total, number - 1))
    if not ended:
        first = next(iter(account.left_out), None)
        raise InvalidArgument(
            f"The file ends after line {number} without its last line. What it holds was imported"
            f"{f', but for {account.left_out.total()}, such as {first}' if first else ''}; export again and import the "
            "whole file."
        )
    return Imported(
        taken=counts["taken"],
        present=counts["present"],
        merged=counts["merged"],
        doubted=counts["doubted"],
        left_out=dict(account.left_out),
    )


async def import_memories(
    memory: Verbs,
    project_id: str,
    source: str,
    records: list[dict[str, Any]],
    finished: Callable[[list[dict[str, Any]], int], object],
    *,
    dry_run: bool = False,
) -> None:
    """Store memories of another system, and relations between them, in a project.

    Args:
        memory: of the store.
        project_id: the project; it is created if it does not exist.
        source: the name of the other system, by which a later import knows a record again.
        records: as the verb `import_memories` takes them.
        finished: called after each batch with its rows {place, outcome, reason} and the index of its first record.
        dry_run: store nothing; all records are sent in one batch.

    Raises:
        InvalidArgument: no project is named, or a text holds a secret and secrets are refused.
    """
    page = len(records) if dry_run else _PAGE
    for first in range(0, len(records), max(page, 1)):
        batch = memory.caller.scrubbed("import_memories", {"records": records[first : first + page]})[
            "records"
        ]
        reasons = {place: reason for place, record in enumerate(batch, 1) if (reason := unfit(record))}
        fit = [place for place in range(1, len(batch) + 1) if place not in reasons]
        rows = await memory.caller.database.rows(
            "import_memories",
            _TIMEOUT_S,
            project_id=project_id,
            source=source,
            records=json.dumps([batch[place - 1] for place in fit], ensure_ascii=False),
            dry_run=dry_run,
        )
        refused = [
            {"place": place, "outcome": "refused", "reason": reason} for place, reason in reasons.items()
        ]
        finished([*({**row, "place": fit[row["place"] - 1]} for row in rows), *refused], first)


async def forget_notes(
    memory: Verbs, project_id: str, folder: str, paths: list[str], *, dry_run: bool = True
) -> int:
    """Archive the imported notes of a folder that are no longer in it; return how many they are.

    Args:
        memory: of the store.
        project_id: the project that the notes were imported into.
        folder: the name of the folder.
        paths: the paths of all notes that are in the folder.
        dry_run: only count.
    """
    rows = await memory.caller.database.rows(
        "forget_notes", _TIMEOUT_S, project_id=project_id, folder=folder, paths=paths, dry_run=dry_run
    )
    return int(rows[0]["forget_notes"])


async def _import_batch(
    memory: Verbs,
    batch: list[tuple[int, str]],
    counts: Counter[str],
    account: Account,
    name: str,
    options: dict[str, bool],
) -> None:
    """Import lines, each with its number, and add their counts; of a batch that is refused, each half for itself."""
    if not batch:
        return
    try:
        rows = await memory.caller.database.rows(
            "import_records",
            _TIMEOUT_S,
            records=f"[{','.join(text for _, text in batch)}]",
            first_line=batch[0][0],
            **options,
        )
    except InvalidArgument as error:
        if len(batch) == 1:
            account.leave(name, batch[0][0], _reason(error, batch[0][0]))
            return
        half = len(batch) // 2
        for part in (batch[:half], batch[half:]):
            await _import_batch(memory, part, counts, account, name, options)
        return
    counts.update({part: rows[0][part] for part in ("taken", "present", "merged", "doubted")})


def _record(text: str, number: int) -> dict[str, Any]:
    try:
        text.encode()
        record = parse(text, f"Line {number}")
    except UnicodeEncodeError:
        raise InvalidArgument(f"Line {number} is not UTF-8 text.") from None
    except ValueError:
        record = None
    if not isinstance(record, dict):
        asked = ": is this a file that pgmem export wrote?" if number == 1 else "."
        raise InvalidArgument(f"Line {number} is not a JSON object{asked}")
    return record


def _fit(memory: Verbs, text: str, record: dict[str, Any], number: int) -> str:
    """Return a line as the store takes it: without secrets, where they are scrubbed."""
    if why := unfit(record):
        raise InvalidArgument(f"Line {number} cannot be taken: {why}.")
    if memory.caller.database.settings.scrub_secrets not in ("redact", "refuse"):
        return text
    line = f"line {number}"
    return json_line(memory.caller.scrubbed("import_records", {line: record})[line])


def _reason(error: InvalidArgument, number: int) -> str:
    """Return why a line is left out, without its number, which the account names."""
    text = str(error).removeprefix(f"Line {number} cannot be taken: ").removeprefix(f"Line {number} ")
    return f"it {text}".rstrip(".") if text.startswith("is ") else text


def _header(text: str, all_tenants: bool) -> dict[str, Any]:
    header = _record(text, 1)
    form = header.get("pgmem_export")
    if not isinstance(form, int):
        raise InvalidArgument("Line 1 is not a header of an export: is this a file that pgmem export wrote?")
    if form > FORMAT:
        raise InvalidArgument(
            f"The file has format {form} and this pgmem reads formats up to {FORMAT}: upgrade pgmem."
        )
    if header.get("all_tenants") and not all_tenants:
        raise InvalidArgument(
            "The file holds all tenants of a store: import it with --all-tenants, or export as one tenant."
        )
    return {name: int(header.get(name) or 0) for name in ("nodes", "edges", "saves")}
