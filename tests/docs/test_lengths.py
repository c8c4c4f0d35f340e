"""How long a function may be, so that a reader sees the whole of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
GENERATED = {
    f"pgmem/{name}" for name in ("_verbs.py", "sync/methods.py", "calls/methods.py", "calls/admin.py")
}
LONGER = {"rank_memories"}
"""The statement of search: one ranking in one place."""


def test_no_function_in_sql_has_more_than_120_lines() -> None:
    found = {}
    for path in (ROOT / "sql").glob("*/*.sql"):
        for part in re.split(r"^create or replace (?=function)", path.read_text("utf-8"), flags=re.M)[1:]:
            text = part.partition("\ncomment on ")[0]
            found[re.findall(r"pgmem\.(\w+)", text)[0]] = text.count("\n")
    assert len(found) > 400
    assert {name: lines for name, lines in found.items() if lines > 120}.keys() == LONGER


def test_no_function_in_python_has_more_than_60_lines() -> None:
    found = {}
    for path in (*(ROOT / "pgmem").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")):
        if str(path.relative_to(ROOT)) in GENERATED:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                found[f"{path.relative_to(ROOT)}: {node.name}"] = node.end_lineno - node.lineno + 1
    assert len(found) > 1000
    assert {name: lines for name, lines in found.items() if lines > 60} == {}
