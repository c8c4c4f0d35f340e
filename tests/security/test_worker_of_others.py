"""A login bound to a tenant keeps the worker's budget and locks busy."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.concurrency.conftest import wait_until_blocked
from tests.conftest import Call, caller, past_the_pooler
from tests.core.sql.test_upkeep import import_titles, shop
from tests.fixtures.verbs import Rows
from tests.security.conftest import Session, refused

__all__ = ["shop"]


def test_a_bound_login_has_no_say_in_the_tokens_of_a_day(alice: Session) -> None:
    """It took back tokens that it had never reserved, so that the operator's model was asked without end."""
    with refused("42501"):
        alice.execute("select * from pgmem.spend_extraction_tokens(0, 2000000000, current_date)")


def test_only_tokens_that_are_reserved_are_taken_back(call: Call, rows: Rows) -> None:
    """Any date made a row, and any number took back all."""
    (today,) = rows("select (pgmem.now() at time zone 'UTC')::date as day")
    call("spend_extraction_tokens", tokens=100)
    for day, reserved in ((today["day"], 101), ("2020-01-01", 5)):
        with pytest.raises(psycopg.Error, match="fewer tokens than"):
            call("spend_extraction_tokens", tokens=0, reserved=reserved, day=day)
    assert rows("select tokens from pgmem.extraction_day") == [{"tokens": 100}]


@pytest.mark.usefixtures("shop")
def test_a_transaction_left_open_holds_up_no_other_scope_while_the_worker_waits(
    call: Call, rows: Rows, dsn: str
) -> None:
    """The worker waited for the lock of a save that was not ended, and the saves of all scopes behind it."""
    import_titles(rows, 1000)
    call("save_session", objective="Open", project_id="mill")
    with (
        psycopg.connect(dsn, row_factory=dict_row) as other,
        psycopg.connect(past_the_pooler(dsn), row_factory=dict_row, application_name="worker") as third,
        ThreadPoolExecutor(1) as pool,
    ):
        caller(other)("save_decision", title="Sell coffee", rationale="r", project_id="shop")
        waiting = pool.submit(caller(third), "refresh_dedup", if_worth=True)
        wait_until_blocked(dsn, "worker")
        rows("select set_config('lock_timeout', '1ms', false)")
        assert call("save_decision", title="Buy milk", rationale="r", project_id="mill")["status"] == "saved"
        other.rollback()
        assert waiting.result()["refresh_dedup"] > 0
