"""The owner of a memory: tenants by login and by setting, sharing, and the rights of an unknown caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row

from tests.conftest import GRAPH_TIERS, Call, as_admin, caller, past_the_pooler, stores_of, tier
from tests.fixtures.verbs import SAVES, ActAs, Each, Picture, Rows

Login = Callable[..., psycopg.Connection[DictRow]]

WRITES: dict[str, dict[str, object]] = {
    **SAVES,
    "relate": {"from_label": "Decision", "from_key": "a", "rel_type": "CONFLICTS_WITH", "to_label": "Decision", "to_key": "b"},
    "resolve_review": {"save_id": uuid4(), "outcome": "new", "by": "ana"},
    "retry_save": {"save_id": uuid4()},
    "fail_save": {"save_id": uuid4(), "verb": "save_context", "arguments": {"project_id": "shop"}, "message": "m"},
}  # fmt: skip


def test_in_a_store_with_tenants_a_read_without_one_says_how_to_name_it(
    call: Call, act_as: ActAs, shop: str
) -> None:
    call("issue_token", org_id="acme", user_id="ana")
    for step in (
        call("retrieve_context", project_id="till", scope="project"),
        call("search_answer", query="tea", project_id="till"),
        call("search_answer", query="tea"),
    ):
        assert str(step["next_step"]).startswith(
            "This store has tenants, and this call names none: set DEFAULT_ORG_ID"
        )
    act_as("acme", "ana")
    bundle = call("retrieve_context", project_id="shopp", scope="project")
    assert str(bundle["next_step"]).startswith("Did you mean shop? This project does not exist yet")


@pytest.fixture
def login(server: str, dsn: str, connection: psycopg.Connection[DictRow]) -> Iterator[Login]:
    """`login(org_id, user_id)`: a connection of a plain login bound to that tenant; `login()` is bound to none."""
    with ExitStack() as stack:
        admin = stack.enter_context(psycopg.connect(server, autocommit=True))

        def login(org_id: str = "", user_id: str = "") -> psycopg.Connection[DictRow]:
            name, password = f"pgmem_test_{uuid4().hex[:12]}", uuid4().hex
            role = sql.Identifier(name)
            admin.execute(sql.SQL("create role {} login password {}").format(role, sql.Literal(password)))
            stack.callback(_drop, as_admin(dsn), role)
            if stores_of(dsn) != [
                dsn
            ]:  # at a front rights come by the roles, and a login is in the directory
                admin.execute(sql.SQL("grant pgmem_writer, pgmem_reader to {}").format(role))
                connection.execute("select pgmem.bind_role(%s, %s, %s)", (name, org_id, user_id))
            else:
                connection.execute(sql.SQL("grant usage on schema pgmem to {}").format(role))
                connection.execute(
                    sql.SQL("grant execute on all functions in schema pgmem to {}").format(role)
                )
            if org_id or user_id:
                connection.execute(
                    "insert into pgmem.tenant_role values (%s, %s, %s) on conflict do nothing",
                    (name, org_id, user_id),
                )
            theirs = psycopg.connect(
                make_conninfo(past_the_pooler(dsn), user=name, password=password),
                autocommit=True,
                row_factory=dict_row,
            )
            stack.callback(theirs.close)
            return theirs

        yield login


def _drop(dsn: str, role: sql.Identifier) -> None:
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("drop owned by {}").format(role))
        admin.execute(sql.SQL("drop role {}").format(role))


def pretend(connection: psycopg.Connection[DictRow], org_id: str, user_id: str = "") -> None:
    """Set an identity, as any client can."""
    for name, value in (("pgmem.org_id", org_id), ("pgmem.user_id", user_id)):
        connection.execute("select set_config(%s, %s, false)", (name, value))


def contents(call: Call, scope: str = "project", project_id: str = "shop") -> list[str]:
    bundle = call("retrieve_context", project_id=project_id, scope=scope, categories=["Context"])
    return [item["content"] for item in bundle["items"]]


def test_a_bound_login_is_its_tenant_whatever_it_sets(login: Login, rows: Rows) -> None:
    logins = {name: login("acme", name) for name in ("alice", "bob")}
    alice, bob = (caller(connection) for connection in logins.values())
    for call, name in ((alice, "alice"), (bob, "bob")):
        call("save_session", objective="o", project_id="shop")
        call("save_context", content=f"of {name}", project_id="shop")
    pretend(logins["bob"], "acme", "alice")
    assert contents(bob) == ["of bob"]
    assert bob("status")["user_id"] == "bob"
    bob("save_context", content="of bob too", project_id="shop")
    assert contents(alice) == ["of alice"]
    found = rows("select user_id, count(*) from pgmem.node where label = 'Context' group by 1 order by 1")
    assert [(r["user_id"], r["count"]) for r in found] == [("alice", 1), ("bob", 2)]


def test_a_plain_login_without_a_tenant_is_nobody_whatever_it_sets(
    login: Login, call: Call, act_as: ActAs
) -> None:
    act_as("acme", "alice")
    call("save_session", objective="o", project_id="shop")
    call("save_context", content="secret", project_id="shop")
    connection = login()
    pretend(connection, "acme", "alice")
    stranger = caller(connection)
    assert stranger("get_scope_state", project_id="shop")["scope_state"] == "uncertain"
    assert contents(stranger) == []
    assert (stranger("status")["org_id"], stranger("status")["user_id"]) == ("", "")


def test_nobody_writes_in_a_store_with_tenants(login: Login, picture: Picture) -> None:
    login("acme", "alice")
    connection = login()
    pretend(connection, "acme", "alice")
    before = picture()
    with pytest.raises(psycopg.Error, match="This store has tenants") as caught:
        caller(connection)("save_session", objective="o", project_id="shop")
    assert caught.value.sqlstate == "PM006"
    assert picture() == before


def test_the_owner_without_identity_does_not_write_in_a_store_with_tenants(
    login: Login, call: Call, act_as: ActAs
) -> None:
    login("acme", "alice")
    with pytest.raises(psycopg.Error, match="This store has tenants") as caught:
        call("save_session", objective="o", project_id="shop")
    assert caught.value.sqlstate == "PM006"
    act_as("acme", "carol")
    assert call("save_session", objective="o", project_id="shop")["status"] == "saved"


def test_a_client_has_no_rights_on_the_tables(login: Login) -> None:
    alice = login("acme", "alice")
    for statement in (
        "select * from pgmem.node",
        "delete from pgmem.save_attempt",
        "update pgmem.setting set value = '1'",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            alice.execute(statement.encode())


def test_a_client_who_is_not_a_reviewer_decides_nothing(
    login: Login, connection: psycopg.Connection[DictRow]
) -> None:
    alice = caller(login("acme", "alice"))
    for verb, arguments in (
        ("resolve_review", WRITES["resolve_review"]),
        ("refresh_dedup", {}),
        ("run_cypher", {"query": "match (n) return n"}),
    ):
        with pytest.raises(psycopg.Error) as caught:
            alice(verb, **arguments)
        missing = verb == "run_cypher" and tier(connection) not in GRAPH_TIERS
        refused = ("PM008",) if missing else ("PM004", "42501")  # 42501: at a front it may not even call it
        assert caught.value.sqlstate in refused


def test_a_client_cannot_move_the_clock(login: Login) -> None:
    connection = login("acme", "alice")
    connection.execute("select set_config('pgmem.now', '2000-01-01', false)")
    alice = caller(connection)
    alice("save_session", objective="o", project_id="shop")
    bundle = alice("retrieve_context", project_id="shop", scope="project")
    assert not bundle["items"][0]["created_at"].startswith("2000")


def test_two_tenants_hold_the_same_names_without_seeing_each_other(
    call: Call, act_as: ActAs, each: Each
) -> None:
    ids = []
    for org in ("acme", "umbrella"):
        act_as(org)
        assert call("get_scope_state", project_id="shop")["project_exists"] is False
        call("save_session", objective="o", project_id="shop")
        saved = call("save_decision", title="Use PostgreSQL", rationale="r", project_id="shop")
        assert saved["dedup_outcome"] == "new"
        call("save_context", content=f"of {org}", project_id="shop")
        ids.append(saved["artifact_id"])
    assert ids[0] != ids[1]
    for org, own in (("acme", ids[0]), ("umbrella", ids[1])):
        act_as(org)
        assert contents(call) == [f"of {org}"]
        assert [row["id"] for row in each("search_memory", query="postgresql")] == [own]
        again = call("save_decision", title="use postgresql", rationale="r", project_id="shop")
        assert again["artifact_id"] == own


def test_what_is_shared_with_the_organisation_is_seen_by_a_colleague_and_the_rest_is_not(
    call: Call, act_as: ActAs, each: Each
) -> None:
    act_as("acme", "alice")
    call("save_session", objective="o", project_id="shop", share="org")
    call("save_context", content="for all of us", topic="shared", project_id="shop", share="org")
    call("save_context", content="for me", topic="private", project_id="shop")
    assert sorted(contents(call)) == ["for all of us", "for me"]
    act_as("acme", "bob")
    assert contents(call) == ["for all of us"]
    assert [row["title"] for row in each("search_memory", query="private shared")] == ["shared"]
    act_as("umbrella", "eve")
    assert call("get_scope_state", project_id="shop")["project_exists"] is False
    assert contents(call) == []
    assert each("search_memory", query="private shared") == []


def test_a_colleague_writes_into_a_shared_project_privately_or_for_all(
    call: Call, act_as: ActAs, rows: Rows
) -> None:
    act_as("acme", "alice")
    call("save_session", objective="o", project_id="shop", share="org")
    act_as("acme", "bob")
    call("save_context", content="bob's", project_id="shop", focus="checkout")
    call("save_context", content="ours", project_id="shop", share="org", focus="returns")
    act_as("acme", "alice")
    assert contents(call) == ["ours"]
    assert call("get_scope_state", project_id="shop", focus="checkout")["focus_exists"] is False
    assert call("get_scope_state", project_id="shop", focus="returns")["focus_exists"] is True
    assert rows("select count(*) from pgmem.node where label = 'Project'")[0]["count"] == 1


def test_nothing_is_shared_out_of_a_private_project(call: Call, act_as: ActAs, picture: Picture) -> None:
    act_as("acme", "alice")
    call("save_session", objective="o", project_id="shop")
    before = picture()
    with pytest.raises(psycopg.Error, match="Project shop is yours alone"):
        call("save_context", content="c", project_id="shop", share="org")
    assert picture() == before


def test_a_private_decision_never_hides_a_shared_one(call: Call, act_as: ActAs) -> None:
    act_as("acme", "alice")
    call("save_session", objective="o", project_id="shop", share="org")
    ask = {"title": "Use PostgreSQL", "rationale": "r", "project_id": "shop"}
    private, shared = call("save_decision", **ask), call("save_decision", **ask, share="org")
    assert (private["dedup_outcome"], shared["dedup_outcome"]) == ("new", "new")
    act_as("acme", "bob")
    bundle = call("retrieve_context", project_id="shop", scope="project", categories=["Decision"])
    assert [item["id"] for item in bundle["items"]] == [str(shared["artifact_id"])]


def test_a_name_means_the_callers_own_project_before_the_shared_one(call: Call, act_as: ActAs) -> None:
    act_as("acme", "alice")
    call("save_session", objective="o", project_id="shop", share="org")
    call("save_context", content="shared", project_id="shop", share="org")
    act_as("acme", "bob")
    assert contents(call) == ["shared"]


def test_what_was_written_without_identity_is_read_by_everyone(call: Call, act_as: ActAs) -> None:
    call("save_session", objective="o", project_id="shop")
    call("save_context", content="public", project_id="shop")
    act_as("acme", "alice")
    assert contents(call) == ["public"]
    call("save_context", content="alice's", project_id="shop")
    act_as()
    assert contents(call) == ["public"]


def test_global_means_all_projects_of_the_tenant_and_no_others(call: Call, act_as: ActAs) -> None:
    for org in ("acme", "umbrella"):
        act_as(org)
        call("save_session", objective="o", project_id="shop")
        token = call("request_global_write_approval", content_preview=f"of {org}")["token"]
        call("save_context", content=f"of {org}", project_id="shop", scope="global", governance_token=token)
    act_as("acme")
    assert contents(call, scope="global") == ["of acme"]


def test_identity_is_never_an_argument(rows: Rows) -> None:
    found = rows(
        "select p.proname from pg_proc p, unnest(p.proargnames) as a where p.pronamespace = 'pgmem'::regnamespace"
        " and p.prosecdef and a in ('p_org_id', 'p_user_id', 'p_tenant', 'p_agent_id')"
        " and p.prosrc !~ 'is_reviewer|require_reviewer|is_owner|require_owner'"
        # There p_agent_id is a filter on the agents of memories, beside the tenants of the caller.
        " and not (p.proname in ('search_memory', 'search_answer', 'list_memories') and a = 'p_agent_id')"
    )
    assert found == []


@pytest.mark.parametrize(("org_id", "user_id"), [("acme", "alice\x1f"), ("acme\x1falice", "")])
def test_no_identity_can_be_written_so_that_it_is_anothers(
    call: Call, act_as: ActAs, org_id: str, user_id: str
) -> None:
    act_as(org_id, user_id)
    with pytest.raises(psycopg.Error, match="control character") as caught:
        call("save_session", objective="o", project_id="shop")
    assert caught.value.sqlstate == "PM001"


# An unknown caller where identity is required


@pytest.fixture
def strict(call: Call, connection: psycopg.Connection[DictRow], shop: str) -> None:
    """A store with public memories that now requires identity."""
    call("save_context", content="public gateway", project_id=shop)
    connection.execute("update pgmem.setting set value = 'true' where name = 'require_identity'")


def test_where_identity_is_required_nobody_reads_nothing(strict: None, call: Call, each: Each) -> None:
    assert call("get_scope_state", project_id="shop")["scope_state"] == "uncertain"
    bundle = call("retrieve_context", project_id="shop", scope="project")
    assert (bundle["retrieval_status"], bundle["items"]) == ("empty", [])
    assert each("search_memory", query="gateway") == []
    assert call("status")["nodes"] == 0
    with pytest.raises(psycopg.Error, match="No project 'shop' found"):
        call("get_save_status", project_id="shop")


@pytest.mark.parametrize("verb", WRITES)
def test_where_identity_is_required_nobody_writes(
    strict: None, call: Call, picture: Picture, verb: str
) -> None:
    before = picture()
    with pytest.raises(psycopg.Error, match=r"set DEFAULT_ORG_ID or DEFAULT_USER_ID") as caught:
        call(verb, **WRITES[verb])
    assert caught.value.sqlstate == "PM006"
    assert picture() == before


def test_where_identity_is_required_a_tenant_reads_and_writes(
    strict: None, call: Call, act_as: ActAs
) -> None:
    act_as("acme", "alice")
    assert contents(call) == ["public gateway"]
    assert call("save_context", content="mine", project_id="shop")["status"] == "saved"


# Isolation


@pytest.mark.usefixtures("dsn")
@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
@pytest.mark.parametrize("verb", WRITES)
def test_a_writing_verb_refuses_a_snapshot_older_than_its_locks(
    connection: psycopg.Connection[DictRow], call: Call, picture: Picture, shop: str, verb: str, level: str
) -> None:
    before = picture()
    connection.isolation_level = psycopg.IsolationLevel[level.upper().replace(" ", "_")]
    with (
        pytest.raises(psycopg.Error, match=f"this transaction is {level.upper()}") as caught,
        connection.transaction(),
    ):
        call(verb, **WRITES[verb])
    assert caught.value.sqlstate == "PM005"
    connection.isolation_level = None
    assert picture() == before


@pytest.mark.usefixtures("dsn")
@pytest.mark.parametrize("level", list(psycopg.IsolationLevel))
def test_a_reading_verb_takes_any_isolation(
    connection: psycopg.Connection[DictRow], call: Call, each: Each, shop: str, level: psycopg.IsolationLevel
) -> None:
    connection.isolation_level = level
    with connection.transaction():
        assert call("get_scope_state", project_id=shop)["project_exists"] is True
        assert call("retrieve_context", project_id=shop, scope="project")["retrieval_status"] == "succeeded"
        assert len(each("search_memory", query="shop")) == 1
        assert call("check_duplicate", title="t", rationale="r", project_id=shop)["dedup_outcome"] == "new"
        assert call("get_save_status", project_id=shop)["count"] == 0
