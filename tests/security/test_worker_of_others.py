"""A login bound to a tenant keeps the worker's budget and locks busy."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.conftest import Call, caller
from tests.fixtures.verbs import Rows
from tests.security.conftest import Session, refused
from tests.sql.test_upkeep import import_titles, shop

__all__ = ["shop"]


def test_a_bound_login_has_no_say_in_the_tokens_of_a_day(alice: Session) -> None:
    """It took back what it had never reserved, so that the operator's model was asked without end."""
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
def test_a_transaction_left_open_holds_up_no_save_while_the_worker_looks(
    call: Call, rows: Rows, dsn: str
) -> None:
    """The worker waited 2 seconds for the lock of a save that was not ended, and all saves behind it."""
    import_titles(rows, 1000)
    call("save_session", objective="Open", project_id="mill")
    with psycopg.connect(dsn, row_factory=dict_row) as other:
        caller(other)("save_decision", title="Sell coffee", rationale="r", project_id="shop")
        rows("select set_config('statement_timeout', '1s', false)")
        assert call("refresh_dedup", if_worth=True) == {"refresh_dedup": 0}
        assert call("save_decision", title="Buy milk", rationale="r", project_id="mill")["status"] == "saved"
        other.rollback()
    assert call("refresh_dedup", if_worth=True)["refresh_dedup"] > 0
