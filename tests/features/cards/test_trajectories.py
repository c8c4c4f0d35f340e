"""Trajectories: built from intents, receipts, turns and merged commits, found, and built again the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem import Memory
from pgmem.features.cards import merges, scan
from pgmem.settings import load
from pgmem.workspace.git import Commit
from tests.conftest import Call
from tests.features.cards.conftest import Committed, Git, Query, Refresh, report

Lines = Callable[..., list[str]]
Manage = Callable[..., dict[str, Any]]
DAY = 86400
FIRST = 1_768_000_000

WORK: list[dict[str, Any]] = [
    {"commit": "c" * 40, "at": FIRST + 2 * DAY, "subject": 'Revert "Charge twice"', "paths": ["pkg/till.py"]},
    {"commit": "b" * 40, "at": FIRST + DAY, "subject": "Charge twice", "paths": ["pkg/till.py"]},
    {
        "commit": "a" * 40,
        "at": FIRST,
        "subject": "Retry failed payments",
        "paths": ["pkg/pay/retry.py", "tests/test_retry.py"],
    },
]


@pytest.fixture
def lines(query: Query) -> Lines:
    """`lines(path="pkg")`: the trajectories that a query finds, best first."""
    return lambda **asked: [one["line"] for one in query("trajectories", **asked)["trajectories"]]


@pytest.fixture
def manage(call: Call, shop: str) -> Manage:
    """`manage("rebuild_trajectories")`: the answer of an action."""

    def manage(action: str, **arguments: object) -> dict[str, Any]:
        answer = call("manage_engineering_memory", project_id=shop, action=action, **arguments)
        return dict(answer["manage_engineering_memory"])

    return manage


@pytest.fixture
def worked(call: Call, shop: str, clock: Callable[[str], None]) -> Callable[..., Any]:
    """`worked(["pkg/a.py"], receipt={…})`: an intent declared in the morning and finished at noon of a day."""

    def worked(
        changed: list[str], *, day: str = "2026-01-12", about: str | None = None, **more: object
    ) -> object:
        clock(f"{day}T08:00:00Z")
        intent = call("declare_intent", project_id=shop, paths=["pkg"], description=about)["intent_id"]
        clock(f"{day}T12:00:00Z")
        call("finish_intent", project_id=shop, intent_id=intent, changed_paths=changed, **more)
        return intent

    return worked


def stored(connection: psycopg.Connection[DictRow]) -> list[DictRow]:
    """Every column of the trajectories and of their subjects but the times at which the row was written."""
    return connection.execute(
        "select n.id, n.key, n.title, n.props, n.status, n.scope, n.project, n.tenant, n.source, n.trust_level,"
        " n.created_at, n.updated_at, n.begins_at, n.version, n.scope_key, n.tsv::text, n.text_length,"
        " array(select (s.kind, s.key, s.relation, s.match, s.status, s.weight)::text from pgmem.card_subject s"
        " where s.node_seq = n.seq order by 1) as subjects"
        " from pgmem.node n where n.label = 'Trajectory' order by n.id"
    ).fetchall()


def test_a_finished_intent_is_listed_in_order(lines: Lines, worked: Callable[..., Any]) -> None:
    worked(
        ["pkg/till.py", "tests/test_till.py"],
        about="Pay faster.",
        receipt={"verify": "passed", "tests": ["pytest tests/test_till.py"]},
    )
    assert lines() == [
        "2026-01-12 Pay faster: pkg/till.py, tests/test_till.py; "
        "verified by pytest tests/test_till.py; finished."
    ]


def test_an_intent_claims_the_commit_of_its_work_and_no_other(
    lines: Lines, worked: Callable[..., Any], refresh: Refresh
) -> None:
    """The first later commit that shares most of its files, or the one that the receipt names."""
    worked(["pkg/pay/retry.py", "tests/test_retry.py"], day="2026-01-09", about="Payments are retried")
    worked(["pkg/till.py"], day="2026-01-10", about="Twice", receipt={"commit": "b" * 9})
    refresh(report(work=[{**one, "at": one["at"] + DAY} for one in WORK]))
    assert lines() == [
        '2026-01-12 Revert "Charge twice": pkg/till.py; merged (ccccccccc).',
        "2026-01-10 Twice: pkg/till.py; reverted by ccccccccc (bbbbbbbbb).",
        "2026-01-09 Payments are retried: pkg/pay/retry.py, tests/test_retry.py; merged (aaaaaaaaa).",
    ]


def test_work_that_was_refused_is_marked(lines: Lines, worked: Callable[..., Any]) -> None:
    worked(["pkg/till.py"], about="Round", receipt={"status": "rejected"})
    worked(["pkg/till.py"], day="2026-01-13", about="Round again", receipt={"verify": "failed"})
    assert [line.partition("; ")[2] for line in lines()] == ["verification failed.", "rejected."]


def test_without_a_description_the_work_is_what_the_person_asked_for(
    connection: psycopg.Connection[DictRow], call: Call, lines: Lines, worked: Callable[..., Any], shop: str
) -> None:
    turns = [
        {"id": "1", "role": "user", "content": "Make the till round down", "at": "2026-01-12T07:00:00Z"},
        {"id": "2", "role": "assistant", "content": "I look at it."},
        {"id": "3", "role": "user", "content": "Thank you", "at": "2026-01-12T13:00:00Z"},
    ]
    call("capture_turns", client="codex", session_id="s1", turns=turns, project_id=shop)
    connection.execute("select set_config('pgmem.session_id', 'codex:s1', false)")
    worked(["pkg/till.py"])
    assert lines() == ["2026-01-12 Make the till round down: pkg/till.py; finished."]


def test_trajectories_are_found_by_file_folder_and_words(lines: Lines, refresh: Refresh) -> None:
    refresh(report(work=WORK))
    assert len(lines()) == 3
    assert [line[:33] for line in lines(path="pkg/till.py")] == [
        '2026-01-11 Revert "Charge twice":',
        "2026-01-10 Charge twice: pkg/till",
    ]
    assert len(lines(path="pkg")) == 3
    assert lines(path="pkg/ti") == lines(query="warehouse") == []
    assert lines(query="how were payments retried")[0].startswith("2026-01-09 Retry failed payments")


@pytest.mark.usefixtures("vectors")
@pytest.mark.anyio
async def test_trajectories_are_found_by_meaning(
    dsn: str, tmp_path: Path, refresh: Refresh, shop: str
) -> None:
    settings = load(dsn=dsn, data_dir=tmp_path, embedding_provider="static")
    async with Memory.connect(settings) as memory:
        await memory.register_embedder()
        refresh(report(work=WORK))
        assert await memory.embed_waiting() >= 3
        answer = await memory.query_engineering_memory(
            shop, "trajectories", query="attempt a payment again after failure", max_results=1
        )
    assert answer.payload.trajectories is not None
    assert answer.payload.trajectories[0].line.startswith("2026-01-09 Retry failed payments")


def test_dropped_and_built_again_they_are_the_same_rows(
    connection: psycopg.Connection[DictRow], manage: Manage, worked: Callable[..., Any], refresh: Refresh
) -> None:
    worked(["pkg/pay/retry.py"], day="2026-01-09", about="Retry", receipt={"tests": ["make test"]})
    refresh(report(work=WORK))
    before = stored(connection)
    assert len(before) == 3
    assert manage("rebuild_trajectories") == {
        "action": "rebuild_trajectories",
        "trajectories": 3,
        "made": 0,
        "removed": 0,
    }
    connection.execute("delete from pgmem.node where label = 'Trajectory'")
    assert manage("rebuild_trajectories")["made"] == 3
    assert stored(connection) == before


def test_a_trajectory_follows_what_it_is_built_from(
    connection: psycopg.Connection[DictRow], lines: Lines, manage: Manage, refresh: Refresh
) -> None:
    refresh(report(work=WORK))
    refresh(report(fingerprint="f2", work=WORK[1:]))
    assert [line.rpartition("; ")[2] for line in lines(path="pkg/till.py")] == ["merged (bbbbbbbbb)."]
    connection.execute("delete from pgmem.card_commit")
    assert manage("rebuild_trajectories")["removed"] == 2
    assert lines() == []


def test_trajectories_are_not_memories(
    connection: psycopg.Connection[DictRow], refresh: Refresh, shop: str
) -> None:
    """They are derived: no search, export or list of memories has them."""
    refresh(report(work=WORK))
    found = connection.execute(
        "select label from pgmem.search_memory('Retry failed payments', p_project_id => %s, p_labels => '{Trajectory}')"
        " union all select 'export' from pgmem.export_records('node') l where l.record::json ->> 'label' = 'Trajectory'"
        " union all select label from pgmem.list_memories() where label = 'Trajectory'",
        [shop],
    ).fetchall()
    assert found == []
    counted = connection.execute("select labels, cards from pgmem.count_memories()").fetchone()
    assert counted is not None
    assert counted["cards"] > 0
    assert counted["labels"] == {"Session": 1}


def test_a_scan_lists_the_work_that_is_merged(committed: Committed, git: Git, tmp_path: Path) -> None:
    committed({"pkg/till.py": "x = 1\n", "tests/test_till.py": ""}, "Pay.", day=2)
    committed({"pkg/till.py": "x=1\n"}, "style: run black", day=3)
    git("switch", "-q", "-c", "rounding")
    committed({"pkg/till.py": "x = 2\n"}, "Round.", day=4)
    root = tmp_path / "shop"
    assert [one["subject"] for one in scan(root)["work"]] == ["Pay."]
    git("switch", "-q", "main")
    git("merge", "-q", "--no-ff", "-m", "Merge rounding", "rounding", day=5)
    assert [one["subject"] for one in scan(root)["work"]] == ["Round.", "Pay."]
    assert scan(root)["work"][1]["paths"] == ["pkg/till.py", "tests/test_till.py"]


def test_the_commits_of_a_pull_request_are_one_piece_of_work(
    committed: Committed, git: Git, tmp_path: Path
) -> None:
    """It has the title of the request and the files of all its commits, without those that reached the branch meanwhile."""
    committed({"pkg/till.py": "x = 1\n", "pkg/stock.py": "x = 1\n"}, "Begin.", day=1)
    git("switch", "-q", "-c", "retry")
    committed({"pkg/retry.py": "x = 1\n"}, "wip", day=2)
    git("switch", "-q", "main")
    committed({"pkg/stock.py": "x = 2\n"}, "Count.", day=3)
    git("switch", "-q", "retry")
    git("merge", "-q", "-m", "Merge branch 'main' into retry", "main", day=4)
    committed({"pkg/till.py": "x = 2\n", "tests/test_retry.py": ""}, "more", day=5)
    git("switch", "-q", "main")
    merge = "Merge pull request #7 from ada/retry\n\nRetry failed payments"
    git("merge", "-q", "--no-ff", "-m", merge, "retry", day=6)
    work = scan(tmp_path / "shop")["work"]
    assert [(one["subject"], one["paths"]) for one in work] == [
        ("Retry failed payments (#7)", ["pkg/retry.py", "pkg/till.py", "tests/test_retry.py"]),
        ("Count.", ["pkg/stock.py"]),
        ("Begin.", ["pkg/stock.py", "pkg/till.py"]),
    ]
    assert work[0]["commit"] == git("rev-parse", "HEAD").strip()
    assert work[0]["commits"] == git("rev-list", "--no-merges", "HEAD^1..HEAD").split()
    git("revert", "-m", "1", "--no-edit", "HEAD", day=7)
    assert scan(tmp_path / "shop")["work"][0]["reverts"] == [work[0]["commit"]]


def test_a_branch_that_collects_pull_requests_is_none_itself(
    committed: Committed, git: Git, tmp_path: Path
) -> None:
    committed({"a.py": "x = 1\n"}, "Begin.", day=1)
    git("switch", "-q", "-c", "stable")
    for number in (2, 3):
        git("switch", "-q", "-c", f"fix{number}")
        committed({f"fix{number}.py": "x = 1\n"}, f"Fix {number}.", day=number)
        committed({f"test_fix{number}.py": ""}, f"Test {number}.", day=number)
        git("switch", "-q", "stable")
        git(
            "merge",
            "-q",
            "--no-ff",
            "-m",
            f"Merge branch 'fix{number}' into stable",
            f"fix{number}",
            day=number,
        )
    committed({"b.py": "x = 1\n"}, "Alone.", day=4)
    git("switch", "-q", "main")
    git("merge", "-q", "--no-ff", "-m", "Merge branch 'stable'", "stable", day=5)
    assert [(one["subject"], one["paths"]) for one in scan(tmp_path / "shop")["work"]] == [
        ("Alone.", ["b.py"]),
        ("Fix 3. (and 1 more commit)", ["fix3.py", "test_fix3.py"]),
        ("Fix 2. (and 1 more commit)", ["fix2.py", "test_fix2.py"]),
        ("Begin.", ["a.py"]),
    ]


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Merge pull request #12 from ada/pay\n\nPay faster", "Pay faster (#12)"),
        (
            "Merge branch 'pay' into 'main'\n\nPay faster\n\nSee merge request shop/till!12",
            "Pay faster (#12)",
        ),
        ("Merged in pay (pull request #12)\n\nPay faster\n\nApproved-by: Bea", "Pay faster (#12)"),
        ("Merged PR 12: Pay faster", "Pay faster (#12)"),
        ("Auto merge of #12 - ada:pay, r=bea\n\nPay faster\n\nLong text.", "Pay faster (#12)"),
        ("Merge #12\n\n12: Pay faster r=bea a=ada", "Pay faster r=bea a=ada (#12)"),
        ("Merge branch 'pay'", "First. (and 1 more commit)"),
        ("Merge pull request #12 from ada/pay\n\n* Second.\n* First.", "First. (and 1 more commit) (#12)"),
        ("Pay faster (#12)", "Pay faster (#12)"),
    ],
)
def test_a_merge_is_called_what_its_request_was(message: str, title: str) -> None:
    def made(name: str, text: str, parents: tuple[str, ...]) -> Commit:
        return Commit(name, 0, (("Ada", "ada@example.com"),), text, (), parents)

    commits = [made("c", "Second.", ("b",)), made("b", "First.", ("a",))]
    assert merges.title(made("m", message, ("a", "c")), commits) == title


def test_a_request_is_known_by_any_of_its_commits_and_by_its_number(
    lines: Lines, worked: Callable[..., Any], refresh: Refresh
) -> None:
    """A receipt names a commit inside; a revert of a request names it with the number or by its commit."""
    worked(["pkg/till.py"], day="2026-01-10", about="Twice", receipt={"commit": "e" * 9})
    work = [
        {**WORK[0], "subject": 'Revert "Charge twice (#4)" (#5)'},
        {**WORK[1], "subject": "Charge twice (#4)", "commits": ["d" * 40, "e" * 40]},
        {**WORK[2], "commits": []},
        {
            "commit": "f" * 40,
            "at": FIRST + 3 * DAY,
            "subject": "Back",
            "paths": ["x.py"],
            "reverts": ["a" * 40],
        },
    ]
    refresh(report(work=work))
    assert [line.partition("; ")[2] for line in lines(path="pkg/till.py")] == [
        "merged (ccccccccc).",
        "reverted by ccccccccc (bbbbbbbbb).",
    ]
    assert lines(path="pkg/pay")[0].endswith("reverted by fffffffff (aaaaaaaaa).")


def test_the_jobs_of_vectors_and_graph_answer_on_every_server(
    connection: psycopg.Connection[DictRow], manage: Manage, refresh: Refresh
) -> None:
    refresh(report(work=WORK))
    assert manage("rebuild_semantic")["queued"] == 0
    answer = manage("rebuild_projection")
    found = connection.execute("select to_regclass('pgmem_graph.\"Card\"') is not null as graph").fetchone()
    assert found is not None
    if found["graph"]:
        cards = connection.execute(
            "select count(*) from pgmem.node where label in ('Card', 'Trajectory')"
        ).fetchone()
        assert cards is not None
        assert answer["vertices"] == cards["count"]
    else:
        assert "no Apache AGE" in answer["next_step"]
