"""route_analysis: words decide, not substrings; ties are sequential."""

from __future__ import annotations

import psycopg
import pytest

from tests.conftest import Call

DEFAULT = "default: structured multi-step analysis"
DEBATE = "task description suggests trade-off evaluation"
SOCRATIC = "task description suggests requirements discovery"


@pytest.mark.parametrize(
    ("task", "hint", "mode", "rationale"),
    [
        ("Compare A versus B trade-off", None, "debate", DEBATE),
        ("requirements are unclear", None, "socratic", SOCRATIC),
        ("Plan a strategic roadmap", None, "sequential", DEFAULT),
        ("hello", None, "sequential", DEFAULT),
        ("compare requirements", None, "sequential", DEFAULT),
        ("advs rollout", None, "sequential", DEFAULT),
        ("A vs. B", None, "debate", DEBATE),
        ("the phased-out optional chooser", None, "sequential", DEFAULT),
        ("What   do you\nmean by that?", None, "socratic", SOCRATIC),
        ("weigh the trade-offs", None, "debate", DEBATE),
        ("", None, "sequential", DEFAULT),
        ("hello", "Strategic planning", "sequential", "task_type_hint matched sequential keywords"),
        ("requirements are unclear", "debate", "debate", "task_type_hint matched debate keywords"),
        ("compare A versus B", "socratic", "socratic", "task_type_hint matched socratic keywords"),
        ("hello", "compare the unclear roadmap", "sequential", "task_type_hint matched sequential keywords"),
        ("compare", "something else", "debate", DEBATE),
        ("ÜBERVS vsé", None, "sequential", DEFAULT),
    ],
)
def test_words_choose_the_mode(call: Call, task: str, hint: str | None, mode: str, rationale: str) -> None:
    found = call("route_analysis", task_description=task, task_type_hint=hint)
    assert (found["mode"], found["rationale"]) == (mode, rationale)
    assert len(found["suggested_steps"]) == 5


@pytest.mark.parametrize(
    ("task", "first", "last"),
    [
        (
            "x",
            "Define the problem statement and success criteria.",
            "Synthesize conclusions and save durable decisions.",
        ),
        (
            "A vs B",
            "Enumerate the competing options or trade-offs.",
            "Save the final decision with confidence score.",
        ),
        (
            "unclear",
            "Identify what is unclear or ambiguous in the request.",
            "Proceed with analysis only after requirements are resolved.",
        ),
    ],
)
def test_each_mode_has_its_steps(call: Call, task: str, first: str, last: str) -> None:
    steps = call("route_analysis", task_description=task)["suggested_steps"]
    assert (steps[0], steps[-1]) == (first, last)


def test_a_text_that_is_too_long_is_refused(call: Call) -> None:
    with pytest.raises(psycopg.Error, match="task_description has 100001 characters"):
        call("route_analysis", task_description="x" * 100_001)
