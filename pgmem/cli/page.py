"""The quality report as one page: no script, no font, no picture from anywhere; charts are SVG written here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import ceil, log10
from typing import Any

from pgmem.models import Health, HygieneReport

__all__ = ["page"]

_HUES = (
    "#4269d0",
    "#efb118",
    "#ff725c",
    "#6cc5b0",
    "#3ca951",
    "#ff8ab7",
    "#a463f2",
    "#97bbf5",
    "#9c6b4e",
    "#9498a0",
)
_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #666c75; --line: #d9dce1; --back: #fbfbfa; --card: #fff;
  --warn: #b45309 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e6; --soft: #a0a5ad; --line: #3a3e45; --back: #16181b; --card: #1f2226; --warn: #f0a44b } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 1080px; padding: 2rem 1.25rem 4rem; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif }
h1 { font-size: 1.6rem; margin: 0 } h2 { font-size: 1.1rem; margin: 2.25rem 0 .6rem }
.soft, caption { color: var(--soft) } p { margin: .25rem 0 }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(100px, 1fr)); gap: .75rem; margin-top: 1.25rem }
.tile, .card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem }
.tile b { display: block; font-size: 1.6rem; line-height: 1.2; font-variant-numeric: tabular-nums }
.tile.warn b { color: var(--warn) } .tile span { color: var(--soft); font-size: .85rem }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(360px, 1fr)); gap: 1rem }
svg { display: block; width: 100%; height: auto } svg text { fill: var(--ink); font-size: 12px } svg .soft { fill: var(--soft) }
svg .rule { stroke: var(--line) } table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem .4rem 0; border-bottom: 1px solid var(--line) }
th { font-weight: 600; color: var(--soft); font-size: .85rem }
td { overflow-wrap: anywhere }
td.n { text-align: right; font-variant-numeric: tabular-nums }
code { white-space: nowrap; font: .85em ui-monospace, "SF Mono", Menlo, Consolas, monospace }
.key { display: inline-block; margin-right: 1rem; font-size: .85rem }
.key i { display: inline-block; width: .7em; height: .7em; border-radius: 2px; margin-right: .35em }
.scroll { overflow-x: auto }
"""


def page(state: Health, report: HygieneReport) -> str:
    """The whole report as HTML."""
    where = state.project_id or "All projects"
    made = state.checked_at.strftime("%Y-%m-%d %H:%M %Z")
    body = "\n".join(
        (
            f"<header><h1>{escape(where)}: the state of the memory</h1><p class='soft'>pgmem, {escape(made)}</p></header>",
            _tiles(state, report),
            "<div class='two'>",
            _section("Memories over time", _growth(state.timeline)),
            _section("Confidence today", _histogram(state.confidence)),
            "</div>",
            _section("What to repair", _findings(report)),
            _section("Conflicts", _conflicts(state.conflicts)),
            _section("Lines of decisions: what took the place of what", _lineage(state.lineage)),
            "<div class='two'>",
            _section("Hubs", _items(state.hubs, "No memory has three relations yet.")),
            _section("Orphans", _items(state.orphans, "Every memory is connected.", relations=False)),
            _section("Names that stand for nothing yet", _items(state.stubs, "No stub has three relations.")),
            _section("Archived between others", _items(state.archived_bridges, "None.")),
            "</div>",
        )
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(where)}: the state of the memory</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2><div class='card scroll'>{content}</div></section>"


def _tiles(state: Health, report: HygieneReport) -> str:
    tiles = (
        (sum(state.memories.values()), "live memories", False),
        (report.duplicates_found, "duplicates", True),
        (report.outdated_decisions, "outdated decisions", True),
        (report.obsolete_patterns, "obsolete patterns", True),
        (report.entity_drift_count, "entities named twice", True),
        (report.unresolved_saves, "saves not saved", True),
        (state.conflicts["count"], "conflicts", True),
        (state.orphans["count"], "orphans", False),
        (state.insights.get("pending", 0), "insights to judge", False),
    )
    shown = "".join(
        f"<div class='tile{' warn' if warns and count else ''}'><b>{count:,}</b><span>{escape(name)}</span></div>"
        for count, name, warns in tiles
    )
    return f"<div class='tiles'>{shown}</div>"


def _growth(timeline: Sequence[Mapping[str, Any]]) -> str:
    """Memories told so far, by label, stacked: steps, because nothing grows between two days."""
    if not timeline:
        return "<p class='soft'>Nothing is kept yet.</p>"
    days = sorted({str(row["at"]) for row in timeline})
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for row in timeline:
        counts[row["label"]][str(row["at"])] = row["count"]
    labels = sorted(counts, key=lambda label: (-sum(counts[label].values()), label))
    if len(labels) > len(_HUES):
        for label in labels[len(_HUES) - 1 :]:
            for day, count in counts.pop(label).items():
                counts["other"][day] = counts["other"].get(day, 0) + count
        labels = [*labels[: len(_HUES) - 1], "other"]
    top, left, width, height = 10, 46, 520, 240
    most = _round_up(sum(sum(counts[label].values()) for label in labels))
    step = (width - left - 10) / len(days)
    below = [0.0] * len(days)
    shapes = []
    for label, hue in zip(labels, _HUES, strict=False):
        so_far, above = 0, []
        for index, day in enumerate(days):
            so_far += counts[label].get(day, 0)
            above.append(below[index] + so_far)
        points = [
            f"{left + (index + side) * step:.1f},{_y(value, most, top, height):.1f}"
            for index, value in enumerate(above)
            for side in (0, 1)
        ]
        points += [
            f"{left + (index + side) * step:.1f},{_y(below[index], most, top, height):.1f}"
            for index in range(len(days) - 1, -1, -1)
            for side in (1, 0)
        ]
        shapes.append(
            f"<polygon points='{' '.join(points)}' fill='{hue}'><title>{escape(label)}: {so_far}</title></polygon>"
        )
        below = above
    ends = (
        f"<text class='soft' x='{left}' y='{height + 28}'>{escape(days[0])}</text>"
        f"<text class='soft' x='{width - 10}' y='{height + 28}' text-anchor='end'>{escape(days[-1])}</text>"
    )
    keys = "".join(
        f"<span class='key'><i style='background:{hue}'></i>{escape(label)} {sum(counts[label].values()):,}</span>"
        for label, hue in zip(labels, _HUES, strict=False)
    )
    return (
        f"<svg viewBox='0 0 {width} {height + 36}' role='img' aria-label='Memories over time'>"
        f"{_rules(most, left, width, top, height)}{''.join(shapes)}{ends}</svg><p>{keys}</p>"
    )


def _histogram(counts: Sequence[int]) -> str:
    top, left, width, height = 10, 46, 520, 240
    most = _round_up(max(counts, default=0))
    step = (width - left - 10) / 10
    bars = "".join(
        f"<rect x='{left + tenth * step + 2:.1f}' y='{_y(count, most, top, height):.1f}' width='{step - 4:.1f}' "
        f"height='{height - _y(count, most, top, height):.1f}' fill='{_HUES[0]}'>"
        f"<title>{tenth / 10:.1f} to {(tenth + 1) / 10:.1f}: {count}</title></rect>"
        f"<text class='soft' x='{left + tenth * step:.1f}' y='{height + 28}' text-anchor='middle'>{tenth / 10:.1f}</text>"
        for tenth, count in enumerate(counts)
    )
    return (
        f"<svg viewBox='0 0 {width} {height + 36}' role='img' aria-label='Confidence of live memories'>"
        f"{_rules(most, left, width, top, height)}{bars}"
        f"<text class='soft' x='{width - 10}' y='{height + 28}' text-anchor='middle'>1.0</text></svg>"
    )


def _rules(most: int, left: int, width: int, top: int, height: int) -> str:
    values = sorted({0, most // 2, most})
    return "".join(
        f"<line class='rule' x1='{left}' x2='{width - 10}' "
        f"y1='{_y(v, most, top, height):.1f}' y2='{_y(v, most, top, height):.1f}'/>"
        f"<text class='soft' x='{left - 8}' y='{_y(v, most, top, height) + 4:.1f}' text-anchor='end'>{v:,}</text>"
        for v in values
    )


def _y(value: float, most: int, top: int, height: int) -> float:
    return height - (height - top) * value / most


def _round_up(count: int) -> int:
    """A number to end an axis at: one, two or five with noughts, even where it is halved."""
    if count <= 2:
        return 2
    unit = 10 ** int(log10(count))
    return next(int(m * unit) for m in (1, 2, 4, 6, 8, 10) if m * unit >= count)


def _findings(report: HygieneReport) -> str:
    if not report.findings:
        return "<p>Nothing to repair.</p>"
    rows = "".join(
        f"<tr><td>{escape(finding['check'].replace('_', ' '))}"
        + (
            f"<br><span class='soft'>{finding['similarity']:.0%} alike</span>"
            if "similarity" in finding
            else ""
        )
        + f"</td><td>{'<br>'.join(_named(t, i) for t, i in zip(finding['titles'], finding['ids'], strict=False))}</td>"
        f"<td>{escape(finding['what'])}</td><td><code>{escape(finding['verb'])}</code></td></tr>"
        for finding in report.findings
    )
    more = (
        f"<p class='soft'>{len(report.findings):,} of {report.total:,} shown.</p>"
        if report.next_offset is not None
        else ""
    )
    head = "<tr><th>check</th><th>memory</th><th>what to do</th><th>verb</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>{more}"


def _named(title: str, identity: str) -> str:
    return f"<span title='{escape(identity)}'>{escape(title)}</span>"


def _conflicts(found: Mapping[str, Any]) -> str:
    if not found["count"]:
        return "<p>No two live memories contradict each other.</p>"
    rows = "".join(
        f"<tr><td>{_named(item['title'], item['id'])}</td><td>{_named(item['with_title'], item['with_id'])}</td></tr>"
        for item in found["items"]
    )
    return f"<table><tbody>{rows}</tbody></table>{_more(found)}"


def _items(found: Mapping[str, Any], none: str, *, relations: bool = True) -> str:
    if not found["count"]:
        return f"<p>{escape(none)}</p>"
    rows = "".join(
        f"<tr><td class='soft'>{escape(item['label'])}</td><td>{_named(item['title'], item['id'])}</td>"
        + (f"<td class='n'>{item['relations']}</td>" if relations else "")
        + "</tr>"
        for item in found["items"]
    )
    return f"<table><tbody>{rows}</tbody></table>{_more(found)}"


def _more(found: Mapping[str, Any]) -> str:
    left = found["count"] - len(found["items"])
    return f"<p class='soft'>and {left:,} more</p>" if left > 0 else ""


def _lineage(found: Mapping[str, Any]) -> str:
    """One row a line, the present decision on the left, what it replaced to its right."""
    if not found["count"]:
        return "<p>No decision has taken the place of another yet.</p>"
    box, gap, high = 220, 36, 62
    columns = max(max(decision["age"] for decision in line) for line in found["items"]) + 1
    shapes: list[str] = []
    y = 6
    for line in found["items"]:
        ages: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
        for decision in line:
            ages[decision["age"]].append(decision)
        rows = max(len(decisions) for decisions in ages.values())
        for age, decisions in ages.items():
            for row, decision in enumerate(decisions):
                shapes += _decision(
                    decision, 6 + age * (box + gap), y + row * (high + 8), box, high, present=age == 0
                )
                if age:
                    x = 6 + age * (box + gap)
                    at = y + row * (high + 8) + high / 2
                    shapes.append(
                        f"<path class='rule' d='M{x - gap + 4} {y + high / 2:.0f} L{x - 8} {at:.0f}' "
                        "marker-end='url(#to)' fill='none'/>"
                    )
        y += rows * (high + 8) + 10
    width = 12 + columns * (box + gap) - gap
    arrow = (
        "<defs><marker id='to' viewBox='0 0 8 8' refX='6' refY='4' markerWidth='7' markerHeight='7' orient='auto'>"
        f"<path d='M0 0 L8 4 L0 8 z' fill='{_HUES[9]}'/></marker></defs>"
    )
    return (
        f"<svg viewBox='0 0 {max(width, 760)} {y}' style='min-width:{min(width, 2400)}px' "
        "role='img' aria-label='Lines of decisions'>"
        f"{arrow}{''.join(shapes)}</svg>{_more(found)}"
    )


def _decision(
    decision: Mapping[str, Any], x: int, y: int, wide: int, high: int, *, present: bool
) -> Iterable[str]:
    hue = _HUES[0] if present and decision["status"] == "active" else _HUES[9]
    title = decision["title"]
    first, second = _two_lines(title, 32)
    day = str(decision["created_at"])[:10]
    yield (
        f"<g><title>{escape(title)} ({escape(decision['id'])})</title>"
        f"<rect x='{x}' y='{y}' width='{wide}' height='{high}' rx='6' fill='none' "
        f"stroke='{hue}' stroke-width='{2 if present else 1}'/>"
        f"<text x='{x + 10}' y='{y + 20}'>{escape(first)}</text><text x='{x + 10}' y='{y + 36}'>{escape(second)}</text>"
        f"<text class='soft' x='{x + 10}' y='{y + 53}'>{escape(decision['status'])}, {escape(day)}</text></g>"
    )


def _two_lines(text: str, most: int) -> tuple[str, str]:
    if len(text) <= most:
        return text, ""
    cut = text.rfind(" ", 0, most + 1)
    cut = cut if cut > most // 2 else most
    rest = text[cut:].strip()
    return text[:cut], rest if len(rest) <= most else rest[: ceil(most) - 1] + "…"
