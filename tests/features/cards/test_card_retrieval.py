"""Reading cards: scopes, how cards are ranked, pages and their continuation, the query modes."""

from __future__ import annotations

import base64
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.features.cards.conftest import Draft, Query, Records, Refresh, Set

ROOT = (
    "Engineering Memory requires a file, symbol, or declared intent scope. Project root is not a valid "
    "memory scope. Use status/search for project orientation."
)
OUTSIDE = "path must be repo-relative without traversal"


def refused(call: Call, verb: str, **arguments: object) -> str:
    with pytest.raises(psycopg.Error) as error:
        call(verb, **arguments)
    assert error.value.sqlstate == "PM010"
    return str(error.value.diag.message_primary)


def test_the_root_the_outside_and_nothing_are_not_a_scope(call: Call, draft: Draft, shop: str) -> None:
    draft("One fact.")
    for scope in (["."], [""], ["./"], [], ["pkg/mod.py", "."]):
        assert refused(call, "get_relevant_memory", project_id=shop, scope=scope) == ROOT
        if scope:
            assert (
                refused(call, "query_engineering_memory", project_id=shop, mode="coverage", scope=scope)
                == ROOT
            )
            assert refused(call, "declare_intent", project_id=shop, paths=scope) == ROOT
    for path in ("../x", "/abs", "pkg/../../x", "C:\\x", "~/x", "a/.."):
        assert refused(call, "get_relevant_memory", project_id=shop, scope=[path]) == OUTSIDE
        assert (
            refused(call, "query_engineering_memory", project_id=shop, mode="for_path", path=path) == OUTSIDE
        )
    assert refused(call, "get_relevant_memory", project_id=shop) == (
        "get_relevant_memory requires scope, intent_id, or symbols. "
        "Use search_memory(labels=[Card]) for project orientation."
    )
    assert "one of scope" in refused(call, "get_relevant_memory", project_id=shop, scope=["a"], symbols=["b"])
    assert refused(call, "query_engineering_memory", project_id=shop, mode="coverage") == (
        "mode=coverage requires one or more repo-relative scope paths."
    )


def test_a_project_without_cards_says_how_to_get_them(call: Call, shop: str) -> None:
    message = refused(call, "get_relevant_memory", project_id=shop, scope=["pkg/mod.py"])
    assert "refresh_from_run" in message
    assert "pgmem cards init" in message


def test_a_path_is_matched_by_path_and_not_by_the_beginning_of_its_name(
    approved: Draft, query: Query, relevant: Records
) -> None:
    approved("One fact.", "pkg/mod2.py")
    assert relevant(["pkg/mo"]) == []
    assert query("coverage", scope=["pkg/mo"])["record_coverage"]["coverage_percent"] == 0
    assert [record["statement"] for record in relevant(["pkg"])] == ["One fact."]
    assert query("coverage", scope=["pkg"])["record_coverage"]["coverage_percent"] == 100
    assert relevant(["pkg/mod2"]) == []
    assert [record["statement"] for record in relevant(["pkg/mod2.py/"])] == ["One fact."]


def test_cards_rank_by_the_documented_weights(
    approved: Draft, draft: Draft, relevant: Records, call: Call
) -> None:
    approved("Exact, approved.", "pkg/mod.py", "contract_note")
    approved("The folder above.", "pkg", "contract_note")
    draft("Exact, a draft.", "pkg/mod.py", "human_note")
    scores = {record["statement"]: record["relevance_score"] for record in relevant(["pkg/mod.py"])}
    # path and module exact; type .25, verified .15, approved .1, one piece of evidence .02
    assert scores["Exact, approved."] == pytest.approx(2.0 + 0.25 + 0.15 + 0.1 + 0.02)
    assert scores["The folder above."] == pytest.approx(0.8 + 0.25 + 0.15 + 0.1 + 0.02)
    assert scores["Exact, a draft."] == pytest.approx(2.0 + 0.3)
    assert list(scores) == ["Exact, approved.", "Exact, a draft.", "The folder above."]
    below = {record["statement"]: record["relevance_score"] for record in relevant(["pkg"])}
    assert below["The folder above."] == pytest.approx(1.0 + 0.52)
    assert below["Exact, approved."] == pytest.approx(1.6 + 0.52)


def test_a_contradicted_card_sinks(approved: Draft, relevant: Records, call: Call) -> None:
    old, new = approved("It is slow."), approved("It is fast.")
    before = {record["id"]: record["relevance_score"] for record in relevant(["pkg/mod.py"])}
    call(
        "relate",
        from_label="Card",
        from_key=str(new),
        rel_type="CONTRADICTS",
        to_label="Card",
        to_key=str(old),
    )
    after = {record["id"]: record for record in relevant(["pkg/mod.py"])}
    assert after[str(old)]["relevance_score"] == pytest.approx(before[str(old)] - 0.5)
    assert after[str(old)]["relations"] == {"contradicted_by": [str(new)]}
    assert after[str(new)]["relevance_score"] == before[str(new)]


def test_files_that_import_a_path_are_near_it(refresh: Refresh, relevant: Records) -> None:
    refresh()
    scores = {record["statement"]: record["relevance_score"] for record in relevant(["pkg/b.py"])}
    assert scores["pkg.a: Sells things."] == pytest.approx(0.7 + 0.1 + 0.04 + 0.1 + 0.04)


def test_symbols_find_their_cards_and_those_of_their_module(
    approved: Draft, refresh: Refresh, call: Call, shop: str
) -> None:
    refresh()
    card_id = approved("Selling is final.", "pkg/a.py", symbols=["pkg.a.sell"])
    found = call("get_relevant_memory", project_id=shop, symbols=["pkg.a.sell"], detail_level="full")
    assert found["scope_resolved_from"] == "symbols"
    assert found["records"][0]["id"] == str(card_id)
    # the symbol exact, the file of its module above it
    assert found["records"][0]["relevance_score"] == pytest.approx(1.8 + 0.15 + 0.15 + 0.1 + 0.06)
    assert "pkg.a: Sells things." in [record["statement"] for record in found["records"]]
    assert found["coverage"]["record_coverage"]["coverage_percent"] == 100
    answer = call("query_engineering_memory", project_id=shop, mode="for_symbol", symbol="pkg.a.sell")
    assert answer["payload"]["records"][0]["id"] == str(card_id)


def test_compact_shows_160_characters_and_full_shows_all(
    draft: Draft, relevant: Records, call: Call, shop: str, query: Query
) -> None:
    card_id = draft("x" * 400)
    (compact,) = query("for_path", path="pkg/mod.py")["records"]
    assert (len(compact["statement"]), compact["statement_length"], compact["statement_truncated"]) == (
        160,
        400,
        True,
    )
    (full,) = relevant(["pkg/mod.py"], detail_level="full")
    assert (len(full["statement"]), full["statement_truncated"]) == (400, False)
    assert len(query("get", record_id=card_id)["record"]["statement"]) == 400


def test_a_digest_says_how_long_a_cut_statement_is_and_how_much_of_the_scope_is_known(
    approved: Draft, call: Call, shop: str
) -> None:
    approved("x" * 900)
    answer = call("get_relevant_memory", project_id=shop, scope=["pkg/mod.py", "pkg/other.py"])
    (card,) = answer["digests"][0]["cards"]
    assert (len(card["statement"]), card["statement_length"]) == (400, 900)
    assert answer["record_count"] == 1
    assert answer["coverage"]["record_coverage"]["scope_paths_with_memory"] == 1
    assert answer["context_governance"]["used"] > 0


def test_drafts_are_in_scoped_retrieval_and_in_search_on_request_only(
    draft: Draft, relevant: Records, query: Query
) -> None:
    draft("The cache is never cleared.", symbols=["pkg.mod.cache"])
    assert len(relevant(["pkg/mod.py"])) == 1
    assert relevant(["pkg/mod.py"], include_drafts=False) == []
    assert query("for_path", path="pkg/mod.py")["record_count"] == 1
    assert query("for_symbol", symbol="pkg.mod.cache")["record_count"] == 1
    assert query("search", query="cache")["record_count"] == 0
    assert query("search", query="cache", include_drafts=True)["record_count"] == 1


def test_search_takes_any_or_all_words_paths_and_single_letters(approved: Draft, query: Query) -> None:
    approved("The cache is never cleared.", "pkg/storage/disk.py")
    approved("The queue is never full.", "pkg/queue.py")
    assert query("search", query="cache queue")["record_count"] == 2
    assert query("search", query="cache queue", filters={"match_mode": "all"})["record_count"] == 0
    assert query("search", query="never cleared", filters={"match_mode": "all"})["record_count"] == 1
    assert query("search", query="disk")["record_count"] == 1
    assert query("search", query="pkg/queue.py")["total_count"] >= 1
    assert query("search", query="a")["records"] == []


def test_what_a_query_does_not_know_is_an_error_that_lists_what_there_is(
    call: Call, draft: Draft, shop: str
) -> None:
    draft("One fact.")

    def said(mode: str, **more: object) -> str:
        return refused(call, "query_engineering_memory", project_id=shop, mode=mode, **more)

    modes = "search, get, for_path, for_symbol, stale, drafts, coverage, status, trajectories."
    assert said("trajectory_search") == f"Unknown query mode 'trajectory_search'. Allowed: {modes}"
    assert said("search", query="x", filters={"color": ["red"]}) == (
        "Unknown memory filter key(s): color. Allowed keys: types, statuses, confidences, match_mode."
    )
    assert said("search", query="x", filters={"types": ["rumour"]}).startswith(
        "Invalid Engineering Memory record_type"
    )
    assert "Allowed: draft, active," in said("drafts", filters={"statuses": ["lost"]})
    assert "Allowed: any, all" in said("search", query="x", filters={"match_mode": "some"})
    assert said("get") == "mode=get requires record_id."
    assert said("for_path") == "mode=for_path requires path."
    missing = call("query_engineering_memory", project_id=shop, mode="get", record_id=str(uuid4()))
    assert missing["status"] == "not_found"


def test_filters_narrow_a_query(approved: Draft, draft: Draft, query: Query) -> None:
    approved("The cache is never cleared.", record_type="risk_note")
    draft("The cache is a dict.", record_type="human_note")
    assert query("for_path", path="pkg/mod.py", filters={"types": ["human_note"]})["record_count"] == 1
    assert query("for_path", path="pkg/mod.py", filters={"confidences": ["verified"]})["record_count"] == 1
    assert query("for_path", path="pkg/mod.py", filters={"statuses": ["draft"]})["record_count"] == 1


def test_coverage_counts_paths_with_an_active_card(approved: Draft, draft: Draft, query: Query) -> None:
    unknown = query("coverage", scope=["pkg/mod.py"])
    assert unknown["observation_confidence"]["level"] == "unknown"
    draft("A draft covers nothing.", "pkg/other.py")
    approved("One fact.")
    found = query("coverage", scope=["pkg/mod.py", "pkg/other.py"])
    assert found["record_coverage"] == {
        "scope_paths_with_memory": 1,
        "scope_paths_total": 2,
        "coverage_percent": 50.0,
        "coverage_kind": "record_subject_coverage",
    }
    assert found["observation_confidence"]["level"] == "partial"
    assert found["observation_confidence"]["basis"] == ["records"]


def test_a_continuation_goes_on_until_a_card_changes(
    call: Call, connection: psycopg.Connection[DictRow], approved: Draft, draft: Draft, shop: str
) -> None:
    ids = [approved(f"Fact {number}.") for number in range(5)]
    seen: list[Any] = []
    page = call(
        "get_relevant_memory", project_id=shop, scope=["pkg/mod.py"], max_records=2, detail_level="full"
    )
    seen += [record["id"] for record in page["records"]]
    while page["truncated"]:
        page = call("get_relevant_memory", project_id=shop, cursor=page["continuation"])
        seen += [record["id"] for record in page["records"]]
    assert sorted(seen) == sorted(str(card_id) for card_id in ids)
    assert page["continuation"] is None

    cursor = call(
        "get_relevant_memory", project_id=shop, scope=["pkg/mod.py"], max_records=2, detail_level="full"
    )["continuation"]
    call("save_session", objective="o", project_id="bank")
    assert "project_identity_mismatch" in refused(
        call, "get_relevant_memory", project_id="bank", cursor=cursor
    )
    raw = bytearray(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    raw[-2] ^= 1
    edited = base64.urlsafe_b64encode(bytes(raw)).decode().rstrip("=")
    for wrong in (edited, cursor[:-4], "nonsense", ""):
        assert "cursor digest mismatch" in refused(call, "get_relevant_memory", project_id=shop, cursor=wrong)
    assert call("get_relevant_memory", project_id=shop, cursor=cursor)["record_count"] == 2
    draft("A card elsewhere.", "somewhere/else.py")
    message = refused(call, "get_relevant_memory", project_id=shop, cursor=cursor)
    assert message.startswith("snapshot_mismatch: memory_projection_changed")


@pytest.mark.parametrize(
    "change",
    [
        "select pgmem.archive_card(%(card)s, 'maintainer')",
        "delete from pgmem.node where id = %(card)s",
        "select pgmem.set_status((select seq from pgmem.node where id = %(card)s), 'archived')",
    ],
)
def test_any_change_of_a_card_ends_a_continuation(
    call: Call, connection: psycopg.Connection[DictRow], approved: Draft, shop: str, change: str
) -> None:
    card_id, _, _ = (approved(f"Fact {number}.") for number in range(3))
    cursor = call(
        "get_relevant_memory", project_id=shop, scope=["pkg/mod.py"], max_records=1, detail_level="full"
    )["continuation"]
    connection.execute(change.encode(), {"card": card_id})
    assert "memory_projection_changed" in refused(call, "get_relevant_memory", project_id=shop, cursor=cursor)


def test_a_page_keeps_to_the_budget_and_holds_one_card_at_least(
    call: Call, approved: Draft, shop: str, setting: Set
) -> None:
    for number in range(4):
        approved(f"{number} {'x' * 500}")
    setting("cards_budget", 500)
    page = call("get_relevant_memory", project_id=shop, scope=["pkg/mod.py"], detail_level="full")
    assert 1 <= page["record_count"] < 4
    assert page["context_governance"]["used"] <= 500
    assert (page["total_count"], page["truncated"]) == (4, True)
    setting("cards_budget", 10)
    page = call("get_relevant_memory", project_id=shop, scope=["pkg/mod.py"], detail_level="full")
    assert (page["record_count"], page["truncated"]) == (1, True)


def test_what_is_retrieved_says_that_it_authorises_nothing(call: Call, draft: Draft, shop: str) -> None:
    draft("Do not touch this file.")
    policy = call("get_relevant_memory", project_id=shop, scope=["pkg/mod.py"])["retrieval_policy"]
    assert policy["memory_does_not_authorize_edits"] is True
    assert policy["risk_notes_are_informational"] is True


def test_one_tenant_never_meets_the_cards_of_another(
    call: Call, connection: psycopg.Connection[DictRow]
) -> None:
    def act_as(org: str, user: str) -> None:
        connection.execute(
            "select set_config('pgmem.org_id', %s, false), set_config('pgmem.user_id', %s, false)",
            (org, user),
        )

    made: dict[str, Any] = {"record_type": "risk_note", "statement": "One fact.", "subject_path": "a.py"}
    act_as("acme", "alice")
    call("save_session", objective="o", project_id="shop", share="org")
    own = call("record_candidate", project_id="shop", **made)["card_id"]
    shared = call("record_candidate", project_id="shop", **{**made, "share": "org"})["card_id"]
    act_as("acme", "bob")
    found = call("get_relevant_memory", project_id="shop", scope=["a.py"], detail_level="full")
    assert [record["id"] for record in found["records"]] == [str(shared)]
    assert call("query_engineering_memory", project_id="shop", mode="status")["payload"]["record_count"] == 1
    with pytest.raises(psycopg.Error, match="Memory record not found"):
        call("approve_card", card_id=own, by="bob")
    call("record_candidate", project_id="shop", **made)
    act_as("other", "eve")
    with pytest.raises(psycopg.Error, match="No project .* found"):
        call("get_relevant_memory", project_id="shop", scope=["a.py"])
