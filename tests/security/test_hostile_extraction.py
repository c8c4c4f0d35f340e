"""A model that was led astray makes memories that its quote does not support."""

from __future__ import annotations

import pytest

from tests.security.conftest import Session, value


@pytest.mark.parametrize("number", ["9000", "９０００", "٩٠٠٠", "۹۰۰۰", "९०००"])
def test_a_number_of_any_script_stands_in_the_quote(connection: Session, number: str) -> None:
    """Only ASCII digits were numbers."""
    query = "select pgmem.unsupported(%s, 'limit', 'The limit of the queue is 100 messages', 'The limit of the queue is 100 messages', 'english')"
    assert "is in the text but not in the quote" in str(
        value(connection, query, f"the limit of the queue is {number} messages")
    )
    assert value(connection, query, "the limit of the queue is １００ messages") is None


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("we stopped using the queue", "we are using the queue"),
        ("it is forbidden to use the queue", "we like to use the queue"),
        ("the queue is banned", "the queue is used"),
        ("on n'utilise jamais la file", "on utilise la file"),
        ("se prohíbe, nunca usar la cola", "usar la cola"),
    ],
)
def test_a_denial_is_in_both_or_in_neither(connection: Session, claim: str, quote: str) -> None:
    """ "stopped using", "forbidden to" and French "ne … jamais" passed."""
    assert "says not" in str(value(connection, "select pgmem.misread(%s, %s, %s)", claim, quote, quote))
    assert value(connection, "select pgmem.misread(%s, %s, %s)", claim, claim, claim) is None
