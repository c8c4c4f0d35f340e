"""A vault in git whose older states come back: nothing of an agent is lost, and the next run has nothing to do."""

from __future__ import annotations

import os
import random
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import output_of
from tests.features.vault import obsidian
from tests.features.vault.conftest import Rows, Run, Sync
from tests.features.vault.test_sync import counts

Git = Callable[..., list[str]]
AGENT = "select set_config('pgmem.source', 'mcp', false)"


def documentation(folder: Path, notes: int = 170) -> dict[str, bytes]:
    """A vault as public documentation has it: front matter, tags, links, CRLF, BOM, names in NFD."""
    dice = random.Random(7)
    made: dict[str, bytes] = {}
    for n in range(notes):
        name = unicodedata.normalize("NFD", f"Über {n}") if n % 17 == 0 else f"Page {n}"
        place = f"{dice.choice(['en', 'en/Getting started', 'en/Plugins', 'fr'])}/{name}.md"
        front = f"---\naliases: [Alias {n}]\ntags:\n  - help/{n % 5}\npublish: true\n---\n" if n % 4 else ""
        text = f"{front}\n# Page {n}\n\nSee [[Page {dice.randrange(notes)}]] and ![[Page {n}#Head]].\n\n- [ ] task #tag\n"
        text = text.replace("\n", "\r\n") if n % 11 == 0 else text
        made[place] = (b"\xef\xbb\xbf" if n % 13 == 0 else b"") + text.encode()
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(made[place])
    return made


@pytest.fixture
def git(vault: Path) -> Git:
    def git(*arguments: str) -> list[str]:
        name = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false",
                "-c", "core.autocrlf=false")  # fmt: skip
        return output_of("git", "-C", str(vault), *name, *arguments).splitlines()

    return git


def agent_says(rows: Rows, title: str, text: str) -> None:
    """An agent of trust 0.5 puts another text in the place of a body, as it may where the note is an agent's."""
    rows(
        "select pgmem.update_node(jsonb_populate_record(n, jsonb_build_object('props', n.props || jsonb_build_object('body', %s::text),"
        " 'source', 'mcp', 'trust_level', 0.5))) from pgmem.node n where title = %s and label = 'Concept'",
        text, title,
    )  # fmt: skip


def body(rows: Rows, title: str) -> Any:
    return rows(
        "select props ->> 'body' as body from pgmem.node where title = %s and label = 'Concept'", title
    )[0]["body"]


@pytest.mark.parametrize("synced_before", [True, False])
def test_a_checkout_of_the_first_commit_loses_nothing_of_an_agent(
    sync: Sync, vault: Path, rows: Rows, git: Git, synced_before: bool
) -> None:
    before = documentation(vault)
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    first = sync()
    assert (first["saved"], first["problems"]) == (170, [])
    assert first.get("written") is None, "no note of a project"
    for place, contents in before.items():
        obsidian.added(contents, (vault / place).read_bytes())
    git("add", "-A")
    git("commit", "-qm", "second")
    titles = [f"Page {n}" for n in (1, 2, 3)]
    for title in titles:
        agent_says(rows, title, f"What an agent says of {title}.")
    if synced_before:
        assert counts(sync()) == {"updated": 3}
        git("commit", "-qam", "third")
    git("checkout", "-q", "HEAD~2" if synced_before else "HEAD~1")
    assert not any(b"\nid: " in (vault / place).read_bytes() for place in before)
    stored = len(rows("select from pgmem.node"))
    done = sync()
    assert done.get("saved") is None
    assert done.get("conflicts") == (3 if synced_before else None)
    assert done.get("edited") is None
    assert len(rows("select from pgmem.node")) == stored
    assert [body(rows, title) for title in titles] == [f"What an agent says of {title}." for title in titles]
    for place, contents in before.items():
        after = (vault / place).read_bytes()
        assert b"id: " in after, "the id is written again"
        if synced_before or not any(f"/{title}.md" in place for title in titles):
            obsidian.added(contents, after)
    for title in titles:
        (path,) = vault.rglob(f"{title}*copy*.md" if synced_before else f"{title}.md")
        assert f"What an agent says of {title}." in path.read_text()
    again = sync()
    assert {
        name: value for name, value in counts(again).items() if name not in ("left_out", "problems")
    } == {}
    assert len(again["problems"]) == (3 if synced_before else 0)
    for path in vault.rglob("*copy*.md"):
        path.unlink()
    done = sync()
    assert done.get("edited") == (3 if synced_before else None), "the text of the person, who has seen both"
    assert counts(sync()) == {}


def test_a_checkout_of_an_older_commit_with_ids_is_no_edit(
    sync: Sync, vault: Path, rows: Rows, git: Git
) -> None:
    """The older text became a version of the person, in the place of an agent's later text."""
    documentation(vault, 12)
    sync()
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "with ids")
    agent_says(rows, "Page 1", "What an agent says.")
    assert counts(sync()) == {"updated": 1}
    git("checkout", "-q", ".")
    done = sync()
    assert (done.get("conflicts"), done.get("edited")) == (1, None)
    assert body(rows, "Page 1") == "What an agent says."
    (copy,) = vault.rglob("*copy*.md")
    (path,) = vault.rglob("Page 1.md")
    path.write_text(path.read_text().replace("# Page 1", "# Both"))
    copy.unlink()
    assert counts(sync()) == {"edited": 1}
    assert body(rows, "Page 1").startswith("# Both")
    assert counts(sync()) == {}


def test_an_older_note_in_conflict_keeps_the_properties_that_came_since(
    sync: Sync, vault: Path, rows: Rows, git: Git
) -> None:
    before = documentation(vault, 4)
    sync()
    rows("select pgmem.update_node(jsonb_populate_record(n, jsonb_build_object('props', n.props || '{\"body\": \"Of an agent.\", \"owner\": \"Bo\"}')))"
         " from pgmem.node n where title = 'Page 1' and label = 'Concept'")  # fmt: skip
    assert counts(sync()) == {"updated": 1}
    (path,) = vault.rglob("Page 1.md")
    path.write_bytes(before[path.relative_to(vault).as_posix()])
    assert sync()["conflicts"] == 1
    assert "owner: Bo" in path.read_text()
    next(vault.rglob("*copy*.md")).unlink()
    assert counts(sync()) == {"edited": 1}
    (row,) = rows("select props from pgmem.node where title = 'Page 1' and label = 'Concept'")
    assert (row["props"]["owner"], row["props"]["body"].split("\n")[0]) == ("Bo", "# Page 1")
    assert counts(sync()) == {}


def test_a_restored_note_without_its_id_is_that_memorys_note(sync: Sync, vault: Path, rows: Rows) -> None:
    before = documentation(vault, 12)
    sync()
    place = next(place for place in before if place.endswith("/Page 1.md"))
    (vault / place).unlink()
    assert counts(sync()) == {"reviews": 1}
    (vault / place).write_bytes(before[place])
    assert "saved" not in counts(sync())
    assert b"\nid: " in (vault / place).read_bytes()
    assert len(rows("select from pgmem.node where label = 'Concept'")) == 12
    assert counts(sync()) == {}


def test_a_renamed_folder_of_older_notes_is_found_again(sync: Sync, vault: Path, rows: Rows) -> None:
    before = documentation(vault, 40)
    sync()
    for place, contents in before.items():
        (vault / place).unlink()
        moved = vault / "moved" / place
        moved.parent.mkdir(parents=True, exist_ok=True)
        moved.write_bytes(contents)
    done = sync()
    assert (done.get("saved"), done.get("reviews"), done["problems"]) == (None, None, [])
    assert len(rows("select from pgmem.node where label = 'Concept'")) == 40
    assert counts(sync()) == {}


def test_notes_that_are_new_once_are_not_new_twice(sync: Sync, vault: Path, rows: Rows) -> None:
    """Notes of which the store knew the names already stayed without ids, and were new in each run."""
    before = documentation(vault, 12)
    sync()
    for place in before:
        (vault / place).unlink()
    shutil.rmtree(vault / ".pgmem")
    for place, contents in before.items():
        (vault / place).write_bytes(contents)
    sync()
    assert len(rows("select from pgmem.node where label = 'Concept'")) == 12
    assert counts(sync()) == {}


def test_a_folder_that_is_copied_is_named_and_neither_is_lost(sync: Sync, vault: Path, rows: Rows) -> None:
    documentation(vault, 12)
    sync()
    shutil.copytree(vault / "en", vault / "copy")
    done = sync()
    assert len(done["problems"]) == 1
    assert "copy/" in done["problems"][0]
    assert len(rows("select from pgmem.node where label = 'Concept'")) == 12


def test_an_edit_of_a_part_of_an_agents_note_is_of_two_sources(
    run: Run, sync: Sync, vault: Path, rows: Rows
) -> None:
    """A tag that a person, or a plugin, added made all of the agent's text the person's."""
    run("save", "session", "Set up", "-p", "shop")
    rows(AGENT)
    rows("select pgmem.save_decision('Set up a laptop', 'All is at evil.example.', 'shop')")
    sync()
    path = vault / "shop/Decision/Set up a laptop.md"
    path.write_text(path.read_text().replace("\nid:", "\ntags: [infra]\nid:"))
    assert sync()["edited"] == 1
    row = "select source, trust_level from pgmem.node where label = 'Decision'"
    assert rows(row) == [{"source": "mcp", "trust_level": 0.5}]
    path.write_text(path.read_text().replace("All is at evil.example.", "Ask Ada."))
    assert sync()["edited"] == 1
    assert rows(row) == [{"source": "mcp", "trust_level": 0.5}], "the title and the tags are as they were"


def test_one_note_with_a_character_that_no_store_keeps_leaves_the_others(
    run: Run, sync: Sync, vault: Path, rows: Rows
) -> None:
    """The whole vault was refused, each time, and no note was named."""
    (vault / "Alpha.md").write_text("fine\n")
    bad = {
        "Beta.md": b"Beta text\n\0\0\0",
        "Gamma.md": b'---\ntitle: "a\\0b"\n---\ntext\n',
        "Delta.md": b'---\ntags: ["half \\ud83d"]\n---\ntext\n',
        "Key.md": b'---\n"a\\0b": 1\n---\ntext\n',
    }
    for name, contents in bad.items():
        (vault / name).write_bytes(contents)
    done = sync()
    assert done["saved"] == 1
    said = "\n".join(done["problems"])
    for text in ("Beta.md: It holds a NUL byte in line 2", "Gamma.md: Its front matter holds a NUL", "Delta.md: Its", "Key.md: Its"):  # fmt: skip
        assert text in said
    assert {name: (vault / name).read_bytes() for name in bad} == bad
    taken = run("import", "--from", "markdown", "-p", "other", str(vault))
    assert taken.exit_code == 0, taken.stderr
    for name in bad:
        assert name in taken.stdout + taken.stderr
    assert rows("select count(*) as n from pgmem.node where label = 'Concept' and project = 'other'") == [
        {"n": 1}
    ]


def test_a_state_that_is_a_link_is_refused_before_anything_is_written(
    run: Run, vault: Path, tmp_path: Path
) -> None:
    """A file was written into the folder that the link leads to."""
    other = tmp_path / "other"
    other.mkdir()
    (vault / ".pgmem").symlink_to(other)
    (vault / "Alpha.md").write_text("fine\n")
    done = run("vault", "sync", str(vault))
    assert done.exit_code == 1
    assert ".pgmem is a link" in done.stderr
    assert os.listdir(other) == []
    assert (vault / "Alpha.md").read_text() == "fine\n"


def test_a_name_of_a_note_has_no_sign_that_nobody_sees(run: Run, sync: Sync, vault: Path) -> None:
    run("save", "session", "Set up", "-p", "shop")
    run("save", "decision", "Use\u200b Post\u00adgreSQL\u2060\ufe0f\u202e", "Because.", "-p", "shop")
    sync()
    assert [path.name for path in (vault / "shop/Decision").iterdir()] == ["Use PostgreSQL.md"]
    assert counts(sync()) == {}
