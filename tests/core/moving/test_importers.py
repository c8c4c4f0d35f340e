"""Memories of other systems: those that are imported, those that are left out and why; a second import duplicates nothing."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Call, GraphDifferences
from tests.core.cli.conftest import Run, run, surroundings
from tests.fixtures.verbs import Rows

__all__ = ["run", "surroundings"]


def lines(*records: Any) -> str:
    return "".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in records)


MCP_MEMORY = lines(
    {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["writes Pascal", "likes tea"]},
    {"type": "entity", "name": "Redis", "entityType": "Technology", "observations": []},
    {"type": "entity", "name": "Acme", "entityType": "company", "observations": ["sells tea"]},
    {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea", "has a cat"]},
    {"type": "relation", "from": "Ada", "to": "Redis", "relationType": "uses"},
    {"type": "relation", "from": "Ada", "to": "Acme", "relationType": "works at"},
    {"type": "relation", "from": "Ada", "to": "Nobody", "relationType": "knows"},
    {"type": "entity", "name": "x" * 300, "entityType": "thing", "observations": []},
    "not json",
)
ENGRAMA = lines(
    {"engrama_export": 1, "version": "0.18.1", "exported_at": "2026-05-01T00:00:00+00:00", "embedding_dimensions": 3},
    {"type": "node", "label": "Technology", "key_field": "name", "key_value": "Redis",
     "properties": {"name": "Redis", "summary": "A cache", "tags": ["db"], "trust_level": 1.0, "source": "cli",
                    "created_at": "2026-01-02T03:04:05+00:00", "status": "active", "confidence": 0.5}},
    {"type": "node", "label": "Decision", "key_field": "title", "key_value": "Use Redis for sessions",
     "properties": {"title": "Use Redis for sessions", "rationale": "It is fast"}},
    {"type": "node", "label": "Project", "key_field": "name", "key_value": "Webshop", "properties": {"name": "Webshop"}},
    {"type": "node", "label": "Tool", "key_field": "name", "key_value": "old", "properties": {"name": "old", "status": "archived"}},
    {"type": "node", "label": "Insight", "key_field": "title", "key_value": "i", "properties": {"title": "i"}},
    {"type": "relation", "from_label": "Decision", "from_key": "title", "from_value": "Use Redis for sessions",
     "rel_type": "USES", "to_label": "Technology", "to_key": "name", "to_value": "Redis"},
    {"type": "relation", "from_label": "Technology", "from_key": "name", "from_value": "Redis",
     "rel_type": "BELONGS_TO", "to_label": "Project", "to_key": "name", "to_value": "Webshop"},
    {"type": "relation", "from_label": "Technology", "from_key": "name", "from_value": "Redis",
     "rel_type": "USES", "to_label": "Tool", "to_key": "name", "to_value": "old"},
    {"type": "vector", "label": "Technology", "key_field": "name", "key_value": "Redis", "vector": [1, 2, 3]},
)  # fmt: skip
MEM0: dict[str, Any] = {
    "results": [
        {"id": "3c90c3cc-0d44-4b50-8888-8dd25736052a", "memory": "Ada prefers tea", "hash": "h", "metadata": {"mood": "good"},
         "created_at": "2025-11-07T05:31:56-08:00", "updated_at": None, "user_id": "ada", "categories": ["food"]},
        {"id": "2", "memory": "A long story. " * 30, "user_id": "ada"},
        {"id": "3", "memory": "Ada prefers tea", "user_id": "ada"},
        {"id": "4", "memory": "", "user_id": "ada"},
    ],
    "relations": [{"source": "ada", "relationship": "drinks", "target": "tea"}],
}  # fmt: skip


def titles(rows: Rows) -> dict[str, str]:
    found = rows(
        "select title, label, status from pgmem.node where project = 'shop' and label <> 'Session' and status <> 'stub' order by seq"
    )
    return {row["title"]: row["label"] for row in found}


def edges(rows: Rows) -> set[tuple[str, str, str]]:
    found = rows(
        "select s.title as a, e.rel as b, d.title as c from pgmem.edge e join pgmem.node s on s.seq = e.src join pgmem.node d on d.seq = e.dst"
    )
    return {(row["a"], row["b"], row["c"]) for row in found}


def twice(run: Run, rows: Rows, source: str, path: Path, *more: str) -> dict[str, Any]:
    """The answer of the first of two imports; the second leaves every node, version and edge as it is."""
    picture = "select id, version, props::text, status from pgmem.node order by seq"
    command = ("import", "--from", source, str(path), "--project", "shop", "--json", *more)
    first = run(*command)
    assert first.exit_code == 0, first.stderr
    before = rows(picture), edges(rows)
    second = run(*command)
    assert second.exit_code == 0, second.stderr
    assert json.loads(second.stdout)["taken"] == 0
    assert (rows(picture), edges(rows)) == before
    return dict(json.loads(first.stdout))


def test_the_memory_server_of_mcp(
    graph_differences: GraphDifferences, run: Run, rows: Rows, tmp_path: Path, call: Call
) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(MCP_MEMORY, encoding="utf-8")
    done = twice(run, rows, "mcp-memory", file)
    assert titles(rows) == {"Ada": "Person", "Redis": "Technology", "Acme": "Concept"}
    assert edges(rows) == {("Ada", "USES", "Redis"), ("Ada", "RELATED_TO", "Acme")}
    assert (done["taken"], done["present"]) == (5, 0)
    reasons = done["left_out"]
    assert reasons.pop("line 9 of memory.jsonl: it is not JSON") == 1
    assert reasons.pop("relations with an end that is not in the file") == 1
    ((reason, count),) = reasons.items()
    assert (count, "at most 200" in reason) == (1, True)
    ada = call("get_node", label="Person", key="Ada", project_id="shop")
    assert ada["properties"]["notes"] == ["writes Pascal", "likes tea", "has a cat", "works at Acme"]
    assert (ada["source"], ada["trust_level"]) == ("mcp", 0.5)
    assert (
        call("get_node", label="Concept", key="Acme", project_id="shop")["properties"]["entity_type"]
        == "company"
    )
    assert call("search_memory", query="who has a cat?")["title"] == "Ada"
    assert graph_differences() == []


def test_a_text_that_no_store_keeps_is_cleaned_and_named_and_other_line_ends_are_text(
    run: Run, rows: Rows, tmp_path: Path
) -> None:
    file = tmp_path / "memory.jsonl"
    line = '{{"type": "entity", "name": "{}", "entityType": "person", "observations": ["{}"]}}\n'
    file.write_text(
        line.format("Eve", "first\u2028second\x85third") + line.format("Gil", "half \\ud83d here")
        + line.format("Hal", "zero \\u0000 here") + line.format("Ida", "fine"),
        encoding="utf-8",
    )  # fmt: skip
    done = run("import", "--from", "mcp-memory", str(file), "--project", "shop", "--json")
    assert done.exit_code == 0, done.stderr
    assert set(titles(rows)) == {"Eve", "Gil", "Hal", "Ida"}
    assert json.loads(done.stdout)["left_out"] == {}
    instead = "taken out, or U+FFFD in its place"
    assert {reason for reason in json.loads(done.stdout)["converted"] if "line" in reason} == {
        f"line 2 of memory.jsonl: a text in it holds half of a surrogate pair, which is not a character: {instead}",
        f"line 3 of memory.jsonl: a text in it holds the character NUL, which no store keeps: {instead}",
    }
    file = tmp_path / "mem0.json"
    file.write_text(
        json.dumps({"results": [{"id": "1", "memory": "zero \0"}, {"id": "2", "memory": "Ada drinks tea"}]})
    )
    done = run("import", "--from", "mem0", str(file), "--project", "shop", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["taken"] == 2
    assert "memory 1 of mem0.json: a text in it holds the character NUL" in str(
        json.loads(done.stdout)["converted"]
    )


ADA = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]}
BOB = {**ADA, "name": "Bob"}
KNOWS = {"type": "relation", "from": "Ada", "to": "Bob", "relationType": "knows"}


def without_type(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "type"}


@pytest.mark.parametrize(
    "text",
    [
        f"\ufeff{json.dumps(ADA)}\n{json.dumps(BOB)}\n{json.dumps(KNOWS)}\n",
        f"{json.dumps(ADA)}{json.dumps(BOB)}\n{json.dumps(KNOWS)}",
        f"{json.dumps(ADA)} {json.dumps(BOB)}\t{json.dumps(KNOWS)}\r\n",
        json.dumps([ADA, BOB, KNOWS]),
        "\ufeff"
        + json.dumps({"entities": [without_type(ADA), BOB], "relations": [without_type(KNOWS)]}, indent=2),
    ],
    ids=["mark", "one line", "blanks between", "array", "read_graph"],
)
def test_every_form_of_a_file_of_the_memory_server_is_read_whole(
    run: Run, rows: Rows, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(text, encoding="utf-8")
    done = run("import", "--from", "mcp-memory", str(file), "--project", "shop", "--json")
    assert done.exit_code == 0, done.stderr
    assert set(titles(rows)) == {"Ada", "Bob"}
    assert edges(rows) == {("Ada", "RELATED_TO", "Bob")}
    assert json.loads(done.stdout)["left_out"] == {}


def test_what_was_observed_since_comes_with_the_next_import(run: Run, tmp_path: Path, call: Call) -> None:
    file = tmp_path / "memory.jsonl"
    command = ("import", "--from", "mcp-memory", str(file), "--project", "shop")
    for observed in (["likes tea"], ["likes tea", "moved to Rome"]):
        file.write_text(
            lines({"type": "entity", "name": "Ada", "entityType": "person", "observations": observed})
        )
        assert run(*command).exit_code == 0
    ada = call("get_node", label="Person", key="Ada", project_id="shop")
    assert (ada["version"], ada["properties"]["notes"]) == (2, ["likes tea", "moved to Rome"])


def test_an_export_of_engrama(run: Run, rows: Rows, tmp_path: Path, call: Call) -> None:
    file = tmp_path / "engrama.ndjson"
    file.write_text(ENGRAMA, encoding="utf-8")
    done = twice(run, rows, "engrama", file)
    assert titles(rows) == {
        "Redis": "Technology",
        "Use Redis for sessions": "Decision",
        "Webshop": "Concept",
        "old": "Tool",
    }
    assert edges(rows) == {
        ("Use Redis for sessions", "USES", "Redis"),
        ("Redis", "RELATED_TO", "Webshop"),
        ("Redis", "USES", "old"),
    }
    assert done["archived"] == 1
    assert done["converted"] == {
        "Project nodes: Concept": 1,
        "BELONGS_TO relations: RELATED_TO, with the property relations_told": 1,
    }
    assert done["left_out"] == {
        "Insight nodes: pgmem reflect makes new ones": 1,
        "vectors: texts are embedded by the model in use here": 1,
    }
    redis = call("get_node", label="Technology", key="Redis", project_id="shop")
    assert (redis["properties"]["summary"], redis["trust_level"]) == ("A cache", 1.0)
    assert redis["created_at"].isoformat() == "2026-01-02T03:04:05+00:00"
    assert rows("select initial_confidence as c from pgmem.node where title = 'Redis'") == [{"c": 0.5}]
    decision = call("get_node", label="Decision", key="Use Redis for sessions", project_id="shop")
    assert decision["properties"]["rationale"] == "It is fast"


@pytest.mark.parametrize("form", ["answer", "list", "lines"])
def test_memories_of_mem0(run: Run, rows: Rows, tmp_path: Path, call: Call, form: str) -> None:
    file = tmp_path / "mem0.json"
    content = {"answer": MEM0, "list": MEM0["results"]}.get(form)
    file.write_text(json.dumps(content) if content else lines(*MEM0["results"]), encoding="utf-8")
    done = twice(run, rows, "mem0", file)
    assert done["left_out"] == {"memory 4 of mem0.json: it has no text": 1}
    assert done["converted"].pop("names that another memory of the file has: made different") == 1
    short, long, again = [title for title in titles(rows) if title not in ("ada", "tea")]
    assert (short, again) == ("Ada prefers tea", "Ada prefers tea (3)")
    assert len(long) <= 200
    assert long.endswith("… #2")
    node = call("get_node", label="Concept", key=short, project_id="shop")
    assert node["properties"]["metadata"] == {"mood": "good"}
    assert node["created_at"].isoformat() == "2025-11-07T13:31:56+00:00"
    assert edges(rows) == ({("ada", "RELATED_TO", "tea")} if form == "answer" else set())


def test_the_archive_of_openmemory(run: Run, rows: Rows, tmp_path: Path) -> None:
    file = tmp_path / "memories_export_ada.zip"
    records = [{"id": "1", "content": "Ada prefers tea", "state": "active", "app": "cursor", "categories": ["food"]},
            {"id": "2", "content": "Ada hates tea", "state": "deleted"}]  # fmt: skip
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("memories.json", "{}")
        archive.writestr("memories.jsonl.gz", gzip.compress(lines(*records).encode()))
    done = twice(run, rows, "mem0", file)
    assert (done["taken"], done["left_out"]) == (1, {"memories that were deleted there": 1})
    assert titles(rows) == {"Ada prefers tea": "Concept"}


def test_memories_of_several_users_are_not_made_one_users(run: Run, rows: Rows, tmp_path: Path) -> None:
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps([{"memory": "a", "user_id": "ada"}, {"memory": "b", "user_id": "bob"}]))
    refused = run("import", "--from", "mem0", str(file), "--project", "shop")
    assert (refused.exit_code, "name one with --of-user, such as ada" in refused.stderr) == (1, True)
    assert titles(rows) == {}
    done = twice(run, rows, "mem0", file, "--of-user", "bob")
    assert (done["taken"], done["left_out"], titles(rows)) == (
        1,
        {"memories of other users": 1},
        {"b": "Concept"},
    )


def test_a_folder_of_notes(run: Run, rows: Rows, tmp_path: Path, call: Call) -> None:
    vault = tmp_path / "vault"
    notes = {
        "Redis.md": "---\ntype: technology\ntags: [db, cache]\ncreated: 2026-01-02\nsince: 2020-05-06\n---\nSee [[tea|the tea]] and [[Nothing]].\n",
        "drinks/tea.md": "# Tea\nNo front matter. [[Redis#Persistence]] and [[Redis]] again. [[tea]]\n",
        "old/tea.md": "---\naliases: [Old tea]\n---\nAn older note.",
        "Board.md": "---\ntitle: Where to meet\n---\n[[Old tea]]",
        "broken.md": "---\na: [\n---\nx",
        ".obsidian/hidden.md": "hidden",
    }
    for name, text in notes.items():
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text(text, encoding="utf-8")
    (vault / "latin.md").write_bytes(b"caf\xe9")
    done = twice(run, rows, "markdown", vault)
    assert titles(rows) == {
        "Redis": "Technology",
        "tea": "Concept",
        "old/tea": "Concept",
        "Where to meet": "Concept",
    }
    assert edges(rows) == {("tea", "LINKS_TO", "Redis"), ("Where to meet", "LINKS_TO", "old/tea")}
    assert done["left_out"] == {
        "notes whose text or front matter cannot be read (its front matter is not YAML), such as broken.md": 1,
        "notes whose text or front matter is not UTF-8, such as latin.md": 1,
        "links whose name fits several notes": 2,
        "links to notes that do not exist": 1,
    }
    redis = call("get_node", label="Technology", key="Redis", project_id="shop")
    assert (redis["properties"]["tags"], redis["properties"]["since"]) == (["db", "cache"], "2020-05-06")
    assert (redis["source"], redis["trust_level"]) == ("sync", 1.0)
    assert redis["created_at"].date().isoformat() == "2026-01-02"
    assert call("search_memory", query="older note")["title"] == "old/tea"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", "engrama", "FILE", "-p", "shop"), "is not an export of engrama in format 1"),
        (("--from", "mem0", "FILE", "-p", "shop"), "holds no memories: save the result of mem0's get_all"),
        (("--from", "mcp-memory", "FILE", "-p", "shop"), "holds no memories of mcp-memory: is --from right?"),
        (("--from", "markdown", "FILE", "-p", "shop"), "is not a directory"),
        (("--from", "markdown", "FOLDER", "-p", "shop"), "holds no memories of markdown"),
        (("--from", "mem0", "FILE"), "--project is required: the project of the imported memories"),
        (("--from", "zep", "FILE"), "--from"),
    ],
    ids=["engrama", "mem0", "mcp-memory", "no folder", "empty folder", "no project", "unknown"],
)
def test_a_file_of_something_else_is_refused_in_one_line(
    run: Run, tmp_path: Path, rows: Rows, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "file").write_text('{"some": "thing"}\n')
    (tmp_path / "folder").mkdir()
    names = {"FILE": str(tmp_path / "file"), "FOLDER": str(tmp_path / "folder")}
    result = run("import", *(names.get(argument, argument) for argument in arguments))
    assert result.exit_code in (1, 2)
    assert (message in result.stderr, result.stderr.count("\n")) == (True, 1), result.stderr
    assert rows("select from pgmem.node where label = 'Project'") == []
