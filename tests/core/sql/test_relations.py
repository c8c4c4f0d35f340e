"""relate and neighbours: edges by hand, and walks over all edges."""

from __future__ import annotations

from itertools import pairwise

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Each, Picture, Rows


def join(call: Call, a: object, b: object, rel: str = "CONFLICTS_WITH", **more: object) -> DictRow:
    ends = {
        "from_label": "Decision",
        "from_key": str(a),
        "rel_type": rel,
        "to_label": "Decision",
        "to_key": str(b),
    }
    return call("relate", **{**ends, **more})


@pytest.fixture
def cards(call: Call, shop: str) -> object:
    """The id of a decision."""
    return call("save_decision", title="Take cards", rationale="r", project_id=shop)["artifact_id"]


@pytest.fixture
def cash(call: Call, shop: str) -> object:
    """The id of another decision."""
    return call("save_decision", title="Refuse cash", rationale="r", project_id=shop)["artifact_id"]


def test_two_decisions_are_joined_by_title(call: Call, cards: object, cash: object) -> None:
    edge = join(call, "Take cards", "Refuse cash")
    assert edge == {"from_id": cards, "rel_type": "CONFLICTS_WITH", "to_id": cash, "created": True}


def test_two_decisions_are_joined_by_id(call: Call, cards: object, cash: object) -> None:
    assert join(call, cards, str(cash).upper())["to_id"] == cash


def test_the_same_edge_again_changes_nothing(
    call: Call, picture: Picture, cards: object, cash: object
) -> None:
    join(call, cards, cash)
    before = picture()
    assert join(call, cards, cash)["created"] is False
    assert picture() == before


def test_a_conflict_has_no_direction(call: Call, rows: Rows, cards: object, cash: object) -> None:
    join(call, cards, cash)
    assert join(call, cash, cards)["created"] is False
    assert rows("select count(*) from pgmem.edge")[0]["count"] == 1


@pytest.mark.parametrize("rel", ["SUPERSEDES", "PRODUCED", "BELONGS_TO", "HAS_FOCUS", "MERGES_INTO"])
def test_what_the_verbs_mean_cannot_be_made_by_hand(
    call: Call, picture: Picture, cards: object, cash: object, rel: str
) -> None:
    before = picture()
    with pytest.raises(psycopg.Error, match="made by the verbs alone, not by relate") as caught:
        join(call, cards, cash, rel)
    assert caught.value.sqlstate == "PM011"
    assert picture() == before


@pytest.mark.parametrize(
    ("rel", "instead"),
    [
        ("", "Known: .*, DEPENDS_ON, "),
        ("NONSENSE", "Known: "),
        ("conflicts_with", r"Did you mean CONFLICTS_WITH\?"),
        ("'; drop schema pgmem cascade; --", "Known: "),
        ("x" * 1_000_000, "Known: "),
    ],
)
def test_an_unknown_relation_is_an_error_that_names_the_nearest(
    call: Call, picture: Picture, cards: object, cash: object, rel: str, instead: str
) -> None:
    before = picture()
    with pytest.raises(psycopg.Error, match=rf"Unknown relation .*{instead}") as caught:
        join(call, cards, cash, rel)
    assert caught.value.sqlstate == "PM001"
    assert len(str(caught.value)) < 4000
    assert picture() == before


def test_a_relation_joins_only_the_labels_it_is_for(
    call: Call, picture: Picture, shop: str, cards: object
) -> None:
    call("upsert_entity", entity_name="api", fact="f", project_id=shop)
    before = picture()
    with pytest.raises(
        psycopg.Error, match="CONFLICTS_WITH joins Decision with Decision, not Decision with EntityFact"
    ) as caught:
        join(call, cards, "api", to_label="EntityFact")
    assert caught.value.sqlstate == "PM011"
    assert picture() == before


def test_a_memory_is_not_joined_with_itself(call: Call, cards: object) -> None:
    with pytest.raises(psycopg.Error, match="cannot be joined with itself"):
        join(call, cards, cards)


@pytest.mark.parametrize(
    ("label", "instead"),
    [
        ("", "Known: .*, Decision, "),
        ("Decisions", r"Did you mean Decision\?"),
        ("Nonsense", "Known: "),
        ("'; drop schema pgmem cascade; --", "Known: "),
    ],
)
def test_an_unknown_label_is_an_error_that_names_the_nearest(
    call: Call, cards: object, cash: object, label: str, instead: str
) -> None:
    with pytest.raises(psycopg.Error, match=rf"Unknown label .*{instead}"):
        join(call, cards, cash, from_label=label)


@pytest.mark.parametrize(
    "key",
    [
        "nobody",
        "take card",
        "9f6a3c1e-0d52-4b7e-8a44-3f1f6f0f2b11",
        "'; drop schema pgmem cascade; --",
        "Take cards\x01",
    ],
)
def test_a_name_that_fits_nothing_is_not_found(
    call: Call, picture: Picture, cards: object, cash: object, key: str
) -> None:
    before = picture()
    with pytest.raises(psycopg.Error, match="No Decision named") as caught:
        join(call, cards, key)
    assert caught.value.sqlstate == "PM002"
    assert picture() == before


@pytest.mark.parametrize("key", [None, "", "  "])
def test_an_empty_name_is_an_error_that_says_what_to_send(call: Call, cards: object, key: str | None) -> None:
    with pytest.raises(psycopg.Error, match="send its key, title or id"):
        call("neighbours", label="Decision", key=key)


def test_a_name_that_fits_several_is_an_error_that_lists_their_ids(
    call: Call, cards: object, cash: object
) -> None:
    call("save_session", objective="o", project_id="bank")
    twin = call("save_decision", title="Take cards", rationale="r", project_id="bank")["artifact_id"]
    with pytest.raises(psycopg.Error, match="names 2 nodes") as caught:
        join(call, "Take cards", cash)
    assert caught.value.sqlstate == "PM003"
    assert str(twin) in str(caught.value)
    assert str(cards) in str(caught.value)


def test_memories_of_one_name_in_two_projects_are_separate(call: Call, cards: object, cash: object) -> None:
    call("save_session", objective="o", project_id="bank")
    call("save_decision", title="Take cards", rationale="r", project_id="bank")
    assert join(call, "Take cards", "Refuse cash", project_id="shop")["from_id"] == cards


def test_an_unknown_project_is_not_taken_for_every_project(call: Call, cards: object, cash: object) -> None:
    with pytest.raises(psycopg.Error, match="No project 'nope'"):
        join(call, "Take cards", "Refuse cash", project_id="nope")
    with pytest.raises(psycopg.Error, match="No project 'nope'"):
        call("neighbours", label="Decision", key="Take cards", project_id="nope")


def test_a_title_means_the_decision_in_force_not_the_one_it_superseded(
    call: Call, shop: str, cash: object
) -> None:
    call("save_decision", title="Take cards", rationale="first", project_id=shop)
    new = call("save_decision", title="Take cards", rationale="second", project_id=shop)
    assert new["dedup_outcome"] == "supersede"
    assert join(call, "Take cards", cash)["from_id"] == new["artifact_id"]


def test_an_archived_memory_is_found_by_id_alone(
    call: Call, connection: psycopg.Connection[DictRow], cards: object, cash: object
) -> None:
    connection.execute("update pgmem.node set status = 'archived' where id = %s", (cards,))
    with pytest.raises(psycopg.Error, match="No Decision named 'Take cards'"):
        join(call, "Take cards", cash)
    assert join(call, cards, cash)["created"] is True


# neighbours


def around(each: Each, key: object, **more: object) -> list[tuple[str, int, list[str]]]:
    found = each("neighbours", **{"label": "Decision", "key": str(key), **more})
    return [(row["title"], row["depth"], row["path"]) for row in found]


@pytest.fixture
def chain(call: Call, shop: str) -> list[object]:
    """Decisions 0 to 6, each in conflict with the next."""
    titles = ["zero", "one", "two", "three", "four", "five", "six"]
    ids = [call("save_decision", title=t, rationale="r", project_id=shop)["artifact_id"] for t in titles]
    for a, b in pairwise(ids):
        join(call, a, b)
    return ids


def test_one_hop_gives_both_sides(each: Each, chain: list[object]) -> None:
    assert around(each, chain[1]) == [("zero", 1, ["<CONFLICTS_WITH"]), ("two", 1, ["CONFLICTS_WITH"])]


@pytest.mark.parametrize(("hops", "reached"), [(1, 1), (2, 2), (3, 3), (5, 5)])
def test_more_hops_reach_further_nearest_first(
    each: Each, chain: list[object], hops: int, reached: int
) -> None:
    found = around(each, chain[0], hops=hops)
    assert [title for title, _, _ in found] == ["one", "two", "three", "four", "five"][:reached]
    assert [depth for _, depth, _ in found] == list(range(1, reached + 1))
    assert found[-1][2] == ["CONFLICTS_WITH"] * reached


def test_a_cycle_is_walked_once_at_the_least_depth(call: Call, each: Each, chain: list[object]) -> None:
    join(call, chain[3], chain[0])
    found = around(each, chain[0], hops=5)
    assert [(title, depth) for title, depth, _ in found] == [
        ("one", 1), ("three", 1), ("two", 2), ("four", 2), ("five", 3), ("six", 4)]  # fmt: skip


def test_the_limit_keeps_the_nearest(each: Each, chain: list[object]) -> None:
    assert [title for title, _, _ in around(each, chain[0], hops=5, limit=2)] == ["one", "two"]


def test_a_memory_without_edges_has_no_neighbours(each: Each, cards: object) -> None:
    assert around(each, cards) == []


def test_what_a_decision_superseded_is_its_neighbour(call: Call, each: Each, shop: str) -> None:
    old = call("save_decision", title="cache the product pages in redis", rationale="r", project_id=shop)
    new = call("save_decision", title="cache all product pages in redis", rationale="r", project_id=shop)
    assert around(each, new["artifact_id"]) == [("cache the product pages in redis", 1, ["SUPERSEDES"])]
    assert around(each, old["artifact_id"]) == [("cache all product pages in redis", 1, ["<SUPERSEDES"])]


@pytest.mark.parametrize("hops", [0, -1, 6, 2**31 - 1, None])
def test_hops_are_one_to_five(each: Each, cards: object, hops: int | None) -> None:
    with pytest.raises(psycopg.Error, match="hops is a whole number from 1 to 5"):
        around(each, cards, hops=hops)


@pytest.mark.parametrize("limit", [0, -1, 1001, None])
def test_the_limit_of_neighbours_makes_sense(each: Each, cards: object, limit: int | None) -> None:
    with pytest.raises(psycopg.Error, match="limit is a whole number from 1 to 1000"):
        around(each, cards, limit=limit)


def test_another_tenants_memory_is_not_a_neighbour_and_cannot_be_joined(
    call: Call, each: Each, act_as: ActAs
) -> None:
    ids = {}
    for user in ("alice", "bob"):
        act_as("acme", user)
        call("save_session", objective="o", project_id="shop")
        ids[user] = call("save_decision", title=f"of {user}", rationale="r", project_id="shop")["artifact_id"]
    with pytest.raises(psycopg.Error, match="No Decision named"):
        join(call, ids["bob"], ids["alice"])
    with pytest.raises(psycopg.Error, match="No Decision named"):
        around(each, ids["alice"])


def test_a_walk_does_not_pass_through_another_tenants_memory(
    call: Call, each: Each, act_as: ActAs, connection: psycopg.Connection[DictRow]
) -> None:
    act_as("acme")
    call("save_session", objective="o", project_id="shop")
    shared = [
        call("save_decision", title=t, rationale="r", project_id="shop")["artifact_id"]
        for t in ("one", "three")
    ]
    act_as("acme", "bob")
    own = call("save_decision", title="two", rationale="r", project_id="shop")["artifact_id"]
    for end in shared:
        join(call, own, end)
    assert [title for title, _, _ in around(each, shared[0], hops=2)] == ["two", "three"]
    act_as("acme", "alice")
    assert around(each, shared[0], hops=2) == []


def test_a_memory_is_not_joined_with_what_the_store_makes_itself(
    call: Call, connection: psycopg.Connection[DictRow]
) -> None:
    """Such an edge was in no export and no exchange."""
    call("save_session", objective="open", project_id="shop")
    made = call("remember", label="Concept", properties={"name": "tea"}, project_id="shop")
    row = connection.execute("select id from pgmem.node where label = 'GlobalScope'").fetchone()
    assert row is not None
    ends = ("Concept", str(made["id"]), "GlobalScope", str(row["id"]))
    for one, two in (ends[:2], ends[2:]), (ends[2:], ends[:2]):
        with (
            connection.transaction(),
            pytest.raises(psycopg.Error, match="GlobalScope is of the store itself") as caught,
        ):
            call(
                "relate",
                from_label=one[0],
                from_key=one[1],
                rel_type="RELATED_TO",
                to_label=two[0],
                to_key=two[1],
            )
        assert caught.value.sqlstate == "PM011"
