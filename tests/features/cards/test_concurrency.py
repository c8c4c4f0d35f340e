"""Writers at the same time: one decision, exact capacity, one card of a kind."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.concurrency.conftest import OpenSession, session
from tests.conftest import Call, caller
from tests.features.cards.conftest import Draft, Query, Refresh, Set, report

__all__ = ["session"]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("approve_card", "reject_card", "Cannot reject record in status 'active'"),
        ("reject_card", "approve_card", "Cannot approve record in status 'rejected'"),
    ],
)
def test_of_approve_and_reject_at_once_exactly_one_wins(
    session: OpenSession, draft: Draft, card: Any, first: str, second: str, message: str
) -> None:
    card_id = draft("One fact.")
    ann, ben = session("ann"), session("ben")
    ann.call(first, card_id=card_id, by="ann")
    waiting = ben.start(second, card_id=card_id, by="ben")
    ben.is_seen_waiting()
    ann.commit()
    with pytest.raises(psycopg.Error, match=message):
        waiting.result(60)
    ben.rollback()
    assert card(card_id)["status"] == {"approve_card": "active", "reject_card": "rejected"}[first]


def test_eight_writers_never_pass_the_capacity(dsn: str, shop: str, setting: Set, query: Query) -> None:
    setting("max_candidates", 10)

    def write(writer: int) -> list[str]:
        said = []
        with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
            call = caller(connection)
            for number in range(4):
                try:
                    call(
                        "record_candidate",
                        record_type="risk_note",
                        statement=f"Fact {writer} {number}.",
                        subject_path="a.py",
                        project_id=shop,
                    )
                    said.append("drafted")
                except psycopg.Error as error:
                    said.append(str(error.sqlstate))
        return said

    with ThreadPoolExecutor(8) as pool:
        said = [one for writer in pool.map(write, range(8)) for one in writer]
    assert (said.count("drafted"), said.count("PM009")) == (10, 22)
    assert query("status")["records_by_status"] == {"draft": 10}


def test_the_second_of_two_equal_drafts_waits_and_is_refused(
    session: OpenSession, shop: str, query: Query
) -> None:
    given: dict[str, object] = {
        "record_type": "risk_note",
        "statement": "One fact.",
        "subject_path": "a.py",
        "project_id": shop,
    }
    ann, ben = session("ann"), session("ben")
    ann.call("record_candidate", **given)
    waiting = ben.start("record_candidate", **given)
    ben.is_seen_waiting()
    ann.commit()
    with pytest.raises(psycopg.Error, match="Candidate already exists"):
        waiting.result(60)
    ben.rollback()
    assert query("status")["record_count"] == 1


def test_the_second_of_two_refreshes_finds_the_cards_of_the_first(
    session: OpenSession, shop: str, query: Query
) -> None:
    ann, ben = session("ann"), session("ben")
    ann.call("refresh_from_run", project_id=shop, report=report())
    waiting = ben.start("refresh_from_run", project_id=shop, report=report())
    ben.is_seen_waiting()
    ann.commit()
    assert waiting.result(60)["counts"]["unchanged"] == 3
    ben.commit()
    assert query("status")["record_count"] == 3


def test_a_continuation_sees_a_change_that_commits_after_a_later_one(
    session: OpenSession, call: Call, shop: str, refresh: Refresh, approved: Draft
) -> None:
    refresh()
    mine, other = approved("One.", "pkg/a.py"), approved("Two.", "pkg/a.py")
    ann = session("ann")
    ann.call("archive_card", card_id=mine, by="ann")
    cursor = call(
        "get_relevant_memory", project_id=shop, scope=["pkg/a.py"], max_records=1, detail_level="full"
    )["continuation"]
    assert call("get_relevant_memory", project_id=shop, cursor=cursor)["record_count"] == 1
    ann.commit()
    with pytest.raises(psycopg.Error, match="memory_projection_changed"):
        call("get_relevant_memory", project_id=shop, cursor=cursor)
    assert other
