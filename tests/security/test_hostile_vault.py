"""The attacker writes notes, and the state of a vault, that name the memories of another tenant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Call
from tests.features.vault.conftest import Run, Sync, run, surroundings, sync, vault
from tests.fixtures.verbs import ActAs, Rows

__all__ = ["run", "surroundings", "sync", "vault"]

ADA = {"DEFAULT_ORG_ID": "globex", "DEFAULT_USER_ID": "ada"}


@pytest.fixture
def hers(call: Call, act_as: ActAs) -> str:
    """The id of a decision of another tenant."""
    act_as("acme", "carol")
    call("save_session", objective="open", project_id="shop")
    made = call("save_decision", title="Pay by invoice", rationale="canary", project_id="shop")
    act_as()
    return str(made["artifact_id"])


def note(key: str, title: str, text: str, *more: str) -> str:
    lines = (f"id: {key}", "label: Decision", f"title: {title}", "project: shop", "pgmem: {keep: []}", *more)
    return "---\n" + "\n".join(lines) + f"\n---\n{text}\n"


def test_a_note_with_the_id_of_another_tenants_memory_neither_reads_nor_changes_it(
    run: Run, sync: Sync, vault: Path, hers: str, rows: Rows
) -> None:
    """Also with a state that says the two have agreed before, and with the note deleted again."""
    assert run("save", "session", "Set up", "-p", "shop", **ADA).exit_code == 0
    sync(**ADA)
    picture = "select n.*, (select count(*) from pgmem.edge e where n.seq in (e.src, e.dst)) as edges from pgmem.node n where tenant ~ 'carol'"
    before = rows(picture)
    claimed = vault / "Claimed.md"
    claimed.write_text(note(hers, "Pay nobody", "Nothing.", "status: archived", "CONFLICTS_WITH: '[[Own]]'"))
    (vault / "Own.md").write_text(
        "---\nlabel: Decision\nproject: shop\nSUPERSEDES: '[[Claimed]]'\n---\nSee [[Claimed]].\n"
    )
    assert f"No memory {hers} found in this store" in str(sync(**ADA)["problems"])
    (state,) = (vault / ".pgmem").glob("*.json")
    kept = json.loads(state.read_text())
    record = {**rows("select to_jsonb(n) as n from pgmem.node n where title = 'Own'")[0]["n"], "id": hers}
    for texts in ({"text": "Nothing."}, {"text": "canary"}, {}):
        kept["notes"][hers] = {
            "place": "Claimed.md",
            "digest": "-",
            "note": texts,
            "memory": texts,
            "record": record,
        }
        state.write_text(json.dumps(kept))
        sync(**ADA)
    claimed.unlink()
    state.write_text(json.dumps(kept))
    sync(**ADA)
    assert rows(picture) == before
    assert rows("select verb from pgmem.save_attempt where tenant ~ 'carol' and status <> 'saved'") == []
    assert "canary" not in "".join(path.read_text() for path in vault.rglob("*.md"))
