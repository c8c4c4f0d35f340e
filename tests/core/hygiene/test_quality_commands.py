"""The commands: a report a person reads, repairs that ask first, and the quality tools."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer
from mcp.client.client import Client

from pgmem.cli import app
from pgmem.cli.quality import repair_command
from pgmem.mcp.server import create_server
from pgmem.settings import load
from tests.conftest import Call

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def test_hygiene_shows_counts_and_what_to_do_and_as_json_everything(run_report: Any, reported: str) -> None:
    shown = run_report("hygiene", "-p", reported)
    assert shown.exit_code == 0, shown.output
    assert re.search(r"duplicates\s+1", shown.output)
    assert "pgmem merge" in shown.output
    report = json.loads(run_report("hygiene", "-p", reported, "--json").output)
    assert (report["duplicates_found"], report["entity_drift_count"], len(report["findings"])) == (
        1,
        1,
        report["total"],
    )


def test_a_terminal_shows_how_long_a_report_has_taken(
    run_report: Any, reported: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Comparing" not in run_report("hygiene", "-p", reported).stderr
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    for command, doing in (
        ("hygiene", "Comparing all memories… 0:00:0"),
        ("health", "Counting all memories… 0:00:0"),
    ):
        shown = run_report(command, "-p", reported)
        assert doing in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.stderr)
        assert doing not in shown.stdout


def test_hygiene_of_open_saves_alone_counts_nothing_that_it_did_not_look_for(
    run_report: Any, reported: str
) -> None:
    shown = run_report("hygiene", "-p", reported, "--pending-only").output
    assert "unresolved saves" in shown
    assert "duplicates" not in shown
    assert "entity drift" not in shown


def test_health_shows_hubs_conflicts_and_lines_of_decisions(run_report: Any, reported: str) -> None:
    shown = run_report("health", "-p", reported)
    assert shown.exit_code == 0, shown.output
    assert "Cache pages for an hour  ×  Never cache" in shown.output
    state = json.loads(run_report("health", "-p", reported, "--json").output)
    assert state["conflicts"]["count"] == 1
    assert [d["title"][-2:] for d in state["lineage"]["items"][0]] == ["17", "16", "15"]
    assert [s["title"] for s in state["stubs"]["items"]] == ["Kafka"]
    assert (sum(state["confidence"]), state["confidence"][4]) == (sum(state["memories"].values()), 2)
    assert sum(row["count"] for row in state["timeline"]) == sum(state["statuses"].values())


def test_an_entity_is_merged_only_after_a_yes(run_report: Any, call: Call, reported: str) -> None:
    assert run_report("merge", "Str-ipe", "Stripe", "-p", reported, input="n\n").exit_code == 1
    assert call("run_hygiene", project_id=reported)["entity_drift_count"] == 1
    done = run_report("merge", "Str-ipe", "Stripe", "-p", reported, input="y\n")
    assert done.exit_code == 0, done.output
    assert "To undo: pgmem revert EntityFact" in done.output
    assert call("run_hygiene", project_id=reported)["entity_drift_count"] == 0


def test_a_decision_is_superseded_only_after_a_yes(run_report: Any, call: Call, reported: str) -> None:
    ends = (
        "supersede",
        "Cache pages for an hour",
        "Keep the orders of the shop in PostgreSQL 17",
        "-p",
        reported,
    )
    assert run_report(*ends, input="n\n").exit_code == 1
    assert call("memory_health", project_id=reported)["conflicts"]["count"] == 1
    assert json.loads(run_report(*ends, "--yes", "--json", "--by", "ada").output)["status"] == "superseded"
    assert call("memory_health", project_id=reported)["conflicts"]["count"] == 0


def test_a_failed_save_is_made_again_only_after_a_yes(run_report: Any, call: Call, reported: str) -> None:
    failed = call("save_pattern", trigger="t", repeatable_steps=["s"], project_id=reported, scope="global")[
        "save_id"
    ]
    assert run_report("retry", str(failed), input="n\n").exit_code == 1
    refused = run_report("retry", str(failed), "--yes")
    assert (refused.exit_code, "governance token" in refused.output) == (1, True)
    token = call("request_global_write_approval", content_preview="t: s")["token"]
    done = run_report("retry", str(failed), "--yes", "--token", token)
    assert done.exit_code == 0, done.output


def test_insights_are_shown_and_judged(run_report: Any, call: Call, reported: str) -> None:
    shown = run_report("reflect")
    assert "“Kafka” is mentioned often, and nothing is kept of it" in shown.output
    insights = json.loads(run_report("reflect", "--json").output)["insights"]
    assert run_report("reflect", "--dismiss", str(insights[0]["id"])).output.startswith("dismissed")
    left = json.loads(run_report("reflect", "--json").output)
    assert (left["created"], len(left["insights"])) == (0, len(insights) - 1)


def test_freshness_is_shown(run_report: Any, reported: str) -> None:
    assert "0 stale" in run_report("freshness", "-p", reported).output
    assert json.loads(run_report("freshness", "-p", reported, "--json").output)["stale_items"] == []


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


@pytest.mark.anyio
async def test_the_quality_tools_are_few_words_and_answer(dsn: str, reported: str, tmp_path: Path) -> None:
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
            ("run_hygiene", {"project_id": reported}),
            ("memory_freshness", {"project_id": reported}),
            ("memory_surface", {"query": "stripe", "project_id": reported}),
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
        assert {tool["name"] for tool in tools} == {
            *answers,
            "review_insight",
            "confirm",
            "get_sources",
            "relate",
        }
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert prompts >= {"memory_review", "analysis_routing"}
        text = await client.get_prompt("memory_review", {"project_id": reported})
        assert f'run_hygiene(project_id="{reported}")' in str(text.messages[0].content)
