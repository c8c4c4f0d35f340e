"""Memories that fade, are dropped and come back; their owner; and that each repair asks first and can be undone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from tests.conftest import Call
from tests.core.cli.conftest import Run
from tests.fixtures.verbs import Rows


def shown(run: Run, *arguments: str) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_history_lists_every_state_and_revert_brings_one_back(run: Run, call: Call, shop: str) -> None:
    for fact in ("a cache", "a queue"):
        call("upsert_entity", entity_name="Redis", fact=fact, project_id=shop)
    assert [v["properties"]["fact"] for v in shown(run, "history", "EntityFact", "Redis")] == [
        "a cache",
        "a queue",
    ]
    assert "a cache" in run("history", "EntityFact", "Redis", "-p", shop).stdout
    assert (
        run("revert", "EntityFact", "Redis", "1").stdout
        == "EntityFact Redis: version 3 restores version 1.\n"
    )
    assert shown(run, "history", "EntityFact", "Redis")[-1]["properties"]["fact"] == "a cache"
    assert run("history", "EntityFact", "Valkey").stderr.startswith("pgmem: No EntityFact named 'Valkey'")


def test_a_memory_is_named_by_its_id_alone_too(run: Run, call: Call, shop: str) -> None:
    for fact in ("a cache", "a queue"):
        found = str(call("upsert_entity", entity_name="Redis", fact=fact, project_id=shop)["artifact_id"])
    assert len(shown(run, "history", found)) == 2
    assert run("neighbours", found).exit_code == 0
    asked = run("forget", found, typed="y\n")
    assert "Hide EntityFact “Redis” everywhere?" in asked.stdout
    assert asked.stdout.endswith("EntityFact Redis: archived.\n")
    assert run("revert", found, "1").stdout == "EntityFact Redis: version 4 restores version 1.\n"


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        (("history", "Redis"), 1, "No memory has the id, name or title 'Redis'; pgmem search finds it"),
        (("forget", "Use", "one", "queue", "--yes"), 1, "or title 'Use one queue'"),
        (("history", "00000000-0000-4000-8000-000000000000"), 1, "No memory 00000000-"),
        (("revert", "EntityFact", "Redis", "first"), 2, "then the number of the version"),
        (("revert", "2"), 2, "then the number of the version"),
        (("forget", "EntityFact", "Redis", "--older-than", "3"), 2, "at most a LABEL"),
    ],
)
def test_a_memory_that_is_named_wrongly_is_not_looked_for(
    run: Run, words: tuple[str, ...], code: int, shown: str
) -> None:
    refused = run(*words)
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (code, "", 1)
    assert shown in refused.stderr


def test_forget_hides_after_a_yes_and_revert_undoes_it(run: Run, call: Call, shop: str) -> None:
    call("upsert_entity", entity_name="Redis", fact="a cache", project_id=shop)
    refused = run("forget", "EntityFact", "Redis", typed="n\n")
    assert (refused.exit_code, "Hide EntityFact “Redis” everywhere?" in refused.stdout) == (1, True)
    assert run("search", "cache", "--json").stdout.count('"Redis"') == 2
    assert run("forget", "EntityFact", "Redis", typed="y\n").stdout.endswith("EntityFact Redis: archived.\n")
    assert '"Redis"' not in run("search", "cache", "--json").stdout
    assert run("revert", "EntityFact", "Redis", "1").exit_code == 0
    assert run("search", "cache", "--json").stdout.count('"Redis"') == 2


def test_a_purge_asks_by_its_own_words_and_is_for_good(run: Run, call: Call, shop: str) -> None:
    call("upsert_entity", entity_name="Redis", fact="a cache", project_id=shop)
    refused = run("forget", "EntityFact", "Redis", "--purge", typed="n\n")
    assert (refused.exit_code, "cannot be undone" in refused.stdout) == (1, True)
    assert run("forget", "EntityFact", "Redis", "--purge", "--yes").stdout == "EntityFact Redis: purged.\n"
    assert run("revert", "EntityFact", "Redis", "1").exit_code == 1
    assert run("forget").exit_code == 2


def test_a_purge_names_what_is_still_stored_under_the_name(run: Run, call: Call, shop: str) -> None:
    first = call("save_decision", title="Sell tea", rationale="r", project_id=shop)["artifact_id"]
    run("forget", "Decision", "Sell tea", "--yes")
    call("save_session", objective="begin", project_id="another")
    call("save_decision", title="Sell tea", rationale="theirs", project_id="another")
    call("save_decision", title="Sell tea", rationale="again", project_id=shop)
    purged = run("forget", "Decision", "Sell tea", "--purge", "--yes", "--project", shop)
    first_line, other = purged.stdout.splitlines()
    assert first_line == "Decision Sell tea: purged."
    assert other.startswith("  the same in another, active: Sell tea (")
    assert purged.stderr.startswith(f"Under this name is still stored: {first} (archived). Purge it too")
    rest = run("forget", str(first), "--purge", "--yes").stderr
    assert rest == "Others say the same: give their ids with --also to forget them too.\n"


def test_what_nobody_has_touched_is_counted_then_let_go_of(
    run: Run, call: Call, rows: Rows, shop: str
) -> None:
    call("save_context", content="an old note", project_id=shop)
    rows("update pgmem.node set updated_at = now() - interval '100 days' where label = 'Context' returning 1")
    assert run("forget", "--older-than", "90", "--dry-run").stdout == "1 memory would be archived.\n"
    assert run("forget", "Context", "--older-than", "90", "-y").stdout == "1 memory archived.\n"
    assert shown(run, "forget", "--older-than", "90", "-y")["affected"] == 0


def test_decay_counts_what_has_faded_and_archives_what_nobody_believes(
    run: Run, call: Call, rows: Rows, shop: str
) -> None:
    call("save_context", content="an old note", project_id=shop)
    rows("update pgmem.node set updated_at = now() - interval '400 days' where label = 'Context' returning 1")
    counted = run("decay", "--rate", "0.01", "--max-age", "90", "--dry-run")
    assert counted.stdout == "1 memory has faded, 0 archived.\n"
    done = shown(run, "decay", "--archive-below", "0.05")
    assert (done["affected"], done["archived"]) == (1, 1)
    assert run("decay", "--rate", "-1").exit_code == 2
    said = run("decay", "--rate", "0.05").stderr
    assert said.endswith("Change these (pgmem config set), or send --archive-below or --dry-run.\n")


def test_a_token_is_shown_once_listed_without_its_secret_and_revoked(run: Run) -> None:
    issued = run("token", "issue", "--org", "acme", "--user", "alice", "--name", "laptop", "--expires", "30d")
    secret = issued.stdout.strip()
    assert re.fullmatch(r"pgmem_[0-9a-f]{64}", secret)
    assert "for acme/alice, valid until 20" in issued.stderr
    narrow = run("token", "list", COLUMNS="100").stdout
    assert secret not in narrow
    (listed,) = shown(run, "token", "list")
    assert listed["id"] in narrow  # whole: it is what `token revoke` takes
    assert (listed["org_id"], listed["user_id"], listed["name"]) == ("acme", "alice", "laptop")
    assert run("token", "revoke", listed["id"]).stdout.startswith("laptop: revoked 20")
    assert shown(run, "token", "list")[0]["active"] is False
    assert run("token", "revoke", str(UUID(int=0))).exit_code == 1


def test_a_token_for_an_exchange_is_issued_and_listed_as_one(run: Run) -> None:
    assert run("token", "issue", "--org", "acme", "--for", "sync", "--vouches").exit_code == 0
    (listed,) = shown(run, "token", "list")
    assert (listed["for_sync"], listed["vouches"], listed["for_person"]) == (True, True, False)
    assert "another store" in run("token", "list", COLUMNS="200").stdout
    refused = run("token", "issue", "--org", "acme", "--for", "sync", "--person")
    assert (refused.exit_code, "two purposes" in refused.stderr) == (1, True)


def test_only_the_first_tenant_s_token_says_what_the_machine_needs(run: Run) -> None:
    first = run("token", "issue", "--org", "acme", "--user", "alice")
    assert first.stderr.startswith("The store gets tenants by this token")
    assert "undoes it" in first.stderr
    second = run("token", "issue", "--org", "beta", "--user", "bob")
    assert second.stderr.count("\n") == 1, second.stderr


def test_without_a_tenant_a_command_says_whose_memories_it_asks(run: Run, call: Call, shop: str) -> None:
    alice = {"DEFAULT_ORG_ID": "acme", "DEFAULT_USER_ID": "alice"}
    run("token", "issue", "--org", "acme", "--user", "alice")
    run("save", "session", "begin", "--project", "till", **alice)
    for command in (("retrieve", "till"), ("search", "till", "--project", "till"), ("search", "tea")):
        said = run(*command).stdout
        assert "This store has memories of acme/alice: set DEFAULT_ORG_ID=acme" in said, said
        assert "not exist" not in said
    assert "Did you mean till? This project does not exist yet" in run("retrieve", "tilll", **alice).stdout
    assert (
        "Did you mean till? This project is not known" in run("search", "tea", "-p", "tilll", **alice).stdout
    )
    assert "(scope uncertain), asked as acme/alice" in run("retrieve", "tilll", **alice).stdout


def test_after_an_adoption_a_command_without_the_tenant_says_where_the_memories_are(
    run: Run, call: Call, shop: str
) -> None:
    run("tenancy", "adopt", "--org", "acme", "--user", "alice")
    for command in (("retrieve", shop), ("search", "shop"), ("status",)):
        said = " ".join(run(*command).stdout.split())
        assert (
            "This store has memories of acme/alice: set DEFAULT_ORG_ID=acme and DEFAULT_USER_ID=alice to read"
            in said
        )
        assert "not exist" not in said
        assert "has memories of" not in run(*command, DEFAULT_ORG_ID="acme", DEFAULT_USER_ID="alice").stdout


@pytest.mark.parametrize("expires", ["soon", "2001-01-01"])
def test_a_token_ends_in_a_time_to_come(run: Run, expires: str) -> None:
    result = run("token", "issue", "--org", "acme", "--expires", expires)
    assert result.exit_code in (1, 2)
    assert result.stderr.count("pgmem: ") == 1


def test_one_user_s_store_becomes_a_tenant_s_and_a_login_is_bound_to_it(
    run: Run, call: Call, shop: str, make_login: Callable[..., str]
) -> None:
    login = make_login()
    call("save_decision", title="Sell tea", rationale="r", project_id=shop)
    would = run("tenancy", "adopt", "--org", "acme", "--user", "alice", "--dry-run")
    assert re.fullmatch(r"\d+ nodes and 2 saves would be assigned to acme/alice\.\n", would.stdout)
    assert run("tenancy", "list").stdout.count("(public)") == 1
    done = run("tenancy", "adopt", "--org", "acme", "--user", "alice")
    assert "assigned to acme/alice" in done.stdout
    advice = "DEFAULT_ORG_ID=acme and DEFAULT_USER_ID=alice on this machine to see and save them.\n"
    assert done.stderr == f"Set {advice}"
    assert {(t["org_id"], t["user_id"], t["memories"]) for t in shown(run, "tenancy", "list")} >= {
        ("acme", "alice", 2)
    }
    bound = run("tenancy", "bind", login, "--org", "acme", "--user", "alice")
    assert bound.stdout == f"{login} is acme/alice.\n", bound.stderr
    assert [t["roles"] for t in shown(run, "tenancy", "list") if t["org_id"] == "acme"] == [[login]]
    assert run("tenancy", "bind", login).stdout == f"{login} is no longer bound to a tenant.\n"
    assert run("tenancy", "bind", "nobody_at_all", "--org", "acme").exit_code == 1


def test_a_subject_is_erased_after_a_yes_and_the_receipt_counts(run: Run, call: Call, rows: Rows) -> None:
    rows("select set_config('pgmem.org_id', 'acme', false), set_config('pgmem.user_id', 'alice', false)")
    call("save_session", objective="begin", project_id="shop")
    who = ("erase-subject", "--org", "acme", "--user", "alice")
    counted = run(*who, "--dry-run")
    assert "rows would be erased" in counted.stdout
    assert run(*who, typed="n\n").exit_code == 1
    assert rows("select count(*) as n from pgmem.node where org_id = 'acme'")[0]["n"] > 0
    erased = run(*who, "--by", "ada", typed="y\n")
    assert "Erased; receipt " in erased.stdout
    assert rows("select count(*) as n from pgmem.node where org_id = 'acme'") == [{"n": 0}]
    again = run(*who, "--yes", "--json")
    assert (again.exit_code, json.loads(again.stdout)["receipt_id"]) == (1, None)


@pytest.mark.parametrize("sure", [("--yes",), ()], ids=["yes", "asked"])
def test_an_erasure_that_erased_nothing_is_an_error_without_a_receipt(
    run: Run, rows: Rows, sure: tuple[str, ...]
) -> None:
    """`--user bob` printed a receipt over 0 rows."""
    nothing = run("erase-subject", "--org", "acme", "--user", "nobody", *sure)
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert nothing.stderr.startswith("pgmem: No rows of acme/nobody found; nothing was erased")
    assert rows("select from pgmem.erasure") == []


def test_an_erasure_of_a_user_asks_for_the_organisation(run: Run, call: Call, rows: Rows) -> None:
    """Without --org the bob of an organisation kept everything."""
    rows("select set_config('pgmem.org_id', 'acme', false), set_config('pgmem.user_id', 'bob', false)")
    call("save_session", objective="begin", project_id="shop")
    for more in (("--yes",), ("--dry-run",), ()):
        refused = run("erase-subject", "--user", "bob", *more)
        assert (refused.exit_code, refused.stderr) == (
            1,
            "pgmem: User 'bob' belongs to the organisation 'acme': send org_id too.\n",
        )
    assert rows("select from pgmem.erasure") == []
    rows("select set_config('pgmem.org_id', '', false)")
    call("save_session", objective="begin", project_id="shop")
    assert run("erase-subject", "--user", "bob", "--yes").exit_code == 0
    assert rows("select count(*) as n from pgmem.node where org_id = 'acme' and label = 'Session'") == [
        {"n": 1}
    ]


@pytest.mark.parametrize("repair", ["merge", "supersede"])
def test_what_a_repair_prints_to_undo_it_undoes_it(
    run: Run, call: Call, rows: Rows, shop: str, repair: str
) -> None:
    ends = ("Redis", "Valkey") if repair == "merge" else ("Sell black tea", "Only green leaves")
    for name in ends:
        if repair == "merge":
            call("upsert_entity", entity_name=name, fact=f"{name} is a cache", project_id=shop)
        else:
            call("save_decision", title=name, rationale="r", project_id=shop)
    live = "select title from pgmem.live_node where label in ('EntityFact', 'Decision') order by title"
    before = rows(live)
    done = run(repair, *ends, "--yes")
    assert done.exit_code == 0, done.stderr
    assert [row["title"] for row in rows(live)] == [ends[1]]
    undo = re.search(r"To undo: pgmem (.+)", done.stdout)
    assert undo is not None
    reverted = run(*undo[1].split())
    assert reverted.exit_code == 0, reverted.stderr
    assert rows(live) == before


def test_a_save_that_was_made_again_can_be_taken_back(run: Run, call: Call, rows: Rows, shop: str) -> None:
    failed = call("save_pattern", trigger="t", repeatable_steps=["s"], project_id=shop, scope="global")[
        "save_id"
    ]
    token = call("request_global_write_approval", content_preview="t: s")["token"]
    done = shown(run, "retry", str(failed), "--yes", "--token", token)
    assert rows("select status from pgmem.pattern") == [{"status": "active"}]
    token = call("request_global_write_approval", content_preview="Forget: t")["token"]
    back = run("forget", "Pattern", done["artifact_id"], "--yes", "--governance-token", token)
    assert back.exit_code == 0, back.stderr
    assert rows("select status from pgmem.pattern") == [{"status": "archived"}]
