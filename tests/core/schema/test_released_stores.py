"""The stores that old releases wrote hold all that those releases could write, and are the ones that were written."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

RELEASED = Path(__file__).parent / "released"
RELEASES = sorted(path.name for path in RELEASED.iterdir() if path.is_dir())

# Things that no store of a release holds, and why.
WITHOUT = {
    "0.1.0": {
        "save_status pending_retry": "a save that waits is in the outbox of its client, never in the database",
    }
}


def facts_of(release: str) -> list[dict[str, Any]]:
    """The words of the release about each of its stores."""
    return [
        json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((RELEASED / release).glob("*.facts.json"))
    ]


@pytest.mark.parametrize("release", RELEASES)
def test_the_files_of_a_release_are_those_that_were_written(release: str) -> None:
    lines = (RELEASED / release / "MANIFEST").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("  ", 1) for line in lines if not line.startswith("#"))
    said = {path: digest for digest, path in pairs}
    stores = [path.name.removesuffix("facts.json") for path in (RELEASED / release).glob("*.facts.json")]
    found = {
        path.relative_to(RELEASED / release).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (RELEASED / release).rglob("*")
        if path.is_file() and path.relative_to(RELEASED / release).as_posix().startswith(tuple(stores))
    }
    assert found == said


@pytest.mark.parametrize("release", RELEASES)
def test_every_table_label_relation_status_and_writing_verb_of_a_release_has_a_row(release: str) -> None:
    held: defaultdict[str, int] = defaultdict(int)
    for facts in facts_of(release):
        counts = facts["counts"]
        for name, count in counts["tables"].items():
            held[f"table {name}"] += count
        for label in facts["known"]["labels"]:
            held[f"label {label}"] += sum(
                n for key, n in counts["memories"].items() if key.startswith(f"{label} ")
            )
        for relation in facts["known"]["relations"]:
            held[f"relation {relation}"] += counts["relations"].get(relation, 0)
        for status in facts["known"]["node_status"]:
            held[f"status {status}"] += sum(
                n for key, n in counts["memories"].items() if key.endswith(f" {status}")
            )
        for kind in ("save_status", "dedup_outcome"):
            for status in facts["known"][kind]:
                held[f"{kind} {status}"] += sum(
                    n for key, n in counts["saves"].items() if status in key.split()
                )
        for verb, what in facts["verbs"].items():
            if what == "writes":
                held[f"verb {verb}"] += facts["called"].get(verb, 0)
    assert {name for name, count in held.items() if count == 0} == set(WITHOUT[release])
