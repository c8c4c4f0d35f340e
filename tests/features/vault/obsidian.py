"""Write a vault with the features of Obsidian: `python -m tests.features.vault.obsidian FOLDER [NOTES]`."""

from __future__ import annotations

import random
import sys
from pathlib import Path

PROPERTIES = (
    "status: draft\n",
    "source: https://example.org/a?b=c#d\n",
    "id: 202611250301\n",
    "title: Another title of note {n}\n",
    "aliases: [Alias {n}, 'the {n}th']\n",
    "aliases:\n  - Alias {n}\n",
    "tags:\n  - area/{n}\n  - to-read\n",
    "tags: [a, b/c]\n",
    "cssclasses: wide\n",
    "created: 2024-03-0{d}\n",
    "due: 2026-12-0{d}T10:30:00\n",
    "done: true\n",
    "rating: 4.5\n",
    "count: {n}\n",
    "empty:\n",
    'related: "[[Note {m}]]"\n',
    "up:\n- '[[Note {m}|up]]'\n- \"[[Note {n}]]\"\n",
    "quote: >-\n  folded text\n  of two lines\n",
    "long: |\n  kept\n    as it is\n",
    "# a comment\nnested: {{a: 1, b: [x, y]}}   # at its end\n",
    "publish: false\n",
    "type: Technology\n",
    "'odd key: x': \"a: b\"\n",
)
BLOCKS = (
    "# Heading {n}\n",
    "Text with a [[Note {m}]], a [[Note {m}|text]], a [[Note {m}#Heading {m}]] and a [[Nowhere {n}]].\n",
    "![[Note {m}]]\n\n![[picture {n}.png|300]]\n",
    "![[Note {m}#^block-{m}]]\n",
    "> [!warning]- A callout\n> with **text** and [[Note {m}]]\n> > [!note] nested\n",
    "A paragraph with a block id. ^block-{n}\n",
    "- [ ] a task #todo\n- [x] done 📅 2026-01-0{d}\n\t- nested\n",
    "| a | b |\n|---|:-:|\n| [[Note {m}\\|x]] | $e^{{i\\pi}}$ |\n",
    "```python\nprint('[[not a link]]')  # no #tag\n```\n",
    "%% a comment of Obsidian [[Note {m}]] %%\n",
    "==marked== ~~gone~~ #tag/{n} [^1]\n\n[^1]: A footnote.\n",
    "```dataview\nTABLE file.mtime FROM #tag\n```\n",
    "---\n\nText behind a rule, with two blanks  \nand a break\n",
    '<div class="x">html &amp; [[Note {m}]]</div>\n',
    "$$\n\\int_0^1 x\\,dx\n$$\n",
    "Umlaute äöü, 漢字, עברית, 🎉 and a\u00a0hard blank\n",
)


def write(folder: Path, notes: int = 1000, seed: int = 1) -> dict[str, bytes]:
    """Write the notes; the same seed gives the same bytes. Returns them by their places."""
    dice = random.Random(seed)
    made: dict[str, bytes] = {}
    for n in range(notes):
        names = {"n": n, "m": dice.randrange(notes), "d": dice.randint(1, 9)}
        parts = dice.sample(PROPERTIES, dice.randint(0, 6))
        keys: set[str] = set()
        front = ""
        for part in parts:
            key = part.split("\n")[-2 if part.startswith("#") else 0].split(":")[0]
            if key not in keys:
                keys.add(key)
                front += part.format(**names)
        body = "\n".join(block.format(**names) for block in dice.sample(BLOCKS, dice.randint(1, 6)))
        text = f"---\n{front}---\n{dice.choice(['', chr(10)])}{body}" if front or n % 3 == 0 else body
        text = text.rstrip("\n") if n % 7 == 0 else text
        text = text.replace("\n", "\r\n") if n % 11 == 0 else text
        contents = (b"\xef\xbb\xbf" if n % 13 == 0 else b"") + text.encode()
        place = f"{dice.choice(['', 'Projects/', 'Areas/Home & Hearth/', 'Daily/2026/'])}Note {n}.md"
        made[place] = contents
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(contents)
    (folder / ".obsidian").mkdir(exist_ok=True)
    (folder / ".obsidian" / "app.json").write_text("{}")
    (folder / "picture 1.png").write_bytes(b"\x89PNG")
    (folder / "Board.canvas").write_text('{"nodes":[]}')
    return made


OWN = (
    b"id",
    b"label",
    b"title",
    b"project",
    b"status",
    b"source",
    b"valid_from",
    b"valid_to",
    b"pgmem",
    b"---",
)


def added(before: bytes, after: bytes) -> list[bytes]:
    """Return the lines that were added to a note, in one place; an error where anything else changed or is not pgmem's."""
    bom = b"\xef\xbb\xbf"
    assert before.startswith(bom) == after.startswith(bom)
    before, after = before.removeprefix(bom), after.removeprefix(bom)
    first = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
    assert after.endswith(before[first:]), (before, after)
    new = after[first : len(after) - len(before) + first]
    start = after.rfind(b"\n", 0, first) + 1 if first else 0
    lines = after[start : start + len(new)].splitlines()
    assert all(line.split(b":")[0].strip() in OWN for line in lines), lines
    return lines


if __name__ == "__main__":
    print(f"{len(write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1000))} notes written")
