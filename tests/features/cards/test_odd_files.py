"""Files and names that no one expects: none of them ends a reading, and every other file is still known."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pgmem import Memory
from pgmem.features.cards import decisions, languages, scan
from pgmem.settings import load
from pgmem.workspace.git import Git as Repository
from tests.features.cards.conftest import Committed, Git
from tests.features.cards.test_git_history import shop_tree

__all__ = ["shop_tree"]

ODD = (
    *(f"EMPTY{suffix}".encode() for suffix in (".md", ".rst", ".txt", ".adoc", ".py", ".ts", ".ipynb")),
    *(b"a:b.py", b"new\nline.py", b"byte\x01.py", b"caf\xe9.dat", b"caf\xe9.py", b" lead.py", b"c:drive.md"),
    *(b"back\\slash.py", b"x" * 200 + b".py"),
)


def odd_files(root: Path) -> None:
    for name in ODD:
        with open(os.path.join(os.fsencode(root), name), "wb"):
            pass
    (root / "bom.md").write_bytes(b"\xef\xbb\xbf")
    (root / "wide.py").write_bytes("x = 1\n".encode("utf-16"))
    (root / "binary.py").write_bytes(bytes(range(256)) * 40)
    (root / "long.py").write_bytes(b"x = '" + b"a" * 1_900_000 + b"'\n")
    (root / "lines.py").write_text("x = 1\n" * 200_000, encoding="utf-8")
    deep = root / "/".join("d" * 1 for _ in range(200))
    deep.mkdir(parents=True)
    (deep / "deep.py").write_text("x = 1\n", encoding="utf-8")


@pytest.mark.anyio
@pytest.mark.parametrize("tracked", [True, False])
async def test_odd_files_end_neither_a_first_reading_nor_an_answer_nor_a_refresh(
    dsn: str, tmp_path: Path, shop_tree: Path, git: Git, tracked: bool
) -> None:
    odd_files(shop_tree)
    (shop_tree / "link.py").symlink_to("/dev/zero")
    if tracked:
        git("add", "-A", day=11)
        git("commit", "-q", "-m", "Odd.", day=11)
        (shop_tree / "bom.md").unlink()
        (shop_tree / "bom.md").mkdir()  # a tracked file that is a folder now
        (shop_tree / "EMPTY.py").unlink()
        os.mkfifo(shop_tree / "EMPTY.py")  # and one that is a pipe
    settings = load(dsn=dsn, data_dir=tmp_path / "data", embedding_provider="none", repository=shop_tree)
    async with Memory.connect(settings) as memory:
        first = await memory.get_relevant_memory("shop", ["pkg/till.py", "EMPTY.md"])
        (shop_tree / "pkg/till.py").write_text("x = 1\n", encoding="utf-8")
        second = await memory.get_relevant_memory("shop", ["pkg/till.py"])
    for found in (first, second):
        assert found.digests is not None
        assert {card.kind for card in next(d for d in found.digests if d.path == "pkg/till.py").cards} >= {
            "changes_with",
            "tests",
        }
    assert (first.memory_sync.auto, second.memory_sync.auto) == ("bootstrapped", "refreshed")


def test_names_that_no_card_can_be_about_are_listed_once(shop_tree: Path) -> None:
    odd_files(shop_tree)
    made = scan(shop_tree)
    skipped = [line for line in made["skipped"] if "not a printable name" in line or "another path" in line]
    assert len(skipped) == 8
    assert all(path.isprintable() for path in (*made["files"], *made["renames"], *made["renames"].values()))


def test_a_file_that_a_parser_cannot_bear_is_a_line_and_no_end(
    shop_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: str, text: str) -> None:
        raise ZeroDivisionError(path + text)

    monkeypatch.setattr(decisions, "rules", broken)
    (shop_tree / "NOTES.md").write_text("# Notes\n", encoding="utf-8")
    made = scan(shop_tree)
    assert "NOTES.md: cannot be parsed (ZeroDivisionError); only its name is kept" in made["skipped"]
    assert "pkg/till.py" in made["facts"]


def test_a_clone_without_contents_keeps_its_history(
    committed: Committed, shop_tree: Path, git: Git, tmp_path: Path
) -> None:
    """Renames of changed files need contents, which git may not fetch; those of unchanged files are known."""
    text = (shop_tree / "pkg/till.py").read_text(encoding="utf-8")
    committed({"pkg/till.py": None, "pkg/desk.py": f"{text}# more\n"}, "Call it desk.", day=11)
    committed({"pkg/desk.py": None, "pkg/till.py": text}, "Call it till again.", day=12)
    git("config", "uploadpack.allowFilter", "true")
    copy = tmp_path / "copy"
    subprocess.run(
        ["git", "clone", "-q", "--filter=blob:none", f"file://{shop_tree}", str(copy)],
        check=True,
        capture_output=True,
    )
    made = scan(copy)
    assert made["facts"]["pkg/till.py"]["commits"] >= 2
    assert any("only renames of unchanged files are known" in line for line in made["skipped"])


def test_a_message_that_is_no_text_and_a_split_file_are_read(
    committed: Committed, git: Git, tmp_path: Path
) -> None:
    root = tmp_path / "shop"
    for day in range(1, 6):
        committed({"a.py": f"x = {day}\ny = 2\nz = 3\n"}, "Work.", day=day)
    committed({"a.py": None, "sansio.py": "x = 5\ny = 2\nz = 3\n"}, "Move.", day=6)
    committed({"a.py": "fresh = 1\n"}, "Begin again.", day=7)
    (root / "message").write_bytes(
        b"Caf\xe9\n\nThe bytes of this message are not text, because nobody asked git to check them.\n"
    )
    git("-c", "i18n.commitEncoding=bogus", "commit", "-q", "--allow-empty", "-F", "message", day=8)
    made = scan(root)
    assert made["facts"]["a.py"]["commits"] == 6  # a split belongs to both
    assert made["facts"]["sansio.py"]["commits"] == 6
    assert [commit.subject for commit in Repository(root).log()][1] == "Begin again."


def test_files_that_an_extra_would_parse_are_counted(
    shop_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop_tree / "a.ts").write_text("export const a = 1\n", encoding="utf-8")
    monkeypatch.setattr(languages, "available", lambda suffix: False)
    assert "1 file is not parsed: install pgmem-agent[languages]" in scan(shop_tree)["skipped"]


def known(root: Path, path: str = "pkg/till.py") -> set[str]:
    """The facts of a reading about a file."""
    return set(scan(root)["facts"][path])


def test_every_state_of_a_work_tree_is_read(
    shop_tree: Path, committed: Committed, git: Git, tmp_path: Path
) -> None:
    """Detached, another work tree, sparse, a folder within, replaced commits, conflicts in the index, no commit."""
    usual = known(shop_tree)
    assert usual >= {"companions", "tests", "owners"}
    git("checkout", "-q", "--detach")
    assert known(shop_tree) == usual
    git("worktree", "add", "-q", str(tmp_path / "other"), "main")
    assert known(tmp_path / "other") == usual
    git("-C", str(tmp_path / "other"), "sparse-checkout", "set", "pkg")
    assert known(tmp_path / "other") == usual - {"tests"}  # which are not there
    assert known(shop_tree / "pkg", "till.py") >= {"owners", "commits"}
    replaced = git("rev-parse", "HEAD~1").strip()
    git("replace", replaced, "HEAD~2")
    assert known(shop_tree) >= {"companions", "tests"}
    git("replace", "-d", replaced)
    git("switch", "-q", "-c", "side", "HEAD~3")
    committed({"pkg/till.py": "x = 'side'\n"}, "Side.", day=20)
    with pytest.raises(subprocess.CalledProcessError):
        git("merge", "-q", "main")
    assert [line.partition(" ")[0] for line in scan(shop_tree)["skipped"]] == ["pkg/till.py:"]
    empty = tmp_path / "empty"
    empty.mkdir()
    git("init", "-q", cwd=empty)
    (empty / "a.py").write_text("x = 1\n", encoding="utf-8")
    assert list(scan(empty)["files"]) == ["a.py"]


def test_a_history_of_renames_merges_and_long_messages_is_read(git: Git, tmp_path: Path) -> None:
    """1 500 files that are renamed four times, 300 merges, one of many parents, and a message of a megabyte."""
    stream, mark = [], 0

    def commit(changes: str, message: str = "Work.", branch: str = "main", *parents: int) -> int:
        nonlocal mark
        mark += 1
        named = "".join(f"{'merge' if place else 'from'} :{one}\n" for place, one in enumerate(parents))
        stream.append(
            f"commit refs/heads/{branch}\nmark :{mark}\ncommitter Ada <a@b> {1_700_000_000 + 60 * mark} +0000\n"
            f"data {len(message)}\n{message}\n{named}{changes}\n"
        )
        return mark

    files = "".join(f"M 644 inline d0/f{n}.py\ndata {len(f'x = {n}')}\nx = {n}\n" for n in range(1_500))
    tip = commit(files)
    for step in range(4):
        tip = commit(f"R d{step} d{step + 1}\n", "Move.", "main", tip)
    tip = commit("M 644 inline a.py\ndata 2\n1\n\n", "Long.\n\n" + "word " * 200_000, "main", tip)
    for number in range(300):
        side = commit(f"M 644 inline a.py\ndata 4\n{number:04}\n", f"Part {number}.", "side", tip)
        tip = commit("", f"Merge pull request #{number} from side", "main", tip, side)
    sides = [commit(f"M 644 inline s{n}.py\ndata 1\n1\n", "Side.", f"side{n}", tip) for n in range(8)]
    commit("", "Merge all.", "main", tip, *sides)
    root = tmp_path / "shop"
    subprocess.run(["git", "fast-import", "--quiet"], cwd=root, input="".join(stream).encode(), check=True)
    git("reset", "-q", "--hard")
    made = scan(root)
    assert len(made["files"]) == 1_501
    assert made["facts"]["d4/f7.py"]["commits"] == 5
    assert made["facts"]["a.py"]["commits"] == 301
    assert len([one for one in made["work"] if one["subject"].startswith("Part ")]) == 300
