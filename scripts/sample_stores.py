"""Stores of three kinds for the pictures of the pages: a shop, a code repository, a conversation.

Each is a list of steps on the clock of its story; the shop is that of the hooks' benchmark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from sample_store import Step

ROOT = Path(__file__).parent.parent


def _step(days: float, agent: str, session: str, verb: str, /, **arguments: Any) -> Step:
    return days, agent, session, verb, arguments


def shop(_: Path | None) -> list[Step]:
    """Half a year of a shop: decisions, two of them replaced, a conflict, a review, and what was said yesterday."""
    kept = json.loads((ROOT / "benchmarks" / "prompts.json").read_text())["sets"][0]["stores"]["bikes"]
    story = []

    def save(days: float, verb: str, /, **arguments: Any) -> None:
        session = f"s-{int(180 - days) // 12:02}"
        agent = ("claude-code", "codex")[int(days) % 2]
        story.append(_step(days, agent, session, verb, project_id="bikes", **arguments))

    save(175, "save_session", objective="Open the shop", actions_taken=["made the repository"])
    for place, (title, rationale) in enumerate(kept["decisions"]):
        save(174 - 9 * place, "save_decision", title=title, rationale=rationale)
    for place, note in enumerate(kept["notes"]):
        save(120 - 20 * place, "save_context", content=note, topic="The shop")
    save(110, "upsert_entity", entity_name="Mollie", fact="Settles daily; iDEAL and cards.")
    save(
        60,
        "upsert_entity",
        entity_name="Mollie",
        fact="Settles daily; iDEAL, cards and Bancontact since March.",
    )
    save(58, "upsert_entity", entity_name="Molly", fact="The testing account for payments.")
    save(50, "save_context", content="Always run the tests before you commit.", topic="Tests")
    steps = [
        "Copy the product with its stock",
        "Publish it hidden",
        "Compare the price with the supplier's list",
    ]
    save(45, "save_pattern", trigger="When a supplier renames a product", repeatable_steps=steps)
    agents = ("claude-code", "codex", "gemini")
    story += (_step(40, agent, "", "feedback", id="Pattern", verdict="used") for agent in agents)
    old = "Charge cards through Mollie"
    save(
        30,
        "save_decision",
        title="Charge cards through Adyen",
        rationale="One contract for all countries.",
        supersedes=old,
    )
    save(
        25,
        "save_decision",
        title="Page lists by keyset, never by number",
        rationale="Partners count pages no more.",
    )
    save(
        20,
        "save_session",
        objective="Move payments to Adyen",
        open_items=["Move the webhooks", "Inform support"],
    )
    save(
        12,
        "save_decision",
        title="Write amounts as decimal strings",
        rationale="Partners cannot read integers.",
    )
    ends = {"from_key": "Write amounts as integer cents", "to_key": "Write amounts as decimal strings"}
    labels = {"from_label": "Decision", "to_label": "Decision"}
    story.append(_step(12, "codex", "", "relate", rel_type="CONFLICTS_WITH", **ends, **labels))
    lost = {"title": "Ship to Belgium with bpost", "rationale": "Cheaper by a third.", "project_id": "bkies"}
    story.append(_step(3, "codex", "s-15", "save_decision", **lost))
    story.append(_said(1, "bikes", "claude-code", "b7e1", [
        ("user", "Please move the webhooks of payments to Adyen"),
        ("assistant", "I moved the handler and its tests.\n\nThe refund event is still open: Adyen sends it later."),
        ("user", "Good. Which events does support need?"),
        ("assistant", "Chargebacks and refunds. Support does not know it yet."),
    ]))  # fmt: skip
    return story


def _said(days: float, project: str, client: str, session: str, turns: list[tuple[str, str]]) -> Step:
    sent = [{"id": f"{session}-{n}", "role": role, "content": text} for n, (role, text) in enumerate(turns)]
    return _step(
        days,
        client,
        session,
        "capture_turns",
        client=client,
        session_id=session,
        turns=sent,
        project_id=project,
    )


def repository(root: Path | None) -> list[Step]:
    """Decisions of agents on a repository; its cards come from `pgmem cards init`."""
    assert root is not None, "a repository is read from its folder"
    name = root.name

    def save(days: float, verb: str, /, **arguments: Any) -> Step:
        return _step(days, "claude-code", f"r-{int(days)}", verb, project_id=name, **arguments)

    return [
        save(40, "save_session", objective="Read the code base", actions_taken=["ran the tests"]),
        save(39, "save_decision", title="Support the last four versions of Python", rationale="As upstream does."),
        save(30, "save_decision", title="Type hints in public modules", rationale="Editors of users complete by them."),
        save(12, "save_decision", title="Type hints in all modules", rationale="mypy found a bug in a private one."),
        save(5, "save_context", content="Always run the linters before you commit.", topic="Linters"),
        save(4, "remember", label="Problem", properties={"title": "Colours are lost in CI", "summary": "No terminal."}),
        _said(2, name, "claude-code", "c0de", [
            ("user", "Why are colours lost in CI?"),
            ("assistant", "The stream is not a terminal there. It remains open whether the flag should win."),
        ]),
    ]  # fmt: skip


def conversation(file: Path | None) -> list[Step]:
    """The first conversation of LoCoMo: what was observed of each person, and what they said."""
    assert file is not None, "a conversation is read from a file"
    data = json.loads(file.read_text())[0]
    talk, story = data["conversation"], []
    sessions = [n for n in range(1, 40) if f"session_{n}" in talk]
    times = {n: datetime.strptime(talk[f"session_{n}_date_time"], "%I:%M %p on %d %B, %Y") for n in sessions}
    for n in sessions:
        days = (times[sessions[-1]] - times[n]).total_seconds() / 86400 + 2
        session = f"talk-{n:02}"
        story.append(
            _step(
                days,
                "chat",
                session,
                "save_session",
                objective=data["session_summary"][f"session_{n}_summary"][:200],
                project_id="friends",
            )
        )
        turns = [
            ("user" if t["speaker"] == talk["speaker_a"] else "assistant", t["text"])
            for t in talk[f"session_{n}"]
        ]
        story.append(_said(days, "friends", "chat", session, turns))
        for person, seen in data["observation"][f"session_{n}_observation"].items():
            for text, _ in seen:
                story.append(
                    _step(
                        days,
                        "chat",
                        session,
                        "save_context",
                        content=text,
                        topic=person,
                        project_id="friends",
                    )
                )
    return story


STORES: Mapping[str, Callable[[Path | None], list[Step]]] = {
    "shop": shop,
    "repository": repository,
    "conversation": conversation,
}
