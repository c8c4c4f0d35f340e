"""Cards from a report of the repository, and their states when files change."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call, GraphDifferences
from tests.features.cards.conftest import Draft, Query, Refresh, Set, edited, report, without


def statements(query: Query, status: str = "active") -> list[str]:
    found = query("drafts", filters={"statuses": [status]}, max_results=100)["records"]
    return sorted(record["statement"] for record in found)


def test_a_report_becomes_cards_and_edges(
    graph_differences: GraphDifferences,
    refresh: Refresh,
    query: Query,
    connection: psycopg.Connection[DictRow],
) -> None:
    counts = refresh()["counts"]
    assert (counts["inserted"], counts["links_made"]) == (3, 2)
    assert statements(query) == [
        "Tests: tests/test_a.py.",
        "pkg.a: Sells things.",
        "pkg.b: Counts things.",
    ]
    edges = connection.execute(
        "select s.props ->> 'path' as src, e.rel, d.props ->> 'path' as dst from pgmem.edge e"
        " join pgmem.node s on s.seq = e.src join pgmem.node d on d.seq = e.dst where s.label = 'Card' order by 2"
    ).fetchall()
    assert [tuple(edge.values()) for edge in edges] == [
        ("pkg/a.py", "DEPENDS_ON", "pkg/b.py"),
        ("pkg/a.py", "TESTS", "pkg/a.py"),
    ]
    assert graph_differences() == []


def test_the_same_report_gives_byte_identical_cards(refresh: Refresh) -> None:
    first = json.dumps(refresh(dry_run=True)["cards"])
    assert json.dumps(refresh(dry_run=True)["cards"]) == first
    refresh()
    again = refresh()
    assert again["counts"]["unchanged"] == 3
    assert sum(again["counts"].values()) == 3
    assert json.dumps(refresh(dry_run=True)["cards"]) == first


def test_a_dry_run_writes_nothing(
    refresh: Refresh, query: Query, connection: psycopg.Connection[DictRow]
) -> None:
    shown = refresh(dry_run=True)
    assert (shown["run_id"], shown["counts"]["inserted"], len(shown["cards"])) == (None, 3, 3)
    assert query("status")["record_count"] == 0
    assert query("status")["sync"]["state"] == "missing"
    for table in ("card_run", "card_file", "card_subject", "card_evidence", "card_state"):
        assert connection.execute(f"select from pgmem.{table}".encode()).fetchall() == []


def test_a_changed_description_changes_its_card_and_keeps_the_old_text(
    refresh: Refresh, query: Query, connection: psycopg.Connection[DictRow]
) -> None:
    refresh()
    changed = report()
    changed["modules"][1]["doc"] = "Counts everything."
    counts = refresh(changed)["counts"]
    assert (counts["updated"], counts["unchanged"]) == (1, 2)
    assert "pkg.b: Counts everything." in statements(query)
    old = connection.execute(
        "select props ->> 'statement' as said from pgmem.node_version where label = 'Card'"
    ).fetchall()
    assert old == [{"said": "pkg.b: Counts things."}]
    assert query("search", query="everything")["record_count"] == 1
    assert query("search", query="b things", filters={"match_mode": "all"})["record_count"] == 0


def test_an_approved_statement_is_kept_and_marked_when_the_repository_contradicts_it(
    refresh: Refresh, query: Query, call: Call, card: Any, approved: Draft, draft: Draft
) -> None:
    refresh()
    (found,) = query("search", query="counts", filters={"types": ["module_role"]})["records"]
    call("archive_card", card_id=found["id"], by="m")
    refresh()
    assert card(found["id"])["status"] == "archived"  # it does not come back

    (role,) = query("search", query="sells", filters={"types": ["module_role"]})["records"]
    changed = report()
    changed["modules"][0]["doc"] = None
    refresh(changed)  # gives no role, so the card is stale
    call("approve_card", card_id=role["id"], by="maintainer")
    changed["modules"][0]["doc"] = "Sells nothing."
    assert refresh(changed)["counts"]["contradicted"] == 1
    kept = card(role["id"])
    assert (kept["status"], kept["stale_reason"]) == ("stale", "refresh_content_contradiction")
    assert kept["statement"] == "pkg.a: Sells things."
    assert kept["contradiction"] == "pkg.a: Sells nothing."
    refresh()
    assert (card(role["id"])["status"], "stale_reason" in card(role["id"])) == ("active", False)


def test_cards_follow_the_files_they_are_anchored_in(
    refresh: Refresh, approved: Draft, card: Any, call: Call, draft: Draft
) -> None:
    free = approved("Nobody reads this file.", "pkg/unknown.py")  # no file is known yet
    refresh()
    anchored = approved("Selling is final.", "pkg/a.py")
    waiting = draft("A draft.", "pkg/a.py")

    refresh()
    assert card(anchored)["status"] == "active"
    refresh(edited("pkg/a.py"))
    assert (card(anchored)["status"], card(anchored)["stale_reason"]) == (
        "stale",
        "subject_fingerprint_drift",
    )
    assert card(free)["status"] == "active"
    assert card(waiting)["status"] == "draft"
    refresh()
    assert (card(anchored)["status"], "stale_reason" in card(anchored)) == ("active", False)
    refresh(without("pkg/a.py"))
    assert card(anchored)["status"] == "historical"
    refresh()
    assert card(anchored)["status"] == "active"

    refresh(edited("pkg/a.py"))
    call("approve_card", card_id=anchored, by="maintainer")
    refresh(edited("pkg/a.py"))
    assert card(anchored)["status"] == "active"  # approving again moves the anchor to the file as it is now


def test_cards_that_a_report_no_longer_gives_are_stale_or_historical(
    refresh: Refresh, query: Query, connection: psycopg.Connection[DictRow]
) -> None:
    refresh()
    fewer = report()
    fewer["modules"][0]["doc"] = None
    refresh(fewer)
    (role,) = query("stale")["records"]
    assert (role["type"], role["stale_reason"]) == ("module_role", "missing_from_refresh")
    refresh(without("pkg/b.py"))
    assert "pkg.b: Counts things." in statements(query, "historical")
    assert connection.execute("select from pgmem.edge e where rel = 'DEPENDS_ON'").fetchall() == []
    refresh()
    assert len(statements(query)) == 3


def test_a_partial_report_leaves_the_rest_alone(refresh: Refresh, query: Query) -> None:
    refresh()
    counts = refresh({"modules": [{"path": "pkg/c.py", "doc": "New."}]})["counts"]
    assert (counts["inserted"], counts["stale"], counts["historical"]) == (1, 0, 0)
    assert len(statements(query)) == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"files": {}}, "refresh_from_run requires a report"),
        ({"modules": [], "schema": "other/9"}, "Report schema other/9 is not known"),
        ({"modules": [{"module": "a"}]}, "is an object with path"),
        ({"modules": [{"path": "../a.py"}]}, "path must be repo-relative without traversal"),
    ],
)
def test_a_report_that_cannot_be_read_is_refused_whole(
    refresh: Refresh, query: Query, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(psycopg.Error, match=message) as error:
        refresh(given)
    assert error.value.sqlstate == "PM010"
    assert query("status")["record_count"] == 0


@pytest.mark.usefixtures("superuser")
def test_a_large_report_reads_each_card_once_also_before_the_table_is_analysed(
    refresh: Refresh, connection: psycopg.Connection[DictRow]
) -> None:
    """A report of 10 000 files took a minute, because each card was looked up among all cards."""
    modules = [{"path": f"pkg/m{n}.py", "doc": f"Does {n}."} for n in range(600)]
    many = report(modules=modules, files={module["path"]: "d" for module in modules}, tests=[])
    connection.execute("update pg_class set reltuples = 1, relpages = 1 where oid = 'pgmem.node'::regclass")
    for outcome in ("inserted", "unchanged"):
        with connection.transaction():
            assert refresh(many)["counts"][outcome] == 600
            read = connection.execute(
                "select sum(idx_tup_fetch + seq_tup_read)::integer as n from pg_stat_xact_user_tables"
                " where relid = any ('{pgmem.node,pgmem.card_evidence}'::regclass[])"
            ).fetchone()
        assert read is not None
        assert read["n"] < 600 * 50


def test_what_a_report_notes_twice_has_one_card(refresh: Refresh, query: Query) -> None:
    note = {
        "path": "docs/adr.md",
        "type": "architecture_decision",
        "facet": "decision",
        "statement": "Never round.",
    }
    twice = report(notes=[note, {**note, "path": "./docs/adr.md"}])
    for outcome in ({"inserted": 4, "unchanged": 1}, {"inserted": 0, "unchanged": 5}):
        assert refresh(twice)["counts"].items() >= outcome.items()
        assert query("status")["record_count"] == 4


def test_at_max_records_a_refresh_skips_or_rejects_as_the_store_says(
    refresh: Refresh, query: Query, setting: Set
) -> None:
    setting("max_records", 2)
    setting("cards_over_capacity", "reject")
    with pytest.raises(psycopg.Error, match="max_records_reached: 2/2") as error:
        refresh()
    assert error.value.sqlstate == "PM009"
    assert query("status")["record_count"] == 0
    setting("cards_over_capacity", "skip")
    done = refresh()
    assert (done["counts"]["inserted"], done["counts"]["over_capacity"]) == (2, 1)
    assert str(done["capacity"]).startswith(
        "No room for 1 card of this run: a scan fills nine tenths of max_records"
    )
    assert query("status")["record_count"] == 2


def test_a_policy_that_does_not_exist_is_refused(setting: Set) -> None:
    with pytest.raises(psycopg.Error, match="cards_over_capacity cannot be 'explode'"):
        setting("cards_over_capacity", "explode")
