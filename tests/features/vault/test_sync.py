"""A vault and a store are in step after a sync, whoever changed what, and nobody's bytes are lost."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from pgmem.errors import InvalidArgument
from pgmem.features.vault.folder import Folder
from tests.conftest import output_of
from tests.core.moving.conftest import NewStore, new_store
from tests.features.vault import obsidian
from tests.features.vault.conftest import Rows, Run, Sync

__all__ = ["new_store"]
MEMORY = "select * from pgmem.node where title = %s and label not in ('Project', 'FocusArea') order by seq"
EDGES = """
select s.title as src, e.rel, d.title as dst from pgmem.edge e join pgmem.node s on s.seq = e.src
join pgmem.node d on d.seq = e.dst order by 1, 2, 3
"""
DECISION = Path("shop/Decision/Use PostgreSQL.md")


@pytest.fixture
def kept(run: Run, sync: Sync, vault: Path) -> Path:
    """The note of a decision that an agent saved."""
    assert run("save", "session", "Set up", "-p", "shop").exit_code == 0
    assert run("save", "decision", "Use PostgreSQL", "One system for all.", "-p", "shop").exit_code == 0
    assert sync()["written"] == 2
    return vault / DECISION


def counts(done: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in done.items() if value}


def edit(note: Path, *changes: tuple[str, str]) -> None:
    text = note.read_bytes().decode()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    note.write_bytes(text.encode())


def test_a_vault_of_two_hundred_notes_goes_in_and_out_without_a_byte_of_it_changed(
    sync: Sync, vault: Path, rows: Rows
) -> None:
    before = obsidian.write(vault, 200)
    done = sync()
    assert (done["saved"], done["problems"]) == (200, [])
    after = {place: (vault / place).read_bytes() for place in before}
    for place, contents in before.items():
        assert any(
            line.startswith(b"id: ") or b" id: " in line for line in obsidian.added(contents, after[place])
        )
    assert (vault / ".obsidian/app.json").read_text() == "{}"
    assert (vault / "Board.canvas").read_text() == '{"nodes":[]}'
    stored = rows(
        "select props, trust_level, source from pgmem.node where label in ('Concept', 'Technology')"
    )
    assert len(stored) == 200
    assert {(row["trust_level"], row["source"]) for row in stored} == {(1.0, "sync")}
    assert done["related"] == len(rows(EDGES)) > 100
    assert counts(sync()) == {}, "the second run finds nothing to do"
    assert {place: (vault / place).read_bytes() for place in before} == after


def test_what_an_agent_saves_becomes_a_note_with_properties_and_links(
    run: Run, sync: Sync, kept: Path
) -> None:
    assert run("remember", "Technology", "Redis", "--set", "summary=A cache", "-p", "shop").exit_code == 0
    assert run("relate", "Decision", "Use PostgreSQL", "USES", "Technology", "Redis").exit_code == 0
    assert sync()["written"] == 1
    text = kept.read_text()
    assert "\nlabel: Decision\nproject: shop\nstatus: active\nsource: cli\n" in text
    assert "\nUSES:\n  - '[[Redis]]'\n" in text
    assert text.endswith("---\n\nOne system for all.\n")
    assert "summary: A cache\n" in (kept.parents[1] / "Technology/Redis.md").read_text()
    assert counts(sync()) == {}


def test_an_edit_of_a_person_becomes_a_version_with_their_trust(sync: Sync, kept: Path, rows: Rows) -> None:
    edit(kept, ("One system for all.", "One system for all,\nand *we* know it."),
         ("\nid:", "\ncolour: red\nscore: 4.5\ndone: true\nvalid_to: 2030-01-01\nid:"))  # fmt: skip
    assert counts(sync()) == {"edited": 1}
    (row,) = rows(MEMORY, "Use PostgreSQL")
    assert row["props"]["rationale"] == "One system for all,\nand *we* know it."
    assert [row["props"][name] for name in ("colour", "score", "done")] == ["red", 4.5, True]
    assert (row["version"], row["trust_level"], row["source"], row["agent_id"]) == (2, 1.0, "sync", "ada")
    assert row["valid_to"].date().isoformat() == "2030-01-01"
    edit(kept, ("colour: red\n", ""), ("valid_to: 2030-01-01\n", ""))
    assert counts(sync()) == {"edited": 1}
    (row,) = rows(MEMORY, "Use PostgreSQL")
    assert ("colour" in row["props"], row["valid_to"]) == (False, None)
    assert counts(sync()) == {}


def test_a_new_note_of_a_kind_with_a_verb_keeps_its_period_and_all_its_properties(
    sync: Sync, kept: Path, vault: Path, rows: Rows
) -> None:
    """It was saved by its text alone, as true for all times; its other fields stayed in the note without a word."""
    note = vault / "shop/Context/Opening.md"
    note.parent.mkdir()
    note.write_text(
        "---\nvalid_from: 2025-01-01\nvalid_to: 2030-01-01\nshelf: north\n---\n\nThe shop opens at nine.\n"
    )
    assert sync()["problems"] == []
    (row,) = rows("select props, valid_from, valid_to from pgmem.node where label = 'Context'")
    assert (row["props"]["content"], row["props"]["shelf"]) == ("The shop opens at nine.", "north")
    assert (row["valid_from"].year, row["valid_to"].year) == (2025, 2030)
    assert counts(sync()) == {}
    deep = "[" * 30 + "]" * 30
    (vault / "shop/Context/Deep.md").write_text(f"---\nabout: {deep}\n---\n\nThe shop closes at six.\n")
    problems = sync()["problems"]
    assert len(problems) == 1
    assert "Deep.md: " in problems[0]
    assert "nested" in problems[0]


def test_links_that_a_person_writes_and_removes_are_relations(
    sync: Sync, kept: Path, vault: Path, rows: Rows
) -> None:
    (vault / "Redis.md").write_text(
        "---\nlabel: Technology\nproject: shop\nUSES: '[[Use PostgreSQL]]'\n---\nSee [[Use PostgreSQL|it]].\n"
    )
    assert sync()["related"] == 2
    made = [(row["rel"], row["dst"]) for row in rows(EDGES) if row["src"] == "Redis"]
    assert made == [("LINKS_TO", "Use PostgreSQL"), ("USES", "Use PostgreSQL")]
    edit(vault / "Redis.md", ("USES: '[[Use PostgreSQL]]'\n", ""))
    assert sync()["related"] == 1
    assert [(row["rel"], row["dst"]) for row in rows(EDGES) if row["src"] == "Redis"] == made[:1]


def test_changes_of_different_fields_on_both_sides_meet(run: Run, sync: Sync, kept: Path, rows: Rows) -> None:
    edit(kept, ("---\n\nOne", "colour: red\n---\n\nOne"))
    rows(
        "select pgmem.edit_memory(id, version, '{\"rationale\": \"All in one.\"}', 'bob') from pgmem.node where title = 'Use PostgreSQL'"
    )
    done = sync()
    assert (done["edited"], done["updated"], done.get("conflicts")) == (1, 1, None)
    assert rows(MEMORY, "Use PostgreSQL")[0]["props"]["colour"] == "red"
    assert kept.read_text().endswith("All in one.\n")


def test_a_conflict_leaves_the_note_and_writes_the_other_state_beside_it(
    sync: Sync, kept: Path, rows: Rows
) -> None:
    edit(kept, ("One system", "My system"))
    mine = kept.read_bytes()
    rows(
        "select pgmem.edit_memory(id, version, '{\"rationale\": \"Their system\"}', 'bob') from pgmem.node where title = 'Use PostgreSQL'"
    )
    assert sync()["conflicts"] == 1
    (copy,) = kept.parent.glob("* (Conflicted copy pgmem *).md")
    assert kept.read_bytes() == mine
    assert copy.read_text().endswith("\nTheir system\n")
    done = sync()
    assert "delete this copy" in done["problems"][0]
    assert kept.read_bytes() == mine
    copy.unlink()
    assert sync()["edited"] == 1
    assert rows(MEMORY, "Use PostgreSQL")[0]["props"]["rationale"] == "My system for all."
    assert counts(sync()) == {}


def test_a_deleted_note_asks_for_a_review_and_comes_back_if_that_is_dropped(
    run: Run, sync: Sync, kept: Path, rows: Rows
) -> None:
    kept.unlink()
    assert counts(sync()) == {"reviews": 1}
    assert rows(MEMORY, "Use PostgreSQL")[0]["status"] == "active"
    (review,) = rows("select save_id, verb from pgmem.save_attempt where status = 'failed'")
    assert review["verb"] == "forget"
    assert counts(sync()) == {}
    assert not kept.exists()
    rows("select pgmem.resolve_review(%s, 'drop', 'ada')", review["save_id"])
    assert sync()["written"] == 1
    assert kept.exists()
    kept.unlink()
    assert counts(sync()) == {"reviews": 1}
    (review,) = rows("select save_id from pgmem.save_attempt where status = 'failed'")
    rows("select pgmem.resolve_review(%s, 'supersede', 'ada')", review["save_id"])
    assert rows(MEMORY, "Use PostgreSQL")[0]["status"] == "archived"
    assert counts(sync()) == {}
    assert not kept.exists()


def test_a_forgotten_memory_goes_to_the_trash_and_a_purged_one_is_gone(
    run: Run, sync: Sync, kept: Path, vault: Path
) -> None:
    assert run("forget", "Decision", "Use PostgreSQL", "--yes").exit_code == 0
    assert sync()["removed"] == 1
    assert not kept.exists()
    assert (vault / ".trash" / DECISION).exists()
    assert run("revert", "Decision", "Use PostgreSQL", "1").exit_code == 0
    assert sync()["written"] == 1
    assert run("forget", "Decision", "Use PostgreSQL", "--purge", "--yes").exit_code == 0
    shutil.rmtree(vault / ".trash")
    assert sync()["removed"] == 1
    assert not [path for path in vault.rglob("*.md") if "One system" in path.read_text()]


def test_a_renamed_and_moved_note_keeps_its_memory(sync: Sync, kept: Path, vault: Path, rows: Rows) -> None:
    (vault / "Elsewhere").mkdir()
    kept.rename(vault / "Elsewhere/Use one database.md")
    assert sync()["edited"] == 1
    (row,) = rows(MEMORY, "Use one database")
    assert row["version"] == 2
    assert counts(sync()) == {}


def test_bad_notes_are_one_sentence_each_and_stay_as_they_are(
    sync: Sync, kept: Path, vault: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "secret.md"
    outside.write_text("not in the vault")
    (vault / "link.md").symlink_to(outside)
    (vault / "tree").symlink_to(tmp_path)
    bad = {
        "bad.md": b"---\na: [b\n---\ntext",
        "latin.md": b"caf\xe9",
        "deep.md": b"---\na: " + b"[" * 500 + b"]" * 500 + b"\n---\n",
        "copy.md": kept.read_bytes(),
        "other.md": kept.read_bytes().replace(
            b"\nid: ", b"\nid: 11111111-1111-4111-8111-111111111111\nold: "
        ),
    }
    for name, contents in bad.items():
        (vault / name).write_bytes(contents)
    done = sync()
    said = "\n".join(done["problems"])
    for part in ("bad.md: Its front matter is not YAML", "latin.md: It is not UTF-8", "deep.md: Its front matter",
                 f"copy.md: It has the id of {DECISION}", "other.md: No memory 11111111", "link.md: It cannot be read"):  # fmt: skip
        assert part in said
    assert {name: (vault / name).read_bytes() for name in bad} == bad
    assert done.get("saved") is None
    assert outside.read_text() == "not in the vault"


def test_two_notes_of_one_id_are_named_and_neither_is_taken(
    sync: Sync, kept: Path, vault: Path, rows: Rows
) -> None:
    shutil.rmtree(vault / ".pgmem")
    edit(kept, ("One system", "My system"))
    (vault / "copy.md").write_bytes(kept.read_bytes())
    before = kept.read_bytes()
    assert "copy.md and " + DECISION.as_posix() + ": Two notes have the id" in "\n".join(sync()["problems"])
    assert (kept.read_bytes(), (vault / "copy.md").read_bytes()) == (before, before)
    assert rows(MEMORY, "Use PostgreSQL")[0]["version"] == 1
    assert list(kept.parent.iterdir()) == [kept], "no third one is written"
    (vault / "copy.md").unlink()
    assert sync()["conflicts"] == 1


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "vault" / ".pgmem").mkdir(parents=True)
    outside = tmp_path / "made"
    (tmp_path / "vault" / ".pgmem" / "lock").symlink_to(outside)
    with pytest.raises(InvalidArgument), Folder(tmp_path / "vault").held():
        pass
    assert not outside.exists()


def test_a_note_that_cannot_be_read_is_not_taken_for_deleted(sync: Sync, kept: Path, rows: Rows) -> None:
    good = kept.read_bytes()
    kept.write_bytes(good.replace(b"---\nid", b"---\na: [\nid"))
    assert "reviews" not in counts(sync())
    kept.write_bytes(good)
    assert counts(sync()) == {}


@pytest.mark.parametrize(
    "title",
    ["CON", 'a/b\\c:d*e?f"g<h>i|j', "...", "ä" * 300, "x" * 480, "Note [[x]] #tag ^y", ".hidden", "ends. "],
)
def test_a_name_that_no_file_system_takes_gets_one_that_any_takes(
    run: Run, sync: Sync, kept: Path, title: str
) -> None:
    assert run("save", "decision", title, "Because.", "-p", "shop").exit_code == 0
    assert sync()["written"] == 1
    (note,) = set(kept.parent.iterdir()) - {kept}
    assert not set('\\/:*?"<>|#^[]') & set(note.name)
    assert len(note.name.encode()) < 200
    assert note.name[0] != "."
    assert note.stem not in ("CON", "")
    assert not note.stem.endswith((".", " "))
    assert counts(sync()) == {}


def test_names_that_differ_in_case_alone_get_two_files(run: Run, sync: Sync, kept: Path) -> None:
    (kept.parents[1] / "Concept").mkdir()
    (kept.parents[1] / "Concept" / "straSSe.md").write_text("A note of a person.")
    for label, name in (("Concept", "Straße"), ("Concept", "STRASSE?")):
        assert run("remember", label, name, "-p", "shop").exit_code == 0
    assert sync()["written"] == 2
    names = [path.name.casefold() for path in (kept.parents[1] / "Concept").iterdir()]
    assert len(set(names)) == 3


def test_a_full_disk_is_one_sentence_and_the_next_run_goes_on(
    run: Run, sync: Sync, vault: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = kept.read_bytes()
    for number in range(5):
        assert run("remember", "Concept", f"Idea {number}", "-p", "shop").exit_code == 0
    replace, left = os.replace, [2]

    def full(source: Any, target: Any) -> None:
        if str(target).endswith(".md"):
            left[0] -= 1
            if left[0] < 0:
                raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr("os.replace", full)
    done = run("vault", "sync", str(vault))
    assert done.exit_code == 1
    assert "cannot be written: the disk is full; free some space, then run the command again." in done.stderr
    assert not list(vault.rglob(".*.md.*")), "no half of a note is left"
    monkeypatch.undo()
    assert sync()["written"] == 3
    assert kept.read_bytes() == before
    assert counts(sync()) == {}


def test_a_lost_state_is_compared_anew(sync: Sync, kept: Path, vault: Path) -> None:
    for name in ("half", ""):
        for path in (vault / ".pgmem").glob("*.json"):
            path.write_text(name)
        assert counts(sync()) == {}
    shutil.rmtree(vault / ".pgmem")
    assert counts(sync()) == {}


def test_a_dry_run_changes_nothing(sync: Sync, kept: Path, vault: Path, rows: Rows) -> None:
    edit(kept, ("One system", "My system"))
    (vault / "New.md").write_text("A new one")
    before = {path: path.read_bytes() for path in vault.rglob("*") if path.is_file() and path.name != "lock"}
    assert counts(sync("--dry-run")) == {"edited": 1, "saved": 1}
    assert {
        path: path.read_bytes() for path in vault.rglob("*") if path.is_file() and path.name != "lock"
    } == before
    assert rows(MEMORY, "Use PostgreSQL")[0]["version"] == 1


def test_in_git_a_changed_memory_is_one_hunk_and_the_state_is_left_out(
    run: Run, sync: Sync, kept: Path, vault: Path, rows: Rows
) -> None:
    for number in range(5):
        assert run("remember", "Concept", f"Idea {number}", "-p", "shop").exit_code == 0
    assert sync()["written"] == 5

    def git(*arguments: str) -> list[str]:
        name = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
        return output_of("git", "-C", str(vault), *name, *arguments).splitlines()

    git("init", "-q")
    git("add", "-A")
    assert [place for place in git("ls-files") if place.startswith(".")] == []
    git("commit", "-qm", "notes")
    rows(
        "select pgmem.edit_memory(id, version, '{\"rationale\": \"One system for all.\\n\\nAda owns it.\"}', 'bob')"
        " from pgmem.node where title = 'Use PostgreSQL'"
    )
    assert sync()["updated"] == 1
    assert git("status", "--porcelain") == [f' M "{DECISION.as_posix()}"']
    changed = [line for line in git("diff", "-U8") if line.startswith(("@@", "+", "-"))]
    assert len([line for line in changed if line.startswith("@@")]) == 1
    assert changed[-2:] == ["+", "+Ada owns it."]
    assert json.loads(next((vault / ".pgmem").glob("*.json")).read_text())["cursor"]


def test_a_vault_alone_rebuilds_the_store(run: Run, sync: Sync, vault: Path, new_store: NewStore) -> None:
    """Equal by export, except earlier versions, projects and the times of relations, which are listed."""
    obsidian.write(vault, 40)
    for arguments in (
        ("save", "session", "Set up", "--did", "one", "-p", "shop"),
        (
            "save",
            "decision",
            "Use PostgreSQL: always?",
            "One system.\n\n- a\n- b",
            "-p",
            "shop",
            "--owner",
            "Ada",
        ),
        ("save", "pattern", "When a test fails", "Read it", "-p", "shop"),
        ("save", "context", "Always answer in English.", "-p", "shop"),
        ("save", "entity", "Redis", "A cache", "-p", "shop"),
        (
            "remember",
            "Technology",
            "PostgreSQL",
            "--set",
            "id=17",
            "--set",
            "source=web",
            "--to",
            "2030-01-01",
        ),
        ("relate", "Decision", "Use PostgreSQL: always?", "USES", "Technology", "PostgreSQL"),
    ):
        done = run(*arguments)
        assert done.exit_code == 0, (arguments, done.stderr)
    assert sync()["problems"] == []
    sync()
    there = new_store()
    done = run("vault", "import", str(vault), "--json", PGMEM_DSN=there)
    assert done.exit_code == 0, done.stderr
    left_out = json.loads(done.stdout)["left_out"]
    assert set(left_out) <= {
        "earlier versions of memories",
        "times of relations",
        "times and ids of projects",
    }

    def held(dsn: str | None) -> list[Any]:
        variables = {"PGMEM_DSN": dsn} if dsn else {}
        records = [json.loads(line) for line in run("export", "-", **variables).stdout.splitlines()]
        kept = [{k: v for k, v in record.items() if k not in ("created_at" if record["type"] == "edge" else "", "project_id")}
                for record in records if record["type"] in ("node", "edge") and record.get("label") != "Project"]  # fmt: skip
        return sorted(kept, key=str)

    # A file proves no person: the words of one are the importer's there.
    assert held(there) == [
        record | ({"source": "sync"} if record.get("source") == "cli" else {}) for record in held(None)
    ]


def test_the_worker_keeps_the_vault_of_the_settings_in_step(run: Run, vault: Path, kept: Path) -> None:
    assert run("remember", "Concept", "Idea", "-p", "shop").exit_code == 0
    done = run("worker", "--once", "--json", VAULT_PATH=str(vault))
    assert json.loads(done.stdout)["notes_written"] == 1
    assert (vault / "shop/Concept/Idea.md").exists()
