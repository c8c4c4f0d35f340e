"""The count of function calls: the comparison, and the message about a verb whose work has grown."""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.calls import grown
from benchmarks.counted import Counts


def figures(python: float, **functions: float) -> dict[str, Any]:
    return {
        "verbs": {
            "save_decision": {
                "python": python,
                "functions": functions,
                "server": 10,
                "sql_functions": {"pgmem.save": 10},
            }
        }
    }


def test_three_per_cent_more_calls_are_named_with_the_functions_that_grew() -> None:
    then, now = figures(100, send=40, read=60), figures(110, send=49, read=60, check=1)
    assert grown(now, then) == [
        "save_decision: 100 function calls of the client became 110: send +9, check +1",
    ]
    assert grown(figures(103, send=43, read=60), then) == []
    assert grown(then, now) == []


def test_more_calls_in_the_server_are_named_too() -> None:
    then, now = figures(100), figures(100)
    now["verbs"]["save_decision"] |= {"server": 12, "sql_functions": {"pgmem.save": 10, "pgmem.tokens": 2}}
    assert grown(now, then) == ["save_decision: 10 function calls of the server became 12: pgmem.tokens +2"]


def test_python_functions_are_counted_by_name_and_those_in_c_together() -> None:
    counts = Counts()

    def inner() -> int:
        return len("abc")

    sys.setprofile(counts)
    inner()
    inner()
    sys.setprofile(None)
    assert [n for name, n in counts.by_name().items() if name.endswith("inner")] == [2]
    assert counts.c >= 2
