"""Which fact answers a question of FactConsolidation, by its words."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.facts import read


def test_a_question_is_answered_by_the_fact_that_shares_its_rare_words(tmp_path: Path) -> None:
    facts = (
        "Apple DOS was developed by Apple Inc.",
        "The company that produced Apple TV is Apple Inc.",
        "Apple DOS was developed by Nintendo.",
        "Apple DOS was developed by Apple Inc.",
        *(
            f"The company that produced the {car} is Toyota."
            for car in ("Yaris", "Corolla", "Auris", "Prius", "Mirai")
        ),
    )
    given = {
        "context": "".join(f"{number}. {fact}\n" for number, fact in enumerate(facts)),
        "questions": ["Who is the developer of Apple DOS?", "Which company produced Fanta?"],
        "answers": [["Apple Inc."], ["Coca-Cola"]],
    }
    file = tmp_path / "facts.json"
    file.write_text(json.dumps([given]))
    (found,) = read(file)
    assert [(question.newest, question.stale) for question in found.questions] == [(3, frozenset({2}))]
    assert found.left_out == 1
