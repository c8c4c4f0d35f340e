"""search_memory: live memories by their words."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.fixtures.verbs import Each


def found(each: Each, query: str, **more: object) -> list[str]:
    return [row["title"] for row in each("search_memory", query=query, **more)]


@pytest.fixture
def kept(call: Call, shop: str) -> str:
    """A project with a memory of each kind."""
    call("save_decision", title="Cache the pages in redis", rationale="a caching strategy", project_id=shop)
    call("save_pattern", trigger="a release", repeatable_steps=["tag the commit"], project_id=shop)
    call("save_context", content="the build takes four minutes", topic="builds", project_id=shop)
    call("upsert_entity", entity_name="gateway", fact="terminates TLS", project_id=shop)
    return shop


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("redis", "Cache the pages in redis"),
        ("REDIS", "Cache the pages in redis"),
        ("strategies", "Cache the pages in redis"),
        ("commit", "a release"),
        ("minutes", "builds"),
        ("gateway", "gateway"),
        ("tls", "gateway"),
        ("open", "open the shop"),
    ],
)
def test_a_memory_is_found_by_a_word_of_any_of_its_texts(
    each: Each, kept: str, query: str, title: str
) -> None:
    assert found(each, query) == [title]


def test_a_question_in_plain_words_finds_the_memory(each: Each, kept: str) -> None:
    assert found(each, "what do we know about caching strategy")[:1] == ["Cache the pages in redis"]


def test_what_holds_more_of_the_words_comes_first(call: Call, each: Each, shop: str) -> None:
    call("save_context", content="the gateway is slow", topic="one word", project_id=shop)
    call("save_context", content="the gateway certificate expires", topic="two words", project_id=shop)
    assert found(each, "gateway certificate", project_id=shop) == ["two words", "one word"]


def test_every_result_carries_its_score_and_how_it_was_found(each: Each, kept: str) -> None:
    (result,) = each("search_memory", query="redis")
    assert result["score"] > 0
    assert result["fulltext"] is not None
    assert result["mode"]
    assert isinstance(result["degraded"], bool)
    assert "redis" in result["summary"]


def test_a_search_within_a_project_sees_its_own_and_global_memories(
    call: Call, each: Each, kept: str
) -> None:
    call("save_session", objective="o", project_id="bank")
    call("save_context", content="redis of the bank", topic="bank", project_id="bank")
    token = call("request_global_write_approval", content_preview="all: redis for all")["token"]
    call(
        "save_context",
        content="redis for all",
        topic="all",
        project_id="bank",
        scope="global",
        governance_token=token,
    )
    assert sorted(found(each, "redis", project_id=kept)) == ["Cache the pages in redis", "all"]
    assert sorted(found(each, "redis")) == ["Cache the pages in redis", "all", "bank"]
    assert found(each, "redis", project_id="bank", scope="project") == ["bank"]


def test_a_search_in_an_unknown_project_finds_nothing(each: Each, kept: str) -> None:
    assert found(each, "redis", project_id="nope") == []


def test_a_search_can_name_labels(each: Each, kept: str) -> None:
    assert found(each, "redis release", labels=["Pattern"]) == ["a release"]


def test_a_search_gives_no_more_than_its_limit(call: Call, each: Each, shop: str) -> None:
    for number in range(5):
        call("save_context", content=f"gateway {number}", project_id=shop)
    assert len(found(each, "gateway", limit=3)) == 3


@pytest.mark.parametrize("status", ["superseded", "archived", "expired", "merged"])
def test_what_is_not_live_is_not_found(
    each: Each, connection: psycopg.Connection[DictRow], kept: str, status: str
) -> None:
    connection.execute("update pgmem.node set status = %s where label = 'Decision'", (status,))
    assert found(each, "redis") == []


def test_what_is_no_longer_valid_is_not_found(
    each: Each, connection: psycopg.Connection[DictRow], kept: str
) -> None:
    connection.execute(
        "update pgmem.node set valid_to = now() - interval '1 second' where label = 'Decision'"
    )
    assert found(each, "redis") == []


@pytest.mark.parametrize(
    "query", ["the", "of and", "!?", "'", "\\", ":*", "a & | ! b <-> (", '"', "🚀", "%", "x" * 3000]
)
def test_a_query_of_stop_words_finds_nothing_and_raises_nothing(each: Each, kept: str, query: str) -> None:
    assert found(each, query) == []


@pytest.mark.parametrize(
    "query",
    [
        "redis'; drop schema pgmem cascade; --",
        "redis & !pages",
        "redis:*",
        "(redis",
        "http://x/redis'y redis",
    ],
)
def test_signs_in_a_query_are_only_signs(each: Each, kept: str, query: str) -> None:
    assert "Cache the pages in redis" in found(each, query)


@pytest.mark.parametrize("query", [None, "", "   ", "\x01"])
def test_an_empty_query_is_an_error_that_says_what_to_send(each: Each, kept: str, query: str | None) -> None:
    with pytest.raises(psycopg.Error, match="query must not be empty"):
        found(each, query)  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [0, -1, 1001, 2**31 - 1, None])
def test_a_limit_that_makes_no_sense_is_an_error(each: Each, kept: str, limit: int | None) -> None:
    with pytest.raises(psycopg.Error, match="limit is a whole number from 1 to 1000"):
        found(each, "redis", limit=limit)


def test_an_unknown_label_is_an_error_that_lists_the_known(each: Each, kept: str) -> None:
    with pytest.raises(psycopg.Error, match=r"Unknown label 'Nonsense'\. Known: "):
        found(each, "redis", labels=["Nonsense"])


def test_a_label_is_taken_in_any_case(call: Call, each: Each, kept: str) -> None:
    title = "Cache the pages in redis"
    assert found(each, "redis", labels=["decision"]) == [title]
    items = call("retrieve_context", project_id=kept, categories=["DECISION"])["items"]
    assert [item["label"] for item in items] == ["Decision"]
    call("remember", label="technology", properties={"name": "redis"}, project_id=kept)
    joined = call(
        "relate",
        from_label="decision",
        from_key=title,
        rel_type="USES",
        to_label="TECHNOLOGY",
        to_key="redis",
    )
    assert joined["created"]
    assert call("get_node", label="decision", key=title, as_of="2999-01-01")["label"] == "Decision"
    assert call("forget", label="decision", key=title)["label"] == "Decision"
    assert call("memory_history", label="decision", key=title)["title"] == title


def test_an_unknown_scope_is_an_error(each: Each, kept: str) -> None:
    with pytest.raises(psycopg.Error, match="scope is global, project or focus, not galaxy"):
        found(each, "redis", scope="galaxy")


def test_the_marks_of_tenant_and_project_are_not_words(each: Each, call: Call, kept: str) -> None:
    seq = call("get_scope_state", project_id=kept)
    assert seq["project_exists"] is True
    assert found(each, "@p2 p2 @t") == []
