"""Memories of another system arrive as they are, are counted, and leave again as they came."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.core.cli.conftest import Run, run, surroundings
from tests.core.moving.conftest import NewStore, exported, imported
from tests.core.moving.test_importers import lines
from tests.fixtures.verbs import Rows

__all__ = ["run", "surroundings"]

Properties = dict[str, Any]


def node(label: str, name: str, **properties: Any) -> Properties:
    key = "title" if label == "Decision" else "name"
    return {
        "type": "node",
        "label": label,
        "key_field": key,
        "key_value": name,
        "properties": {key: name, **properties},
    }


def relation(a: tuple[str, str], kind: str, b: tuple[str, str]) -> Properties:
    return {
        "type": "relation",
        "from_label": a[0],
        "from_value": a[1],
        "rel_type": kind,
        "to_label": b[0],
        "to_value": b[1],
    }


OLD, NEW = "Keep the orders in one SQLite file", "Keep the orders in one PostgreSQL file"
HEADER = {"engrama_export": 1, "version": "0.18.1", "exported_at": "2026-05-01T00:00:00+00:00"}
NODES = [
    node("Decision", OLD, rationale="one writer", confidence=0.4, trust_level=0.8, tags=["db", "orders"],
         alternatives=["MySQL", "a folder"], status="active", created_at="2024-01-05T10:00:00+00:00",
         updated_at="2024-06-01T08:00:00+00:00", valid_to="2024-12-31T00:00:00+00:00"),
    node("Decision", NEW, rationale="many writers", status="active", created_at="2025-01-05T10:00:00+00:00"),
    node("Decision", "Paint it red", rationale="loud", status="superseded", created_at="2025-02-05T10:00:00+00:00"),
    node("Technology", "Redis", summary="A cache", status="stub", created_at="2025-01-06T00:00:00+00:00"),
    node("Technology", "redis", summary="Another one, in lower case", confidence=0.25),
    node("Lecture", "Redis", notes="a label that this store has not"),
    node("Concept", "Redis", details="and the same name as a concept", source="cli", valid_from="2025-03-01"),
    node("Tool", "grep", status="archived", created_at="2023-01-01T00:00:00+00:00"),
    node("Project", "Webshop", description="sells tea"),
]  # fmt: skip
RELATIONS = [
    relation(("Decision", NEW), "SUPERSEDES", ("Decision", OLD)),
    relation(("Technology", "redis"), "USES", ("Technology", "Redis")),
    relation(("Technology", "Redis"), "BELONGS_TO", ("Project", "Webshop")),
]
SEEN = """
  select label, coalesce(key, title) as name, props, status, created_at, updated_at, valid_from, valid_to,
         initial_confidence::float8 as confidence, trust_level::float8 as trust, source
  from pgmem.node where project = 'shop' order by label, 2
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "engrama.ndjson"
    found.write_text(lines(HEADER, *NODES, *RELATIONS), encoding="utf-8")
    return found


def took(run: Run, file: Path, *more: str, source: str = "engrama", **variables: str) -> dict[str, Any]:
    done = run("import", "--from", source, str(file), "-p", "shop", "--json", *more, **variables)
    assert done.exit_code == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_no_field_of_a_foreign_file_is_lost(run: Run, rows: Rows, file: Path) -> None:
    """Confidence, tags, alternatives, periods, status, trust and both of two near decisions are kept."""
    done = took(run, file)
    assert (done["taken"], done["superseded"], done["archived"], done["left_out"]) == (12, 1, 1, {})
    here = {(row["label"], row["name"]): row for row in rows(SEEN)}
    assert {name for label, name in here if label == "Decision"} == {OLD, NEW, "Paint it red"}
    old = here["Decision", OLD]
    assert (old["confidence"], old["trust"], old["status"]) == (0.4, 0.8, "active")
    assert old["props"]["tags"] == ["db", "orders"]
    assert old["props"]["alternatives"] == ["MySQL", "a folder"]
    assert [old[name] and old[name].date().isoformat() for name in ("created_at", "updated_at", "valid_from", "valid_to")] == [
        "2024-01-05", "2024-06-01", None, "2024-12-31"]  # fmt: skip
    assert here["Decision", "Paint it red"]["status"] == "superseded"
    assert here["Technology", "Redis"]["status"] == "stub"
    assert here["Tool", "grep"]["status"] == "archived"
    names = {name for label, name in here if label in ("Technology", "Concept")}
    assert names == {"Redis", "redis (Technology)", "Redis (Lecture)", "Webshop"}
    assert here["Technology", "redis (Technology)"]["props"]["name_told"] == "redis"
    assert here["Concept", "Redis"]["props"]["engrama_source"] == "cli"
    assert here["Concept", "Redis"]["valid_from"].date().isoformat() == "2025-03-01"
    for record in NODES:
        texts = [v for k, v in record["properties"].items() if isinstance(v, str) and k in ("notes", "details", "summary", "rationale", "description")]  # fmt: skip
        assert all(any(text in row["props"].values() for row in here.values()) for text in texts), record


def test_what_was_converted_is_counted_and_shown(run: Run, file: Path) -> None:
    """Projects become Concepts and BELONGS_TO RELATED_TO, and the import reports it."""
    assert took(run, file)["converted"] == {
        "Lecture nodes: Concept": 1,
        "Project nodes: Concept": 1,
        "BELONGS_TO relations: RELATED_TO, with the property relations_told": 1,
        "names that another memory of the file has: made different": 2,
    }
    shown = run("import", "--from", "engrama", str(file), "-p", "other")
    assert shown.stdout == "12 imported, 0 already present.\n"
    assert "converted 1: Project nodes: Concept\n" in shown.stderr


def test_a_superseded_decision_of_the_file_is_not_current_and_its_successor_points_to_it(
    run: Run, call: Call, rows: Rows, file: Path
) -> None:
    """A decision whose valid_to has passed came back as current."""
    took(run, file)
    shown = json.loads(run("retrieve", "shop", "--json").stdout)
    assert [item["title"] for item in shown["items"] if item["label"] == "Decision"] == [NEW]
    was = call("get_node", label="Decision", key=OLD, project_id="shop", as_of="2024-05-01T00:00:00+00:00")
    assert was["title"] == OLD
    edges = rows(
        "select s.title as a, d.title as b from pgmem.edge e join pgmem.node s on s.seq = e.src "
        "join pgmem.node d on d.seq = e.dst where e.rel = 'SUPERSEDES'"
    )
    assert edges == [{"a": NEW, "b": OLD}]


def test_an_import_and_an_export_later_every_field_is_the_same(
    run: Run, rows: Rows, file: Path, dsn: str, new_store: NewStore
) -> None:
    """Engrama to pgmem to a file to another pgmem, compared field by field."""
    took(run, file)
    away = new_store()
    moved = exported(dsn)
    imported(away, moved)
    assert exported(away)[1:] == moved[1:]
    records = [json.loads(line) for line in moved]
    here = {(r["label"], r.get("key") or r["title"]): r for r in records if r["type"] == "node"}
    for record in NODES:
        given = record["properties"]
        name = record["key_value"]
        renamed = [
            r for r in here.values() if r["props"].get("name_told") == name and r["label"] == record["label"]
        ]
        foreign = [r for r in here.values() if r["props"].get("entity_type") == record["label"]]
        (found,) = (renamed if name == "redis" else []) or foreign or [here[record["label"], name]]
        stored = {**found["props"], **found, "confidence": found["initial_confidence"]}
        for name, value in given.items():
            if name in ("name", "title", "source"):
                continue
            same = str(stored[name])[:10] == str(value)[:10] if name.endswith(("_at", "_from", "_to")) else stored[name] == value  # fmt: skip
            assert same, (record["key_value"], name, stored[name], value)


def test_a_dry_run_says_the_same_and_writes_nothing(run: Run, rows: Rows, file: Path) -> None:
    """`--dry-run` shows the changes that the import would make."""
    would = took(run, file, "--dry-run")
    assert rows("select from pgmem.node where label <> 'GlobalScope'") == []
    assert rows("select from pgmem.imported") == []
    done = took(run, file)
    assert {**would, "dry_run": False} == done
    assert run("import", "--from", "engrama", str(file), "-p", "shop", "--dry-run").stdout == (
        "Dry run: 0 imported, 12 already present.\n"
    )
    refused = run("import", str(file), "--dry-run")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)


def test_what_a_later_file_says_anew_is_counted_as_updated(run: Run, call: Call, tmp_path: Path) -> None:
    """A second import counted updated memories as here already."""
    file = tmp_path / "engrama.ndjson"
    for rationale, status in (("one writer", "active"), ("two writers", "superseded")):
        decision = node("Decision", OLD, rationale=rationale, status=status, tags=["db"])
        file.write_text(lines(HEADER, decision, node("Concept", "tea")), encoding="utf-8")
        done = took(run, file)
    assert (done["taken"], done["updated"], done["present"], done["superseded"]) == (0, 1, 1, 1)
    found = call("read_node", label="Decision", key=OLD)
    assert (found["properties"]["rationale"], found["status"], found["version"]) == (
        "two writers",
        "superseded",
        2,
    )
    assert run("import", "--from", "engrama", str(file), "-p", "shop").stdout == (
        "0 imported, 2 already present.\n"
    )


def test_what_was_forgotten_or_decided_here_stays_so(run: Run, call: Call, file: Path) -> None:
    """A file holds the state of the time when it was written."""
    took(run, file)
    call("forget", label="Concept", key="Webshop", project_id="shop")
    call("save_decision", title=NEW + " separately", rationale="faster", project_id="shop")
    done = took(run, file)
    assert (done["taken"], done["updated"]) == (0, 0)
    # Its relation is one of the memory that was forgotten, and stays.
    assert done["left_out"] == {"memories that were forgotten or merged in this store": 1}
    assert call("read_node", label="Concept", key="Webshop")["status"] == "archived"


@pytest.mark.parametrize(("role", "trust"), [("pgmem_writer", 0.5), ("pgmem_reviewer", 1.0)])
def test_a_writer_gives_no_memory_more_trust_than_its_own(
    login: Callable[..., psycopg.Connection[DictRow]], rows: Rows, role: str, trust: float
) -> None:
    """The trust of a file holds where an owner or a reviewer imports it."""
    record = {"label": "Concept", "name": "tea", "properties": {}, "trust_level": 1.0}
    with login("pgmem_writer", role) as connection:
        connection.execute(
            "select * from pgmem.import_memories('shop', 'engrama', %s)", (json.dumps([record]),)
        )
    assert rows("select trust_level::float8 as t from pgmem.node where title = 'tea'") == [{"t": trust}]


def test_a_note_that_was_deleted_is_named_and_forgotten_on_request(
    run: Run, rows: Rows, tmp_path: Path
) -> None:
    """A deleted note stayed active."""
    vault = tmp_path / "vault"
    vault.mkdir()
    for name in ("tea", "milk"):
        (vault / f"{name}.md").write_text(f"About {name}.")
    took(run, vault, source="markdown")
    (vault / "milk.md").unlink()
    status = "select title, status from pgmem.node where project = 'shop' order by title"
    reason = "notes that were deleted in the folder: --forget-deleted forgets them here"
    assert took(run, vault, source="markdown")["left_out"] == {reason: 1}
    assert took(run, vault, "--forget-deleted", "--dry-run", source="markdown")["archived"] == 1
    assert {row["status"] for row in rows(status)} == {"active"}
    assert took(run, vault, "--forget-deleted", source="markdown")["archived"] == 1
    assert rows(status) == [{"title": "milk", "status": "archived"}, {"title": "tea", "status": "active"}]
    assert took(run, vault, "--forget-deleted", source="markdown")["archived"] == 0


def test_tags_in_the_text_of_a_note_are_tags(run: Run, call: Call, rows: Rows, tmp_path: Path) -> None:
    """Inline #tags were ignored."""
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "tea.md").write_text(
        "---\ntags: drinks, hot\nconfidence: 0.5\nstatus: draft\nupdated: 2026-02-03\n---\n# A heading\n"
        "Black #tea/black and #2026-plan, issue #12, `#code`, [link](page#part) <a href='#x'>, https://a.b/#c\n"
        "```\n#fenced\n```\n(#süß) #hot"
    )
    took(run, vault, source="markdown")
    tea = call("get_node", label="Concept", key="tea", project_id="shop")
    assert tea["properties"]["tags"] == ["drinks", "hot", "tea/black", "2026-plan", "süß"]
    assert tea["properties"]["status_told"] == "draft"
    assert tea["updated_at"].date().isoformat() == "2026-02-03"
    assert rows(SEEN)[0]["confidence"] == 0.5


def test_the_words_of_an_import_are_found_by_meaning_at_once(run: Run, file: Path) -> None:
    """An import embeds its memories; it does not wait for a worker."""
    took(run, file, EMBEDDING_PROVIDER="static")
    models = json.loads(run("status", "--json").stdout)["embedding"]
    assert [model["waiting"] for model in models["models"]] in ([0], [])
