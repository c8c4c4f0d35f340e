"""The quality report: a page of a health check, a hygiene report and the memories that they name.

It is one self-contained file: its stylesheet is inline, and it loads no script, font, picture or link from another
origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from pgmem.escaping import shortened
from pgmem.features.ui.charts import histogram, ticks_to, timeline
from pgmem.features.ui.layout import environment
from pgmem.kinds import REASONS
from pgmem.models import Conflict, Health, HygieneReport, LineDecision, Node

EXCERPT = 280
"""Characters of a memory's text that the page shows."""

# The properties that explain a memory, the most specific first.
_TEXTS = (*REASONS, *"summary description details statement".split())

Command = Callable[[str, Mapping[str, object], str | None], str | None]
"""The `pgmem` command that runs a verb with its arguments in a project; None if there is none."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A number at the head of the page; `warns` when it is a number of things to repair."""

    count: int
    name: str
    warns: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory as the page shows it: date and text are those of the store, None if it is not visible."""

    id: str
    title: str
    label: str | None = None
    date: date | None = None
    text: str | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: the memories it is about, how similar they are (0 to 1), and the command that repairs it."""

    entries: list[Entry]
    project: str | None
    similarity: float | None
    command: str | None


@dataclass(frozen=True, slots=True)
class Group:
    """Findings with the same check and the same advice; `command` is set when one command repairs them all."""

    check: str
    what: str
    verb: str
    findings: list[Finding]
    command: str | None = None


def references(state: Health, report: HygieneReport) -> list[tuple[str, str]]:
    """Label and id of every memory that the page shows with its date and text, each once."""
    found = [
        (finding.label or "", str(identity))
        for finding in report.findings
        if finding.check != "unresolved_saves"  # those ids are of saves
        for identity in finding.ids
    ]
    for conflict in state.conflicts.items:
        found += [("Decision", str(conflict.id)), ("Decision", str(conflict.with_id))]
    found += [("Decision", str(decision.id)) for line in state.lineage.items for decision in line]
    return list(dict.fromkeys(found))


def quality_page(state: Health, report: HygieneReport, memories: Mapping[str, Node], command: Command) -> str:
    """The report as one HTML page.

    Args:
        state: numbers, charts, conflicts, lineage and the first items of each list.
        report: the findings.
        memories: the memories of `references`, by id; the page shows those that are missing without date and
            text.
        command: gives the command that repairs a finding.
    """
    growth = timeline(state.timeline, state.checked_at.date())
    text = (
        environment()
        .get_template("report.html")
        .render(
            state=state,
            report=report,
            title=f"{state.project_id or 'All projects'}: state of the memory",
            live=sum(state.memories.values()),
            tiles=_tiles(state, report),
            timeline=growth,
            bars=histogram(state.confidence),
            confidence_ticks=ticks_to(max(state.confidence, default=0)),
            groups=_groups(report, memories, command),
            conflicts=list(_conflicts(state.conflicts.items, memories, command)),
            lines=[[_decision(decision, memories) for decision in line] for line in state.lineage.items],
        )
    )
    return text.rstrip() + "\n"


def _tiles(state: Health, report: HygieneReport) -> list[Tile]:
    return [
        Tile(sum(state.memories.values()), "live memories"),
        Tile(report.duplicates_found, "duplicates", warns=True),
        Tile(report.outdated_decisions, "outdated decisions", warns=True),
        Tile(report.obsolete_patterns, "obsolete patterns", warns=True),
        Tile(report.entity_drift_count, "entities with two names", warns=True),
        Tile(report.unresolved_saves, "unresolved saves", warns=True),
        Tile(state.conflicts.count, "conflicts", warns=True),
        Tile(state.orphans.count, "orphans"),
        Tile(state.insights.get("pending", 0), "pending insights"),
    ]


def _groups(report: HygieneReport, memories: Mapping[str, Node], command: Command) -> list[Group]:
    groups: dict[tuple[str, str, str], Group] = {}
    for finding in report.findings:
        key = (finding.check, finding.what, finding.verb)
        group = groups.setdefault(key, Group(key[0].replace("_", " "), key[1], key[2], []))
        titles = zip(finding.titles, finding.ids, strict=False)
        entries = [_entry(memories, str(i), str(title), (finding.label or "")) for title, i in titles]
        group.findings.append(
            Finding(
                # A save whose arguments hold no text has no title.
                entries=entries or [Entry(str(i), (finding.label or "")) for i in finding.ids],
                project=finding.project if report.project_id is None else None,
                similarity=finding.similarity,
                command=command(finding.verb, finding.arguments, finding.project),
            )
        )
    return [_with_one_command(group) for group in groups.values()]


def _with_one_command(group: Group) -> Group:
    """The group, with a command that all findings share moved to the group."""
    commands = {finding.command for finding in group.findings}
    if len(group.findings) == 1 or len(commands) > 1:
        return group
    findings = [replace(finding, command=None) for finding in group.findings]
    return replace(group, findings=findings, command=commands.pop())


def _conflicts(
    items: Sequence[Conflict], memories: Mapping[str, Node], command: Command
) -> Iterator[Finding]:
    """Pairs of conflicting decisions, the older one first; the command supersedes the older one."""
    for item in items:
        pair = [
            _entry(memories, str(item.id), item.title, "Decision"),
            _entry(memories, str(item.with_id), item.with_title, "Decision"),
        ]
        dated = [memories[entry.id].created_at for entry in pair if entry.id in memories]
        if len(dated) == 2 and dated[1] < dated[0]:
            pair.reverse()
        yield Finding(pair, None, None, command("supersede", {"old": pair[0].id, "new": pair[1].id}, None))


def _decision(decision: LineDecision, memories: Mapping[str, Node]) -> Entry:
    known = _entry(memories, str(decision.id), decision.title)
    return Entry(known.id, known.title, None, decision.created_at.date(), known.text, decision.status)


def _entry(memories: Mapping[str, Node], identity: str, title: str, label: str | None = None) -> Entry:
    node = memories.get(identity)
    if node is None:
        return Entry(identity, title, label)
    return Entry(identity, title, label, node.created_at.date(), _text(node))


def _text(node: Node) -> str | None:
    """The beginning of the explanation of a memory, in one line; None if that is no more than its title."""
    for name in _TEXTS:
        value = node.properties.get(name)
        if value:
            whole = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
            text = " ".join(whole.split())
            if text and text != node.title:
                return shortened(text, EXCERPT)
    return None
