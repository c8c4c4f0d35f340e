"""The bounded text arm beside the full one: the texts that are read, and that the figures show a difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import texts
from pgmem import Memory
from pgmem.settings import load

pytestmark = pytest.mark.anyio

CONTROL = """Package: zoo
Version: 1
Description: find animals in archives
 The tool reads archives
 and lists animals.
Section: misc

Package: bar
Description-en: draw bars
Tag: a::b
"""


def test_package_descriptions_and_lines_are_read(tmp_path: Path) -> None:
    control, lines = tmp_path / "control", tmp_path / "lines"
    control.write_text(CONTROL, encoding="utf-8")
    lines.write_text("one text\n\n another text \nthird\n", encoding="utf-8")
    assert texts.read(control, 9) == [
        "zoo: find animals in archives The tool reads archives and lists animals.",
        "bar: draw bars",
    ]
    assert texts.read(lines, 2) == ["one text", "another text"]
    (tmp_path / "nothing").write_text("\n\n", encoding="utf-8")
    with pytest.raises(ValueError, match="holds no text"):
        texts.read(tmp_path / "nothing", 3)


async def test_a_bound_that_cuts_off_good_answers_shows(tmp_path: Path, dsn: str) -> None:
    """Forty texts hold both words; a bound of three candidates loses most of the best ten, the store's loses none."""
    file = tmp_path / "texts"
    file.write_text(
        "".join(f"{'river ' * (1 + i % 5)}bridge number {i}\n" for i in range(40)), encoding="utf-8"
    )
    async with Memory.connect(load(dsn=dsn, embedding_provider="none")) as memory:
        kept = await texts.run(memory, file, asked=5)
        limits = {row.name: row.value for row in await memory.list_settings()}
        assert (kept["texts"], kept["queries"], kept["kept"]) == (40, 5, 1.0)
        for name in ("text_candidate_limit", "text_match_limit"):
            await memory.admin.set_setting(name, "3")
        few = await texts.run(memory, file, asked=5)
    assert few["kept"] < 0.9
    assert limits["text_match_limit"] == "2000"
