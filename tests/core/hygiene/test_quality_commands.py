"""The commands and the page: a report a person reads, repairs that ask first, and the quality tools."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import typer
from markupsafe import escape
from mcp.client.client import Client
from typer.testing import CliRunner, Result

from pgmem.cli import app
from pgmem.cli.quality import repair_command
from pgmem.mcp.server import create_server
from pgmem.settings import load
from tests.conftest import Call

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture
def kept(call: Call, shop: str) -> str:
    """A project with something of everything that a report shows."""
    earlier = None
    for number in (15, 16, 17):
        title = f"Keep the orders of the shop in PostgreSQL {number}"
        call("save_decision", title=title, rationale="r", project_id=shop, supersedes=earlier)
        earlier = title
    nasty = 'Never cache <script>alert("x")</script> & prices'
    for title in ("Cache pages for an hour", nasty):
        call("save_decision", title=title, rationale="r", project_id=shop, confidence=0.4)
    ends = {"from_label": "Decision", "to_label": "Decision", "rel_type": "CONFLICTS_WITH"}
    call("relate", from_key="Cache pages for an hour", to_key=nasty, **ends)
    for _ in range(2):
        call("save_context", content="twice the same words", topic="twice", project_id=shop)
    call("upsert_entity", entity_name="Stripe", fact="takes payments", project_id=shop)
    call("upsert_entity", entity_name="Str-ipe", fact="pays", project_id=shop)
    for name in ("one", "two", "three"):
        call(
            "remember",
            label="Pipeline",
            properties={"name": name, "summary": "s"},
            relations={"USES": ["Kafka"]},
            project_id=shop,
        )
    return shop


@pytest.fixture
def run(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("PGMEM_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("EMBEDDING_PROVIDER", "none")

    def run(*arguments: str, **more: Any) -> Result:
        return CliRunner().invoke(app, [*arguments, "--dsn", dsn], **more)

    return run


def test_hygiene_shows_counts_and_what_to_do_and_as_json_everything(run: Any, kept: str) -> None:
    shown = run("hygiene", "-p", kept)
    assert shown.exit_code == 0, shown.output
    assert re.search(r"duplicates\s+1", shown.output)
    assert "pgmem merge" in shown.output
    report = json.loads(run("hygiene", "-p", kept, "--json").output)
    assert (report["duplicates_found"], report["entity_drift_count"], len(report["findings"])) == (
        1,
        1,
        report["total"],
    )


def test_hygiene_of_open_saves_alone_counts_nothing_that_it_did_not_look_for(run: Any, kept: str) -> None:
    shown = run("hygiene", "-p", kept, "--pending-only").output
    assert "unresolved saves" in shown
    assert "duplicates" not in shown
    assert "entity drift" not in shown


def test_health_shows_hubs_conflicts_and_lines_of_decisions(run: Any, kept: str) -> None:
    shown = run("health", "-p", kept)
    assert shown.exit_code == 0, shown.output
    assert "Cache pages for an hour  ×  Never cache" in shown.output
    state = json.loads(run("health", "-p", kept, "--json").output)
    assert state["conflicts"]["count"] == 1
    assert [d["title"][-2:] for d in state["lineage"]["items"][0]] == ["17", "16", "15"]
    assert [s["title"] for s in state["stubs"]["items"]] == ["Kafka"]
    assert (sum(state["confidence"]), state["confidence"][4]) == (sum(state["memories"].values()), 2)
    assert sum(row["count"] for row in state["timeline"]) == sum(state["statuses"].values())


def test_an_entity_is_merged_only_after_a_yes(run: Any, call: Call, kept: str) -> None:
    assert run("merge", "Str-ipe", "Stripe", "-p", kept, input="n\n").exit_code == 1
    assert call("run_hygiene", project_id=kept)["entity_drift_count"] == 1
    done = run("merge", "Str-ipe", "Stripe", "-p", kept, input="y\n")
    assert done.exit_code == 0, done.output
    assert "To undo: pgmem revert EntityFact" in done.output
    assert call("run_hygiene", project_id=kept)["entity_drift_count"] == 0


def test_a_decision_is_superseded_only_after_a_yes(run: Any, call: Call, kept: str) -> None:
    ends = (
        "supersede",
        "Cache pages for an hour",
        "Keep the orders of the shop in PostgreSQL 17",
        "-p",
        kept,
    )
    assert run(*ends, input="n\n").exit_code == 1
    assert call("memory_health", project_id=kept)["conflicts"]["count"] == 1
    assert json.loads(run(*ends, "--yes", "--json", "--by", "ada").output)["status"] == "superseded"
    assert call("memory_health", project_id=kept)["conflicts"]["count"] == 0


def test_a_failed_save_is_made_again_only_after_a_yes(run: Any, call: Call, kept: str) -> None:
    failed = call("save_pattern", trigger="t", repeatable_steps=["s"], project_id=kept, scope="global")[
        "save_id"
    ]
    assert run("retry", str(failed), input="n\n").exit_code == 1
    refused = run("retry", str(failed), "--yes")
    assert (refused.exit_code, "governance token" in refused.output) == (1, True)
    token = call("request_global_write_approval", content_preview="t: s")["token"]
    done = run("retry", str(failed), "--yes", "--token", token)
    assert done.exit_code == 0, done.output


def test_insights_are_shown_and_judged(run: Any, call: Call, kept: str) -> None:
    shown = run("reflect")
    assert "“Kafka” is mentioned often, and nothing is kept of it" in shown.output
    insights = json.loads(run("reflect", "--json").output)["insights"]
    assert run("reflect", "--dismiss", str(insights[0]["id"])).output.startswith("dismissed")
    left = json.loads(run("reflect", "--json").output)
    assert (left["created"], len(left["insights"])) == (0, len(insights) - 1)


def test_freshness_is_shown(run: Any, kept: str) -> None:
    assert "0 stale" in run("freshness", "-p", kept).output
    assert json.loads(run("freshness", "-p", kept, "--json").output)["stale_items"] == []


class Links(HTMLParser):
    """What a page would load, its open tags, and the names of all tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [str(v) for k, v in attrs if k in ("src", "href") and v != "data:,"]
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}
        self.loads += [str(v) for k, v in attrs if k in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_in_itself_and_reads_no_memory_as_markup(
    run: Any, call: Call, clock: Callable[[str], None], kept: str, tmp_path: Path
) -> None:
    clock("2026-04-08")  # a second day, so that there is something to draw over time
    call("save_context", content="an earlier word", project_id=kept)
    file = tmp_path / "report.html"
    assert run("hygiene", "-p", kept, "--html", str(file)).exit_code == 0
    text = file.read_text(encoding="utf-8")
    page = Links()
    page.feed(text)
    assert (page.loads, page.open) == ([], [])
    assert "<script" not in text
    assert "Never cache &lt;script&gt;" in text
    for wanted in (
        "Memories over time",
        "Confidence today",
        "Kafka",
        "PostgreSQL 15",
        "<polygon",
        "merge_entities",
    ):
        assert wanted in text


def test_the_page_of_one_day_compares_labels_instead_of_drawing_a_block(
    run: Any, kept: str, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    assert run("health", "-p", kept, "--html", str(file)).exit_code == 0
    text = file.read_text(encoding="utf-8")
    assert "<polygon" not in text
    assert re.search(r"All of \d{4}-\d\d-\d\d\.", text)
    assert re.search(r'hue-0">Decision</span><svg [^>]*><rect class="hue-0" width="100\.0"', text)


def test_the_page_shows_dates_rationales_and_commands_that_repair(
    run: Any, call: Call, kept: str, tmp_path: Path
) -> None:
    failed = call("save_pattern", trigger="t", repeatable_steps=["s"], project_id=kept, scope="global")
    file = tmp_path / "report.html"
    assert run("health", "-p", kept, "--html", str(file)).exit_code == 0
    text = file.read_text(encoding="utf-8")
    assert "takes payments" in text
    assert re.search(r"EntityFact, \d{4}-\d\d-\d\d", text)
    assert re.search(r"superseded, \d{4}-\d\d-\d\d", text)
    commands = [
        shlex.split(unescape(line)) for line in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", text)
    ]
    assert {" ".join(command[:2]) for command in commands} == {
        "pgmem forget",
        "pgmem merge",
        "pgmem retry",
        "pgmem supersede",
    }
    assert ["pgmem", "retry", str(failed["save_id"])] in commands
    for command in commands:
        if command[1] != "retry":
            done = run(*command[1:], "--yes")
            assert done.exit_code == 0, done.output
    report, state = call("run_hygiene", project_id=kept), call("memory_health", project_id=kept)
    assert (report["duplicates_found"], report["entity_drift_count"], state["conflicts"]["count"]) == (
        0,
        0,
        0,
    )


HOSTILE = (
    '"><img src=x onerror=alert(1)>',
    "</title></style><script>alert(1)</script>",
    "' onmouseover='alert(1)",
    "{{ 7 * 6007 }} {% include 'style.css' %} &lt;b&gt;",
    "</code></pre><svg onload=alert(1)>",
)


def test_hostile_texts_stay_texts_wherever_the_page_shows_them(run: Any, call: Call, tmp_path: Path) -> None:
    project = '"><script>alert(1)</script>'
    call("save_session", objective="o", project_id=project)
    for number, text in enumerate(HOSTILE):
        call("save_context", content=text, topic=text, project_id=project)
        call("save_context", content=text, topic=text, project_id=project)
        for version in (1, 2):
            title = f"{text} of hostile words, number {number}, in version {version}"
            call("save_decision", title=title, rationale=text, project_id=project)
        for name in ("one", "two", "three"):
            summary = {"name": f"{name} {number}", "summary": text}
            uses = {"USES": [f"{text} {number}"]}
            call("remember", label="Pipeline", properties=summary, relations=uses, project_id=project)
        call("save_pattern", trigger=text, repeatable_steps=[text], project_id=project, scope="global")
    file = tmp_path / "report.html"
    assert run("hygiene", "--html", str(file)).exit_code == 0
    text = file.read_text(encoding="utf-8")
    page = Links()
    page.feed(text)
    assert (page.loads, page.open) == ([], [])
    assert not page.tags & {"script", "img"}
    assert not [name for name in page.names if name.startswith("on")]
    assert "42049" not in text
    for hostile in HOSTILE:
        assert str(escape(hostile)) in text
    assert f"Project {escape(project)}" in text


@pytest.mark.parametrize(
    ("verb", "arguments", "line"),
    [
        ("merge_entities", {"entity": "a b", "into": "$(rm)"}, "pgmem merge 'a b' '$(rm)'"),
        ("supersede", {"old": "1", "new": "2"}, "pgmem supersede 1 2"),
        ("forget", {"label": "Context", "key": "it's"}, "pgmem forget Context 'it'\"'\"'s'"),
        (
            "archive_card",
            {"card_id": "6a83599e-fa87-4129-b002-cc09f79464da"},
            "pgmem cards archive 6a83599e-fa87-4129-b002-cc09f79464da --i-know-what-im-doing",
        ),
        (
            "retry_save",
            {"save_id": "6a83599e-fa87-4129-b002-cc09f79464da"},
            "pgmem retry 6a83599e-fa87-4129-b002-cc09f79464da",
        ),
        ("resolve_review", {"save_id": "1"}, "pgmem review '--project=-p; ls'"),
        ("store_session_with_learnings", {"save_id": "1"}, None),
    ],
)
def test_a_repair_is_a_command_that_a_shell_reads_as_meant(
    verb: str, arguments: dict[str, str], line: str | None
) -> None:
    found = repair_command(verb, arguments, "-p; ls")
    assert found == line
    if found is not None:
        _, *words = shlex.split(found)
        command = typer.main.get_command(app)
        while names := getattr(command, "commands", None):
            command = names[words.pop(0)]
        assert (
            command.make_context("command", words).params is not None
        )  # the options and arguments are known


def test_the_page_of_an_empty_store_reports_no_memories(run: Any, dsn: str, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    assert run("health", "--html", str(file)).exit_code == 0
    assert "No memories yet." in file.read_text(encoding="utf-8")
    assert run("health", "--html", str(tmp_path / "no" / "such" / "folder.html")).exit_code == 1


if CHROMIUM is not None:  # a browser is optional; without one, the page is parsed above

    def test_a_browser_shows_the_page_without_a_word_in_its_console(
        run: Any, kept: str, tmp_path: Path
    ) -> None:
        file, picture = tmp_path / "report.html", tmp_path / "report.png"
        run("hygiene", "-p", kept, "--html", str(file))
        flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
        flags += (
            " --disable-component-update --disable-sync --enable-logging=stderr --v=0 --window-size=1120,1800"
        )
        done = subprocess.run(
            [
                str(CHROMIUM),
                *flags.split(),
                f"--user-data-dir={tmp_path}/chromium",
                f"--screenshot={picture}",
                file.as_uri(),
            ],
            capture_output=True,
            check=True,
            text=True,
            timeout=120,
            env={**os.environ, "HOME": str(tmp_path)},
        )
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size > 40_000
        assert "CONSOLE" not in done.stderr


@pytest.mark.anyio
async def test_the_quality_tools_are_few_words_and_answer(dsn: str, kept: str, tmp_path: Path) -> None:
    settings = load(dsn=dsn, data_dir=tmp_path, embedding_provider="none", toolsets="quality")
    async with Client(create_server(settings)) as client:
        tools = [
            t.model_dump(by_alias=True, exclude_none=True, mode="json")
            for t in (await client.list_tools()).tools
        ]
        inputs = [{name: tool[name] for name in ("name", "description", "inputSchema")} for tool in tools]
        assert sum(len(json.dumps(tool).encode()) for tool in inputs) / 4 <= 950
        answers = {}
        for tool, arguments in (
            ("run_hygiene", {"project_id": kept}),
            ("memory_freshness", {"project_id": kept}),
            ("memory_surface", {"query": "stripe", "project_id": kept}),
            ("route_analysis", {"task_description": "A vs B"}),
            ("reflect", {}),
            ("surface_insights", {}),
        ):
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, (tool, result.content)
            answers[tool] = result.structured_content or {}
        found = answers["memory_surface"]["matches"][0]["id"]
        assert not (await client.call_tool("get_sources", {"id": found})).is_error
        title = answers["surface_insights"]["insights"][0]["title"]
        judged = await client.call_tool("review_insight", {"title": title, "action": "approve"})
        # The first one proposes to forget a copy, and is carried out.
        assert (judged.structured_content or {})["status"] == "archived"
        assert {tool["name"] for tool in tools} == {*answers, "review_insight", "confirm", "get_sources"}
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert prompts >= {"memory_review", "analysis_routing"}
        text = await client.get_prompt("memory_review", {"project_id": kept})
        assert f'run_hygiene(project_id="{kept}")' in str(text.messages[0].content)
