"""Failures of engineering memory, one test a row of its failure table, in the interface where it goes wrong."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from mcp.client.client import Client

from pgmem.mcp.server import create_server
from pgmem.settings import load
from tests.conftest import Call
from tests.features.cards.conftest import Commit, Draft, Query, Refresh, Run, Set, report
from tests.features.cards.test_card_tools import answer, manage, refusal

SCOPE = ["pkg/till.py"]


@pytest.fixture
async def agent(dsn: str, tmp_path: Path, tree: Path, shop: str) -> AsyncIterator[Client]:
    """An agent whose server has the repository shop."""
    settings = load(
        dsn=dsn, data_dir=tmp_path / "data", embedding_provider="none", toolsets="cards", repository=tree
    )
    async with Client(create_server(settings)) as client:
        yield client


@pytest.fixture
async def agent_without_repository(dsn: str, tmp_path: Path, shop: str) -> AsyncIterator[Client]:
    settings = load(dsn=dsn, data_dir=tmp_path / "data", embedding_provider="none", toolsets="cards")
    async with Client(create_server(settings)) as client:
        yield client


@pytest.mark.anyio
async def test_cards_missing_and_policy_off_is_an_error_that_names_refresh_from_run_and_init(
    agent: Client, setting: Set, query: Query
) -> None:
    setting("cards_sync_policy", "off")
    said = await refusal(agent, "get_relevant_memory", scope=SCOPE)
    assert "sync policy off" in said
    assert "refresh_from_run" in said
    assert "pgmem cards init" in said
    assert query("status")["record_count"] == 0


@pytest.mark.anyio
async def test_cards_missing_and_the_default_policy_makes_them_from_the_repository(
    agent: Client, query: Query
) -> None:
    found = await answer(agent, "get_relevant_memory", scope=SCOPE)
    assert found["memory_sync"]["auto"] == "bootstrapped"
    assert found["digests"][0]["cards"]
    assert query("status")["record_count"] == 4


@pytest.mark.anyio
async def test_nothing_to_read_from_skips_the_sync_and_missing_cards_are_a_contract_error(
    agent_without_repository: Client, draft: Draft
) -> None:
    agent = agent_without_repository
    assert "has no engineering memory yet" in await refusal(agent, "get_relevant_memory", scope=SCOPE)
    draft("One fact.", "pkg/till.py")
    found = await answer(agent, "get_relevant_memory", scope=SCOPE)
    assert (found["memory_sync"]["auto"], len(found["digests"][0]["cards"])) == ("skipped", 1)


@pytest.mark.anyio
async def test_at_max_candidates_an_agent_s_draft_is_refused_with_the_count(
    agent: Client, draft: Draft, setting: Set, query: Query
) -> None:
    setting("max_candidates", 1)
    draft("One.")
    said = await refusal(
        agent,
        "manage_engineering_memory",
        action="record_candidate",
        record_type="risk_note",
        statement="Two.",
        subject_path="pkg/till.py",
    )
    assert "max_candidates_reached: 1/1" in said
    assert query("status")["record_count"] == 1


@pytest.mark.parametrize(("policy", "code", "kept"), [("skip", 0, 3), ("reject", 1, 0)])
def test_at_max_records_init_skips_or_rejects_as_the_store_says(
    run: Run, setting: Set, query: Query, policy: str, code: int, kept: int
) -> None:
    setting("max_records", 3)
    setting("cards_over_capacity", policy)
    result = run("init", "--project", "shop")
    assert result.exit_code == code
    assert "max_records" in result.output + result.stderr
    assert query("status")["record_count"] == kept


def test_init_needs_no_report_made_before_it_reads_the_repository_itself(run: Run, tree: Path) -> None:
    made = run("init", "--json")
    assert (made.exit_code, json.loads(made.stdout)["counts"]["inserted"]) == (0, 4)


def test_init_of_a_path_that_is_not_a_folder_fails_in_one_line(run: Run) -> None:
    result = run("init", "--root", "nowhere")
    assert result.exit_code == 2
    assert "nowhere" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_report_that_cannot_be_read_changes_nothing_and_says_what_is_wrong(
    refresh: Refresh, query: Query
) -> None:
    with pytest.raises(psycopg.Error, match="schema") as caught:
        refresh(report(schema="somebody.else/7"))
    assert caught.value.sqlstate == "PM010"
    assert query("status")["record_count"] == 0


def test_git_unavailable_leaves_out_commits_and_init_goes_on(
    run: Run, commit: Commit, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit("2026-01-01")
    monkeypatch.setenv("PATH", "")
    made = run("init", "--project", "shop")
    assert made.exit_code == 0, made.output
    assert "skipped: git: git is not installed" in made.stdout
    assert query("status")["records_by_status"] == {"active": 4}
    evidence = [
        item["kind"]
        for card in query("for_path", path="pkg/till.py", detail_level="full")["records"]
        for item in card["evidence"]
    ]
    assert evidence
    assert "git_commit" not in evidence


ROOT = (
    "Engineering Memory requires a file, symbol, or declared intent scope. Project root is not a valid memory scope. "
    "Use status/search for project orientation."
)


@pytest.mark.anyio
async def test_the_root_as_scope_path_subject_or_intent_is_a_contract_error_with_the_way_out(
    agent: Client,
) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("get_relevant_memory", {"scope": ["."]}),
        ("query_engineering_memory", {"mode": "for_path", "path": "./"}),
        ("query_engineering_memory", {"mode": "coverage", "scope": ["."]}),
        ("manage_engineering_memory", {"action": "declare_intent", "paths": ["."]}),
        (
            "manage_engineering_memory",
            {
                "action": "record_candidate",
                "record_type": "risk_note",
                "statement": "One.",
                "subject_path": ".",
            },
        ),
    ]
    for tool, arguments in asked:
        assert await refusal(agent, tool, **arguments) == ROOT, (tool, arguments)


@pytest.mark.anyio
async def test_retrieval_without_scope_symbols_or_intent_is_refused_with_the_way_out(agent: Client) -> None:
    assert await refusal(agent, "get_relevant_memory") == (
        "get_relevant_memory requires scope, intent_id, or symbols. "
        "Use search_memory(labels=[Card]) for project orientation."
    )


@pytest.mark.anyio
async def test_a_statement_that_is_too_long_is_refused_and_one_that_fits_is_not(
    agent: Client, call: Call, query: Query
) -> None:
    sent = {"action": "record_candidate", "record_type": "risk_note", "subject_path": "pkg/till.py"}
    said = await refusal(agent, "manage_engineering_memory", statement="x" * 1001, **sent)
    assert said == (
        "Memory candidate is too long for a durable card. "
        "Compress it into one evidence-linked conclusion; store details in receipt/spec/docs."
    )
    assert query("status")["record_count"] == 0
    sent.pop("action")
    assert (await manage(agent, "record_candidate", statement="x" * 1000, **sent))["status"] == "draft"
