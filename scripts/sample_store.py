"""The memories of a small team, saved by its agents and one person, which the pictures of the docs show."""

from __future__ import annotations

from typing import Any

from pgmem import Memory

__all__ = ["STORY", "act"]

Step = tuple[float, str, str, str, dict[str, Any]]

_HARBOUR = "harbour"
_TIDE = "tide"


def _decision(
    days: float, agent: str, session: str, title: str, rationale: str, project: str = _HARBOUR
) -> Step:
    return (
        days,
        agent,
        session,
        "save_decision",
        {"title": title, "rationale": rationale, "project_id": project},
    )


def _session(
    days: float, agent: str, session: str, objective: str, done: list[str], project: str = _HARBOUR
) -> Step:
    arguments = {"objective": objective, "project_id": project, "actions_taken": done}
    return days, agent, session, "save_session", arguments


def _fact(days: float, agent: str, session: str, name: str, fact: str, project: str = _HARBOUR) -> Step:
    return days, agent, session, "upsert_entity", {"entity_name": name, "fact": fact, "project_id": project}


def _note(days: float, agent: str, session: str, topic: str, content: str, project: str = _HARBOUR) -> Step:
    return days, agent, session, "save_context", {"topic": topic, "content": content, "project_id": project}


def _relate(days: float, source: tuple[str, str], relation: str, target: tuple[str, str]) -> Step:
    return (
        days,
        "mara",
        "",
        "relate",
        {
            "from_label": source[0],
            "from_key": source[1],
            "rel_type": relation,
            "to_label": target[0],
            "to_key": target[1],
        },
    )


STORY: tuple[Step, ...] = (
    _session(
        176, "claude", "s-01", "Set up the booking service", ["made the repository", "wrote the first routes"]
    ),
    _decision(
        176,
        "claude",
        "s-01",
        "Keep bookings in PostgreSQL",
        "Bookings, berths and invoices change together; one transaction keeps them right. The team runs"
        " PostgreSQL already.",
    ),
    _decision(
        175,
        "claude",
        "s-01",
        "Send mail from the web request",
        "The provider answers within 200 ms, and one process is simpler than two.",
    ),
    _fact(175, "claude", "s-01", "Mail provider", "Postmark, region EU, 10 messages a second."),
    _fact(
        174,
        "codex",
        "s-02",
        "Berth API",
        "The port authority's API for berths; it answers in XML and is down on Sundays at night.",
    ),
    _decision(
        171,
        "codex",
        "s-02",
        "Ask the berth API once a minute and keep its answer",
        "It allows 100 calls an hour, and berths change a few times a day.",
    ),
    (
        168,
        "claude",
        "s-03",
        "save_pattern",
        {
            "trigger": "A migration adds a column that is not null",
            "project_id": _HARBOUR,
            "repeatable_steps": [
                "Add it with a default",
                "Fill it in batches of 5,000",
                "Drop the default in the next release",
            ],
            "exclusions": ["Tables below 10,000 rows"],
        },
    ),
    _session(
        150,
        "codex",
        "s-04",
        "Find out why bookings hang on Mondays",
        ["read traces", "found mail in the request path"],
    ),
    _decision(
        149,
        "codex",
        "s-04",
        "Send mail from a queue",
        "On Monday mornings the provider takes up to 30 s, and every booking waited for it. A table as a queue with "
        "skip locked is enough for 10 messages a second.",
    ),
    _note(
        149,
        "codex",
        "s-04",
        "Monday mornings",
        "Between 07:00 and 09:00 half of the week's bookings arrive. Everything slow shows itself then.",
    ),
    _fact(
        148,
        "codex",
        "s-04",
        "Mail provider",
        "Postmark, region EU, 10 messages a second; up to 30 s on Monday mornings.",
    ),
    _decision(
        131,
        "claude",
        "s-05",
        "Money is whole cents with a currency",
        "Floats lost a cent in three invoices of March; the tax office counts cents.",
    ),
    _fact(
        120,
        "claude",
        "s-05",
        "Invoice run",
        "Every night at 02:00; it takes eleven minutes for 4,000 invoices.",
    ),
    _session(
        97,
        "claude",
        "s-06",
        "Move the invoices to the new tax rules",
        ["added the reduced rate", "tested with last year's data"],
    ),
    _decision(
        96,
        "claude",
        "s-06",
        "The tax rate is a property of the line, not of the invoice",
        "From July on one invoice may hold two rates.",
    ),
    _decision(
        88,
        "codex",
        "s-07",
        "Send mail from a queue with retries",
        "Some messages were lost when the worker restarted: a message is now tried five times within an hour, then"
        " shown to a person.",
    ),
    _note(
        87,
        "codex",
        "s-07",
        "The worker's shutdown",
        "It has ten seconds after SIGTERM; a message in flight goes back to the queue.",
    ),
    _session(
        60, "claude", "t-01", "Draw the tide tables", ["read the format of the hydrographic office"], _TIDE
    ),
    _decision(
        60,
        "claude",
        "t-01",
        "Compute tides ahead for one year",
        "The constituents change once a year.",
        _TIDE,
    ),
    _fact(
        59,
        "claude",
        "t-01",
        "Hydrographic office",
        "Publishes the constituents on the first of December.",
        _TIDE,
    ),
    _decision(
        45,
        "claude",
        "t-02",
        "Cache the tables at the edge for a day",
        "They are the same for everybody.",
        _TIDE,
    ),
    _fact(
        41,
        "codex",
        "s-08",
        "Berth API v2",
        "The port authority's new API for berths: JSON, and it answers on Sundays too.",
    ),
    _decision(
        40,
        "codex",
        "s-08",
        "Subscribe to the berth API instead of asking it",
        "Version 2 sends changes as they happen; the minute of delay led to two double bookings in May.",
    ),
    _relate(
        40,
        ("Decision", "Subscribe to the berth API instead of asking it"),
        "CONFLICTS_WITH",
        ("Decision", "Ask the berth API once a minute and keep its answer"),
    ),
    (
        39,
        "codex",
        "s-08",
        "remember",
        {
            "label": "Problem",
            "project_id": _HARBOUR,
            "properties": {
                "title": "Double bookings in May",
                "summary": "Two yachts got berth 14 within the same minute.",
            },
            "relations": {
                "SOLVED_BY": [{"name": "Berth API v2", "label": "EntityFact"}],
                "INVOLVES": [{"name": "Berth API", "label": "EntityFact"}],
            },
        },
    ),
    (
        38,
        "codex",
        "s-08",
        "remember",
        {
            "label": "Technology",
            "project_id": _HARBOUR,
            "properties": {"name": "PostgreSQL", "summary": "One server, 16 GB, nightly backups."},
        },
    ),
    (
        37,
        "codex",
        "s-08",
        "remember",
        {
            "label": "Technology",
            "project_id": _HARBOUR,
            "properties": {"name": "Worker", "summary": "One process that sends mail and runs the invoices."},
            "relations": {
                "USES": [{"name": "PostgreSQL", "label": "Technology"}],
                "DEPENDS_ON": [{"name": "Mail provider", "label": "EntityFact"}],
            },
        },
    ),
    _session(
        21, "claude", "s-09", "Prepare the summer release", ["went through the open items", "wrote the notes"]
    ),
    _decision(
        20,
        "claude",
        "s-09",
        "Release on Tuesdays",
        "Mondays are the busiest day, and on Fridays nobody is there to look after it.",
    ),
    _fact(12, "claude", "s-09", "Postmark", "Our provider of mail; invoices go through its second stream."),
    _decision(
        9,
        "codex",
        "s-10",
        "Send mail from a queue with retries and a dead-letter table",
        "After five tries a message goes to its own table, so that the queue stays short and a person sees what"
        " failed.",
    ),
    _note(
        6,
        "codex",
        "s-10",
        "Where to look when mail is late",
        "First the depth of the queue, then the dead-letter table, then Postmark's status page.",
    ),
    _decision(
        2,
        "claude",
        "s-11",
        "Release on Wednesdays after the nightly run",
        "On Tuesdays the invoice run of Monday is still being checked; on Wednesday morning the numbers are settled.",
    ),
    (
        1.2,
        "claude",
        "s-11",
        "save_decision",
        {
            "title": "Money is whole cents with currency codes",
            "project_id": _HARBOUR,
            "rationale": "Whole cents lost a cent in two invoices when rates were mixed; the currency follows"
            " ISO 4217.",
        },
    ),
    (1.1, "claude", "", "set", {"name": "approval", "value": "person"}),
    (
        0.9,
        "claude",
        "s-11",
        "save_decision",
        {
            "title": "Write to people in their own language",
            "project_id": _HARBOUR,
            "scope": "global",
            "rationale": "Three harbours answered twice as often when they were written to in German or Dutch.",
        },
    ),
    (
        0.5,
        "codex",
        "s-12",
        "record_candidate",
        {
            "record_type": "risk_note",
            "statement": "retry_after() adds the delay to the local time: around the change of the clocks a "
            "message may be tried an hour late.",
            "subject_path": "harbour/mail/queue.py",
            "project_id": _HARBOUR,
            "evidence": [
                {"kind": "code", "ref": "harbour/mail/queue.py:88"},
                {"kind": "test", "ref": "tests/mail/test_retry.py"},
            ],
        },
    ),
    (
        0.4,
        "codex",
        "s-12",
        "record_candidate",
        {
            "record_type": "contract_note",
            "statement": "invoice_lines() returns amounts in whole cents; callers format them.",
            "subject_path": "harbour/invoices/lines.py",
            "project_id": _HARBOUR,
            "evidence": [{"kind": "code", "ref": "harbour/invoices/lines.py:12"}],
        },
    ),
    (
        0.3,
        "codex",
        "s-12",
        "record_candidate",
        {
            "record_type": "change_rationale",
            "statement": "The queue keeps times in UTC, so that the change of the clocks moves no message.",
            "subject_path": "harbour/mail/queue.py",
            "project_id": _HARBOUR,
            "evidence": [{"kind": "code", "ref": "harbour/mail/queue.py:91"}],
            "branch": "utc-times",
            "branch_commit": "4f1c2ab",
        },
    ),
    _fact(0.25, "codex", "s-12", "Post mark", "Took 41 messages twice on 25 October."),
    _session(0.2, "codex", "s-12", "Look into late mail", ["measured the queue", "found the clock"]),
    _note(
        0.05,
        "codex",
        "s-12",
        "Late mail on 25 October",
        "The clocks went back; 41 messages were tried an hour late.",
    ),
)


async def act(memory: Memory, verb: str, arguments: dict[str, Any]) -> None:
    """Do one step of the story."""
    if verb == "set":
        await memory.set_setting(**arguments)
        return
    if verb == "feedback":  # a kind stands for the newest of it
        newest = await memory.list_memories(labels=[arguments["id"]], limit=1)
        arguments = {**arguments, "id": newest[0].id}
    await getattr(memory, verb)(**arguments)
