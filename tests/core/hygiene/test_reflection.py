"""reflect: eleven detectors over nodes and edges; findings wait to be judged, and comes once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Each, Rows

Remember = Callable[..., Any]


@pytest.fixture
def remember(call: Call) -> Remember:
    """`remember("Problem", "Slow", project="a", ABOUT=["Cache"])`: a node with relations."""

    def remember(
        label: str, name: str, project: str | None = None, props: Any = None, **relations: list[Any]
    ) -> Any:
        key = "title" if label in ("Problem", "Vulnerability", "Exercise") else "name"
        given = {key: name, "summary": f"about {name}", **(props or {})}
        return call("remember", label=label, properties=given, relations=relations, project_id=project)["id"]

    return remember


@pytest.fixture
def projects(call: Call) -> None:
    for name in ("a", "b"):
        call("save_session", objective="x", project_id=name)


def found(call: Call, each: Each, detector: str) -> list[Any]:
    call("reflect")
    return [insight for insight in each("surface_insights", limit=1000) if insight["detector"] == detector]


@pytest.mark.usefixtures("projects")
def test_a_problem_solved_elsewhere_is_a_cross_project_solution(
    call: Call, each: Each, remember: Remember
) -> None:
    remember("Concept", "Cache")
    solution = remember("Technology", "Redis", "b")
    solved = remember("Problem", "Slow shop", "b", ABOUT=["Cache"], SOLVED_BY=[str(solution)])
    open_problem = remember("Problem", "Slow search", "a", ABOUT=["Cache"])
    (insight,) = found(call, each, "cross_project_solution")
    assert insight["title"] == "“Redis” (b) may solve “Slow search” (a)"
    assert (insight["confidence"], insight["status"]) == (0.85, "pending")
    assert insight["sources"][:3] == [open_problem, solved, solution]
    assert "“Cache”" in insight["summary"]


@pytest.mark.usefixtures("projects")
@pytest.mark.parametrize(("where", "confidence"), [(("a", "a", "a"), 0.6), (("a", "a", "b"), 0.75)])
def test_a_technology_of_three_is_shared_and_surer_across_projects(
    call: Call, each: Each, remember: Remember, where: tuple[str, ...], confidence: float
) -> None:
    remember("Technology", "PostgreSQL")
    for number, project in enumerate(where):
        remember("Pipeline", f"job {number}", project, USES=["PostgreSQL"])
    (insight,) = found(call, each, "shared_technology")
    assert insight["confidence"] == confidence


def test_a_technology_of_two_is_not_shared(call: Call, each: Each, remember: Remember) -> None:
    remember("Technology", "PostgreSQL")
    for number in range(2):
        remember("Pipeline", f"job {number}", USES=["PostgreSQL"])
    assert found(call, each, "shared_technology") == []


def test_a_course_on_what_a_problem_is_about_is_a_training_opportunity(
    call: Call, each: Each, remember: Remember
) -> None:
    remember("Concept", "Indexes")
    remember("Problem", "Slow search", ABOUT=["Indexes"])
    remember("Course", "SQL for shops", COVERS=["Indexes"])
    (insight,) = found(call, each, "training_opportunity")
    assert (insight["title"], insight["confidence"]) == ("“SQL for shops” may help with “Slow search”", 0.65)


@pytest.mark.parametrize(("concepts", "confidence"), [(1, 0.6), (2, 0.7), (5, 0.9)])
def test_a_technique_is_transferred_where_its_concepts_occur(
    call: Call, each: Each, remember: Remember, concepts: int, confidence: float
) -> None:
    remember("Domain", "Shops")
    remember("Domain", "Libraries")
    names = [f"c{i}" for i in range(concepts)]
    for name in names:
        remember("Concept", name, IN_DOMAIN=["Libraries"])
    remember("Technique", "Barcodes", IN_DOMAIN=["Shops"], APPLIES=names)
    (insight,) = found(call, each, "technique_transfer")
    assert insight["title"] == "“Barcodes” may serve in “Libraries” too"
    assert insight["confidence"] == pytest.approx(confidence)


@pytest.mark.parametrize(("members", "confidence"), [(2, None), (3, 0.65), (9, 0.9)])
def test_a_concept_that_three_meet_in_is_a_cluster(
    call: Call, each: Each, remember: Remember, members: int, confidence: float | None
) -> None:
    remember("Concept", "Cache")
    for number in range(members):
        remember("Person", f"p{number}", ABOUT=["Cache"])
    insights = found(call, each, "concept_clustering")
    assert [i["confidence"] for i in insights] == ([] if confidence is None else [pytest.approx(confidence)])


def test_age_alone_and_few_relations_propose_nothing(
    call: Call, each: Each, remember: Remember, clock: Callable[[str], None]
) -> None:
    clock("2026-01-01")
    for number in range(30):
        remember("Person", f"p{number}")
    remember("Concept", "Rumour", props={"confidence": 0.2})
    clock("2026-12-01")
    assert call("reflect")["created"] == 0


def test_what_was_named_wrong_more_often_than_used_is_proposed_and_forgotten_once_approved(
    call: Call, each: Each, rows: Rows, shop: str
) -> None:
    note = call("save_context", content="The till opens at seven", project_id=shop)["artifact_id"]
    kept = call("save_context", content="The till closes at nine", project_id=shop)["artifact_id"]
    call("feedback", id=note, verdict="wrong")
    call("feedback", id=kept, verdict="used")
    (insight,) = found(call, each, "named_wrong")
    assert (insight["title"], insight["sources"]) == (
        "Forget “The till opens at seven”, which was named wrong?",
        [note],
    )

    def status() -> dict[str, str]:
        return {str(r["id"]): r["status"] for r in rows("select id, status from pgmem.context")}

    assert status() == {str(note): "active", str(kept): "active"}
    for _ in range(2):
        assert call("review_insight", title=str(insight["id"]), action="approve")["status"] == "archived"
    assert status() == {str(note): "archived", str(kept): "active"}
    assert call("search_answer", query="named wrong", project_id=shop, labels=["Insight"])["results"] == []


def test_a_person_approves_an_insight_as_it_was_shown(
    call: Call, each: Each, connection: psycopg.Connection[Any], rows: Rows, remember: Remember
) -> None:
    """An agent wrote the memory anew between the page and the click, and that text was forgotten."""
    rows("select set_config('pgmem.source', 'mcp', false)")
    held = remember("Concept", "Refunds", props={"notes": "Within 30 days."})
    call("feedback", id=held, verdict="wrong")
    (insight,) = found(call, each, "named_wrong")
    assert remember("Concept", "Refunds", props={"notes": "Within 14 days, as the law says."}) == held
    rows("select set_config('pgmem.source', 'cli', false)")
    sent = {"title": str(insight["id"]), "action": "approve"}
    for shown, said in ((insight["shown"], "has changed since it was shown"), (None, "Send shown")):
        with pytest.raises(psycopg.Error, match=said), connection.transaction():
            call("review_insight", **sent, shown=shown)
    states = "select status from pgmem.node where id = any (%s) order by label"
    assert [row["status"] for row in rows(states, [held, insight["id"]])] == ["active", "pending"]
    (again,) = found(call, each, "named_wrong")
    assert call("review_insight", **sent, shown=again["shown"])["status"] == "archived"
    assert [row["status"] for row in rows(states, [held, insight["id"]])] == ["archived", "archived"]


def test_of_memories_in_the_same_words_one_is_left_once_it_is_approved(
    call: Call, each: Each, rows: Rows, shop: str
) -> None:
    first, *copies = (
        call("save_context", content=content, project_id=shop)["artifact_id"]
        for content in ("The till opens at seven", "At seven opens the till", "The till is red")
    )
    (insight,) = found(call, each, "doubles")
    assert insight["sources"] == [copies[0], first]
    status = "select id, status from pgmem.context order by created_at, id"
    assert {row["status"] for row in rows(status)} == {"active"}
    call("review_insight", title=str(insight["id"]), action="approve")
    assert {row["id"]: row["status"] for row in rows(status)} == {
        first: "active",
        copies[0]: "archived",
        copies[1]: "active",
    }
    assert found(call, each, "doubles") == []


def test_a_memory_is_proposed_whose_sources_are_all_gone(
    call: Call, each: Each, rows: Rows, shop: str
) -> None:
    cited: dict[str, dict[str, object]] = {
        "half": {"citation": ["a.py", "b.py"]},
        "gone": {"citation": ["a.py"]},
        "said": {"turn": "00000000-0000-4000-8000-000000000000"},
    }
    half, gone, turned = (
        call("remember", label="Concept", properties={"name": name, **sources}, project_id=shop)["id"]
        for name, sources in cited.items()
    )
    assert found(call, each, "source_gone") == []
    states = [{"id": str(one), "target": "a.py", "state": "GONE"} for one in (half, gone)]
    call("record_sources", project_id=shop, states=states)
    call("sweep")
    assert [row["state"] for row in each("get_sources", id=turned)] == ["GONE"]
    (insight,) = found(call, each, "source_gone")
    assert insight["sources"] == [gone]
    call("review_insight", title=str(insight["id"]), action="approve")
    assert [
        r["id"] for r in rows("select id from pgmem.memory where status = 'archived' and label = 'Concept'")
    ] == [gone]


def test_what_is_too_long_or_names_no_source_where_others_do_is_proposed(
    call: Call, each: Each, shop: str
) -> None:
    call("save_context", content="word " * 960, project_id=shop)
    call("save_context", content="word " * 900 + "end", project_id=shop)
    assert found(call, each, "oversize") == []
    long = call("save_context", content="other " * 900, project_id=shop)["artifact_id"]
    (insight,) = found(call, each, "oversize")
    assert insight["sources"] == [long]
    bare = call("save_decision", title="Sell tea", rationale="We like it.", project_id=shop)["artifact_id"]
    assert found(call, each, "no_source") == []
    call("save_decision", title="Buy rice", rationale="Cheap.", project_id=shop, citation=["a.py"])
    (insight,) = found(call, each, "no_source")
    assert insight["sources"] == [bare]


def test_an_agent_cannot_forget_by_a_proposal_what_is_trusted_more(
    call: Call, each: Each, rows: Rows, shop: str
) -> None:
    rows("select set_config('pgmem.source', 'cli', false)")
    note = call("save_context", content="The till opens at seven", project_id=shop)["artifact_id"]
    rows("select set_config('pgmem.source', 'mcp', false)")
    call("feedback", id=note, verdict="wrong")
    (insight,) = found(call, each, "named_wrong")
    with pytest.raises(psycopg.Error, match="A person decides"):
        call("review_insight", title=str(insight["id"]), action="approve")


def test_what_is_old_and_was_brought_to_nobody_is_proposed_once_the_record_is_long_enough(
    call: Call, each: Each, clock: Callable[[str], None], shop: str
) -> None:
    clock("2026-01-01")
    old = call("save_context", content="The yard was paved", project_id=shop)["artifact_id"]
    used = call("save_context", content="The gate squeaks", project_id=shop)["artifact_id"]
    clock("2026-05-01")
    call("record_recall", by="search_memory", memory_ids=[str(used)])
    assert found(call, each, "never_used") == []
    clock("2026-05-23")
    (insight,) = found(call, each, "never_used")
    assert insight["sources"] == [old]


@pytest.mark.parametrize(("mentions", "insights"), [(2, 0), (3, 1)])
def test_a_stub_that_three_mention_is_a_hub(
    call: Call, each: Each, remember: Remember, mentions: int, insights: int
) -> None:
    for number in range(mentions):
        remember("Person", f"p{number}", ABOUT=["Mystery"])
    hubs = found(call, each, "hub_stubs")
    assert [i["confidence"] for i in hubs] == [0.6] * insights


def test_a_tag_that_names_a_memory_without_an_edge_is_found_and_one_with_an_edge_is_not(
    call: Call, each: Each, remember: Remember
) -> None:
    remember("Technology", "Redis")
    remember("Concept", "Cache", props={"tags": ["redis", "unknown"]})
    remember("Concept", "Queue", props={"tags": ["Redis"]}, USES=["Redis"])
    (insight,) = found(call, each, "tag_without_edge")
    assert insight["title"] == "“Cache” carries the tag “Redis” and is not joined to it"
    assert insight["confidence"] == 0.7


def test_an_insight_is_trusted_as_its_least_trusted_source(
    call: Call, each: Each, rows: Rows, remember: Remember
) -> None:
    for source, name in (("cli", "Redis"), ("mcp", "Valkey")):
        rows("select set_config('pgmem.source', %s, false)", source)
        remember("Technology", name)
    rows("select set_config('pgmem.source', 'cli', false)")
    for name in ("Redis", "Valkey"):
        for number in range(3):
            remember("Pipeline", f"{name} job {number}", USES=[name])
    insights = found(call, each, "shared_technology")
    assert {i["title"].split("”")[0]: i["trust_level"] for i in insights} == {"“Redis": 1.0, "“Valkey": 0.5}


def test_insights_are_their_tenants_alone(call: Call, each: Each, act_as: ActAs, remember: Remember) -> None:
    act_as("acme", "alice")
    call("feedback", id=remember("Concept", "Secret"), verdict="wrong")
    assert call("reflect")["created"] == 1
    act_as("acme", "bob")
    assert call("reflect")["created"] == 0
    assert each("surface_insights") == []
    with pytest.raises(psycopg.Error, match="No insight"):
        call("review_insight", title="Forget “Secret”, which was named wrong?", action="approve")


def test_after_ten_memories_since_the_last_reflection_a_hint_suggests_one(call: Call, shop: str) -> None:
    def hint() -> object:
        return call("run_hygiene", project_id=shop, check_pending_only=True)["proactive_hint"]

    for number in range(8):
        call("save_context", content=f"note {number}", project_id=shop)
    assert hint() is None  # nine, with the session
    call("save_context", content="note 9", project_id=shop)
    assert "a person sees what they say (pgmem reflect)." in str(hint())
    call("reflect")
    assert hint() is None


def test_the_hint_is_in_answers_that_an_agent_reads_anyway_and_counts_its_own_tenant_only(
    call: Call, act_as: ActAs, each: Each
) -> None:
    def hints() -> list[bool]:
        context = call("retrieve_context", project_id="shop", scope="project")
        remembered = call("remember", label="Tool", properties={"name": "Hammer"})
        return ["pgmem reflect" in str(answer["proactive_hint"]) for answer in (context, remembered)]

    act_as("acme", "bob")
    call("save_session", objective="x", project_id="shop")
    for number in range(20):
        call("save_context", content=f"note {number}", project_id="shop")
    act_as("acme", "alice")
    call("save_session", objective="x", project_id="shop")
    for number in range(7):
        call("save_context", content=f"note {number}", project_id="shop")
    assert hints() == [False, False]  # nine, with the session and the hammer
    call("save_context", content="note 9", project_id="shop")
    assert hints() == [True, True]
    for number in range(10, 13):
        call("save_context", content=f"note {number}", project_id="shop")
    assert hints() == [False, True]  # a context that leaves memories out says how to see them instead
    call("reflect")
    assert hints() == [False, False]


@pytest.mark.parametrize(
    ("verb", "wrong", "message"),
    [
        ("surface_insights", {"limit": 0}, "limit is a whole number"),
        ("review_insight", {"title": "x", "action": "like"}, "action is approve or dismiss"),
        ("review_insight", {"title": "x", "action": "approve"}, "No insight 'x'"),
        ("review_insight", {"title": " ", "action": "approve"}, "title must not be empty"),
    ],
)
def test_what_cannot_be_judged_is_refused(call: Call, verb: str, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(psycopg.Error, match=message):
        call(verb, **wrong)
