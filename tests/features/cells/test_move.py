"""An organisation moves to another cell while it saves: nothing is lost or doubled, wherever the mover is killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row
from typer.testing import CliRunner

from pgmem.cli import app
from pgmem.errors import Busy, InvalidArgument, PgmemError
from pgmem.features.cells import mover
from pgmem.features.cells.directory import Directory
from pgmem.install import schema
from tests.conftest import caller, output_of
from tests.features.cells import fleet as fleets
from tests.features.cells.fleet import Fleet, Server, act
from tests.features.cells.writers import Writers
from tests.fixtures.amounts import mostly_long
from tests.fixtures.verbs import MISPLACED

POINTS = "copying,pass 1,freezing,moving,leaving,drained,equal,closed,opened,flipped,cleared".split(",")
"""Where a mover is killed, as its progress says it."""


def name() -> str:
    return f"m{uuid4().hex[:10]}"


def said(_line: str) -> None:
    """Progress that nobody watches."""


def filled(fleet: Fleet, org: str) -> None:
    """One of everything that has its own rows."""
    with fleet.session(org) as connection:
        call = caller(connection)
        call("save_session", objective="Open the shop", project_id="shop", open_items=["paint"])
        for title in ("Take cards at the till", "Refuse cash after dark", "Keep bees on the roof"):
            call("save_decision", title=title, rationale=f"because of {title}", project_id="shop")
        call(
            "save_decision", title="Take cards at the till now", rationale="the bank said", project_id="shop"
        )
        call(
            "save_decision",
            title="Keep bees on the roof",
            rationale="because of Keep bees on the roof",
            project_id="shop",
        )
        call("save_pattern", trigger="a customer is angry", repeatable_steps=["listen"], project_id="shop")
        call("upsert_entity", entity_name="Till", fact="is by the window", project_id="shop")
        call("relate", from_label="Decision", from_key="Refuse cash after dark", rel_type="CONFLICTS_WITH", to_label="Decision", to_key="Keep bees on the roof")  # fmt: skip
        call("remember", label="Concept", properties={"name": "Tea"}, project_id="shop")
        call(
            "remember", label="Concept", properties={"name": "Tea", "description": "black"}, project_id="shop"
        )
        call("save_session", objective="Close", project_id="common", share="org")
        call("save_context", content="All of us close at six", project_id="common", share="org")
        call("forget", label="EntityFact", key="Till", project_id="shop")
        call("put_items", items=[{"namespace": ["a"], "name": "k", "value": {"v": 1}}])
        call("issue_token", org_id=org, user_id="ana", name="laptop")


def exported(fleet: Fleet, org: str, folder: Path) -> bytes:
    out = folder / f"{uuid4().hex}.jsonl"
    with Directory.open(fleet.dsn) as found:
        dsn = found.where(org).dsn
    output_of(sys.executable, "-m", "pgmem", "export", out, "--dsn", dsn, DEFAULT_ORG_ID=org, DEFAULT_USER_ID="ana", PGMEM_DATA_DIR=str(folder))  # fmt: skip
    return out.read_bytes().partition(b"\n")[2]  # without the head, which has the time


def other_than(fleet: Fleet, number: int) -> int:
    return next(n for n in fleet.numbers if n != number)


def moved(fleet: Fleet) -> tuple[str, int]:
    """An organisation that has moved, and the cell that it left."""
    org = name()
    filled(fleet, org)
    home = fleet.home(org)
    with Directory.open(fleet.dsn) as found:
        mover.move(found, org, found.cell(other_than(fleet, home)), said)
    return org, home


def differences(fleet: Fleet) -> int:
    total = 0
    for number in fleet.numbers:
        with fleet.cell(number) as cell:
            row = cell.execute("select coalesce(sum(missing + extra + different), 0)::integer as n from pgmem.check_graph()").fetchone()  # fmt: skip
            assert row is not None
            total += row["n"]
    return total


def test_everything_of_an_organisation_arrives_as_it_was(fleet: Fleet, tmp_path: Path) -> None:
    org = name()
    filled(fleet, org)
    home = fleet.home(org)
    to = other_than(fleet, home)
    before, nodes = exported(fleet, org, tmp_path), fleet.rows_of(org)
    with fleet.cell(home) as cell:
        seqs = cell.execute("select seq from pgmem.node where org_id = %s order by 1", (org,)).fetchall()
    with Directory.open(fleet.dsn) as found:
        done = mover.move(found, org, found.cell(to), said)
        assert (done.phase, done.to_cell) == ("done", to)
        assert found.moves() == []
    assert fleet.rows_of(org) == {to: nodes[home]}
    assert exported(fleet, org, tmp_path) == before
    with fleet.cell(to) as cell:
        assert (
            cell.execute("select seq from pgmem.node where org_id = %s order by 1", (org,)).fetchall() == seqs
        )
    assert differences(fleet) == 0
    with fleet.session(org) as connection:
        call = caller(connection)
        again = call("save_decision", title="Keep bees on the roof", rationale="because of Keep bees on the roof", project_id="shop")  # fmt: skip
        near = call(
            "save_decision",
            title="Keep bees on the roof always",
            rationale="another reason",
            project_id="shop",
        )
        assert (again["dedup_outcome"], near["dedup_outcome"]) == ("duplicate_skip", "supersede")
        assert call("search_memory", query="cards till")["title"] == "Take cards at the till now"
    # And back, over the gate that it left.
    with Directory.open(fleet.dsn) as found:
        mover.move(found, org, found.cell(home), said)
    assert set(fleet.rows_of(org)) == {home}
    assert differences(fleet) == 0


def test_tables_that_hold_rows_of_an_organisation_hold_none_after_its_move(fleet: Fleet) -> None:
    org, home = moved(fleet)
    with fleet.cell(home) as cell:
        for table in cell.execute("select name, condition from pgmem.subject_tables()").fetchall():
            condition = table["condition"].replace("$1", f"'{org}'").replace("$2", "''")
            row = cell.execute(
                f"select count(*) as n from pgmem.{table['name']} t where {condition}".encode()
            ).fetchone()
            assert row == {"n": 0}, table["name"]


@pytest.fixture
def model(fleet: Fleet) -> Iterator[str]:
    """An active model, which has another number in each cell."""
    for number in fleet.numbers:
        with fleet.cell(number) as cell:
            for other in range(number):
                cell.execute("select pgmem.register_model(%s, 3)", (f"test:other{other}",))
                cell.execute("update pgmem.embedding_model set active = false")
                cell.execute("select pgmem.drop_model(%s)", (f"test:other{other}",))
            cell.execute("select pgmem.register_model('test:m', 3)")
            cell.execute("select pgmem.activate_model('test:m')")
    yield "test:m"
    for number in fleet.numbers:
        with fleet.cell(number) as cell:
            cell.execute("update pgmem.embedding_model set active = false")
            cell.execute("select pgmem.drop_model('test:m')")


def test_vectors_move_under_the_name_of_their_model(fleet: Fleet, model: str) -> None:
    """The vector is not in the index of the cell that it comes to."""
    org = name()
    with fleet.session(org) as connection:
        call = caller(connection)
        call("save_session", objective="Open", project_id="shop")
        made = call("save_context", content="Tea is sold", project_id="shop")
        call(
            "store_node_vectors",
            model=model,
            items=[{"id": str(made["artifact_id"]), "vector": [0.1, 0.2, 0.3]}],
        )
    home = fleet.home(org)
    to = other_than(fleet, home)
    vectors = (
        "select e.vector::text as vector, m.name, e.indexed from pgmem.embedding e join pgmem.embedding_model m"
        " on m.id = e.model_id join pgmem.node n on n.seq = e.node_seq where n.org_id = %s"
    )
    with fleet.cell(home) as cell:
        before = cell.execute(vectors.encode(), (org,)).fetchall()
        cell.execute("update pgmem.embedding set indexed = true")
    assert before
    with Directory.open(fleet.dsn) as found:
        mover.move(found, org, found.cell(to), said)
    with fleet.cell(to) as cell:
        assert cell.execute(vectors.encode(), (org,)).fetchall() == before


def run_mover(fleet: Fleet, org: str, to: int, point: str = "-") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.features.cells.moving", "move", fleet.dsn, org, str(to), point]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.parametrize("point", mostly_long(POINTS, ["flipped"]))
def test_a_mover_that_is_killed_is_followed_by_another_that_goes_on(
    fleet: Fleet, tmp_path: Path, point: str
) -> None:
    org = name()
    filled(fleet, org)
    home = fleet.home(org)
    to = other_than(fleet, home)
    writers = Writers(fleet, org, tmp_path, 40)
    killed = run_mover(fleet, org, to, point)
    assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
    done = run_mover(fleet, org, to)
    assert done.returncode == 0, done.stderr
    writers.check()
    assert set(fleet.rows_of(org)) == {to}
    assert differences(fleet) == 0


def move_through_a_crash(fleet: Fleet, org: str, to: int, victim: Server, point: str) -> bool:
    """Move, and crash a server and start it again at a point of the move; whether that ended the mover."""
    left = [victim]

    def progress(line: str) -> None:
        if left and line.startswith(point):
            left.pop().restart()

    try:
        with Directory.open(fleet.dsn) as found:
            mover.move(found, org, found.cell(to), progress)
    except (psycopg.Error, PgmemError):
        return True
    return False


ACKNOWLEDGED = 2000
"""So many saves are acknowledged while the mover and the servers are killed at one point of moves, again and again."""


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS)
def test_nothing_is_lost_or_doubled_whatever_is_killed_while_an_organisation_moves(
    wide: Fleet, tmp_path: Path, point: str
) -> None:
    """To and fro while four writers save; the mover, a cell or the front is killed each time that this point is reached."""
    fleet, front, cells = wide, wide.front, wide.servers
    org = name()
    filled(fleet, org)
    ended = rounds = 0
    with Writers(fleet, org, tmp_path, 100_000, 4, pause=0.02) as writers:
        while writers.acknowledged() < ACKNOWLEDGED or not rounds:
            ended += run_mover(fleet, org, to := 1 - fleet.home(org), point).returncode == -signal.SIGKILL
            assert run_mover(fleet, org, to).returncode == 0
            for victim in (cells[1 - fleet.home(org)], cells[fleet.home(org)], front):
                to = 1 - fleet.home(org)
                ended += move_through_a_crash(fleet, org, to, victim, point)
                if fleet.home(org) != to or moves(fleet):
                    assert run_mover(fleet, org, to).returncode == 0
            rounds += 1
        writers.stop()
        counts = writers.check()
    assert ended >= rounds
    print(f"{point}: {ended} movers ended in {4 * rounds} moves, saves: {dict(counts)}")
    before = exported(fleet, org, tmp_path)
    assert run_mover(fleet, org, 1 - fleet.home(org)).returncode == 0
    assert exported(fleet, org, tmp_path) == before
    assert differences(fleet) == 0


def moves(fleet: Fleet) -> bool:
    """Whether a move is unfinished."""
    with Directory.open(fleet.dsn) as found:
        return bool(found.moves())


@pytest.mark.parametrize("point", mostly_long(POINTS[:7], []))
def test_a_move_is_undone_until_its_organisation_is_gone(fleet: Fleet, tmp_path: Path, point: str) -> None:
    org = name()
    filled(fleet, org)
    home = fleet.home(org)
    writers = Writers(fleet, org, tmp_path, 25)
    killed = run_mover(fleet, org, other_than(fleet, home), point)
    assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
    undone = CliRunner().invoke(app, ["cells", "move", org, "--undo", "--front", fleet.dsn])
    assert undone.exit_code == 0, undone.output
    writers.check()
    assert set(fleet.rows_of(org)) == {home}
    for number in fleet.numbers:
        with fleet.cell(number) as cell:
            assert cell.execute("select * from pgmem.away where org_id = %s", (org,)).fetchall() == []


def test_a_move_that_is_past_its_freeze_is_not_undone(fleet: Fleet) -> None:
    org = name()
    filled(fleet, org)
    to = other_than(fleet, fleet.home(org))
    assert run_mover(fleet, org, to, "opened").returncode == -signal.SIGKILL
    with Directory.open(fleet.dsn) as found:
        with pytest.raises(InvalidArgument, match="go on with its move"):
            mover.undo(found, org, said)
        with pytest.raises(InvalidArgument, match="is moving to cell"):
            mover.move(found, org, found.cell(fleet.home(org)), said)
        assert mover.move(found, org, found.cell(to), said).phase == "done"
        with pytest.raises(InvalidArgument, match=f"is in cell {to} already"):
            mover.move(found, org, found.cell(to), said)


def test_two_movers_of_one_organisation_take_no_turns(fleet: Fleet) -> None:
    org = name()
    filled(fleet, org)
    to = other_than(fleet, fleet.home(org))
    with Directory.open(fleet.dsn) as found, Directory.open(fleet.dsn) as second:

        def meanwhile(line: str) -> None:
            if line == "copying":
                with pytest.raises(Busy, match="Another process"):
                    mover.move(second, org, second.cell(to), said)

        assert mover.move(found, org, found.cell(to), meanwhile).phase == "done"


def test_a_transaction_that_does_not_end_ends_the_freeze_and_nothing_else(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    org = name()
    filled(fleet, org)
    home = fleet.home(org)
    monkeypatch.setattr(mover, "_DRAIN_S", 0.2)
    with fleet.cell(home) as cell, Directory.open(fleet.dsn) as found, cell.transaction():
        cell.execute("select pg_current_xact_id()")
        with pytest.raises(Busy, match="does not end"):
            mover.move(found, org, found.cell(other_than(fleet, home)), said)
    with fleet.session(org) as connection:
        assert (
            caller(connection)("save_context", content="Still open", project_id="shop")["status"] == "saved"
        )


def test_a_save_at_the_front_waits_for_the_end_of_a_move(fleet: Fleet) -> None:
    """The pause of a small organisation is shorter than a writer at the front waits."""
    org = name()
    filled(fleet, org)
    to = other_than(fleet, fleet.home(org))
    with fleet.session(org) as connection, Directory.open(fleet.dsn) as found:
        waiting: list[subprocess.Popen[str]] = []

        def meanwhile(line: str) -> None:
            if line == "moving":
                query = f"set pgmem.org_id = '{org}'; set pgmem.user_id = 'ana'; select status from pgmem.save_context('While it moved', 'shop')"  # fmt: skip
                waiting.append(subprocess.Popen(["psql", "-Atq", fleet.dsn, "-c", query], stdout=subprocess.PIPE, text=True))  # fmt: skip

        done = mover.move(found, org, found.cell(to), meanwhile)
        assert waiting[0].communicate(timeout=30)[0].strip() == "saved"
        assert done.paused_s is not None
        assert done.paused_s < 2
        assert caller(connection)("search_memory", query="moved")["title"]
    assert set(fleet.rows_of(org)) == {to}


def test_an_organisation_is_placed_before_it_saves_and_not_after(fleet: Fleet) -> None:
    for home in fleet.numbers:
        org = fleet.org_in(home, name())
        to = other_than(fleet, home)
        with Directory.open(fleet.dsn) as found:
            assert mover.place(found, org, found.cell(to)).to_cell == to
            filled(fleet, org)
            assert set(fleet.rows_of(org)) == {to}
            with pytest.raises(InvalidArgument, match="use pgmem cells move"):
                mover.place(found, org, found.cell(home))


def test_cells_that_differ_do_not_exchange_organisations(fleet: Fleet) -> None:
    org = name()
    filled(fleet, org)
    home = fleet.home(org)
    to = other_than(fleet, home)
    with fleet.cell(to) as cell, Directory.open(fleet.dsn) as found:
        cell.execute("update pgmem.label set vocabulary = vocabulary || 'x' where name = 'Concept'")
        with pytest.raises(InvalidArgument, match="differ in labels: Concept"):
            mover.move(found, org, found.cell(to), said)
        cell.execute("update pgmem.label set vocabulary = left(vocabulary, -1) where name = 'Concept'")
    assert set(fleet.rows_of(org)) == {home}


def test_public_memories_are_published_to_all_cells(fleet: Fleet) -> None:
    records: list[dict[str, object]] = [
        {
            "type": "node",
            "id": "00000000-0000-4000-8000-0000000000a1",
            "label": "Project",
            "key": "all",
            "title": "all",
        },
        {
            "type": "node",
            "id": "00000000-0000-4000-8000-0000000000a2",
            "label": "Decision",
            "title": "The harbour closes at nine",
            "scope": "project",
            "project": "all",
            "project_id": "00000000-0000-4000-8000-0000000000a1",
            "props": {"rationale": "by law"},
        },
    ]
    stamped = "2026-01-01T00:00:00Z"
    common: dict[str, object] = {"status": "active", "props": {}, "org_id": "", "user_id": "", "source": "cli", "trust_level": 1, "initial_confidence": 1, "version": 1, "created_at": stamped, "updated_at": stamped, "recorded_at": stamped, "text_config": "english"}  # fmt: skip
    with fleet.cell(0) as cell:
        cell.execute("select * from pgmem.import_records(%s::jsonb, p_all_tenants => true, p_own => true)", (json.dumps([common | row for row in records]),))  # fmt: skip
    with Directory.open(fleet.dsn) as found:
        first = mover.publish(found, found.cell(0), said)
        assert all(first.values())
        assert set(mover.publish(found, found.cell(0), said).values()) == {0}
    for number in fleet.numbers:
        org = fleet.org_in(number, name())
        with fleet.session(org) as connection:
            found_titles = [
                row["title"] for row in connection.execute("select title from pgmem.search_memory('harbour')")
            ]
        assert found_titles == ["The harbour closes at nine"]
    assert differences(fleet) == 0


def test_a_drained_cell_holds_no_organisation(fleet: Fleet) -> None:
    for _ in range(3):
        filled(fleet, fleet.org_in(2, name()))
    done = CliRunner().invoke(app, ["cells", "drain", "2", "--front", fleet.dsn, "--json"])
    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)) >= 3
    with fleet.cell(2) as cell:
        assert cell.execute("select * from pgmem.residents() where away is null").fetchall() == []
    assert fleet.home(name()) != 2
    with Directory.open(fleet.dsn) as found:
        found.take_new(found.cell(2), takes=True)
        assert any(fleet.home(name()) == 2 for _ in range(60))
    assert differences(fleet) == 0


def test_the_old_cell_refuses_an_organisation_that_left(fleet: Fleet) -> None:
    org, home = moved(fleet)
    with fleet.cell(home) as cell:
        cell.execute("select set_config('pgmem.org_id', %s, false)", (org,))
        for verb in ("retrieve_context('shop')", "save_context('x', 'shop')"):
            with pytest.raises(psycopg.errors.CannotConnectNow, match="in another cell"):
                cell.execute(f"select * from pgmem.{verb}".encode())


def test_scope_keys_are_those_of_the_cell_that_an_organisation_comes_to(fleet: Fleet) -> None:
    """Each store makes a secret for them when it is installed; the cells of a front share one."""
    org = name()
    filled(fleet, org)
    with Directory.open(fleet.dsn) as found:
        mover.move(found, org, found.cell(to := other_than(fleet, fleet.home(org))), said)
    secrets = []
    for number in fleet.numbers:
        with fleet.cell(number) as cell:
            secrets.append(cell.execute("select secret from pgmem.store_secret").fetchone())
            wrong = "select count(*) as n from pgmem.node n where n.scope_key <> pgmem.scope_key(n.tenant, n.place, n.label)"
            assert cell.execute(wrong.encode()).fetchone() == {"n": 0}
    assert secrets == secrets[:1] * 3
    with fleet.cell(to) as cell:
        assert cell.execute("select count(*) as n from pgmem.dedup_token t join pgmem.node n on n.seq = t.node_seq and n.scope_key = t.scope_key where n.org_id = %s", (org,)).fetchone() != {"n": 0}  # fmt: skip


def test_a_store_with_memories_becomes_a_cell(servers: tuple[Server, Server]) -> None:
    """Its organisations stay in it, though the hash of their names says otherwise, and its scope keys are made again."""
    front, cells = servers
    mark = uuid4().hex[:8]
    with fleets.fleet(front, [cells], f"grown_{mark}", 1) as fleet:
        database = f"grown_{mark}_old"
        with psycopg.connect(cells.dsn("postgres"), autocommit=True) as admin:
            admin.execute(f"create database {database} template cell_template".encode())
        try:
            orgs = [name() for _ in range(4)]
            with psycopg.connect(cells.dsn(database), autocommit=True, row_factory=dict_row) as old:
                old.execute("update pgmem.store_secret set secret = sha256('another')")
                old.execute("update pgmem.node set scope_key = pgmem.scope_key(tenant, place, label)")
                for org in orgs:
                    act(old, org)
                    caller(old)("save_session", objective="Open", project_id="shop")
                    caller(old)("save_decision", title="Sell tea", rationale="so", project_id="shop")
                    caller(old)(
                        "save_decision",
                        title="Sell green tea in the garden",
                        rationale="so",
                        project_id="shop",
                    )
                for _ in orgs:  # each scope gets an order of its words
                    assert caller(old)("refresh_dedup")["refresh_dedup"] > 0
                ordered = old.execute("select count(*) as n from pgmem.token_frequency").fetchone()
                assert ordered != {"n": 0}
            with Directory.open(fleet.dsn) as found:
                with pytest.raises(InvalidArgument, match="has no number yet"):
                    found.add(cells.dsn(database))
                schema.upgrade(cells.dsn(database), cell=1)
                found.add(cells.dsn(database))
                assert {found.where(org).cell for org in orgs} == {1}
                with psycopg.connect(cells.dsn(database), row_factory=dict_row) as cell:
                    assert cell.execute(MISPLACED.encode()).fetchall() == []
                    assert (
                        cell.execute("select count(*) as n from pgmem.token_frequency").fetchone() == ordered
                    )
                for org in orgs:
                    with fleet.session(org) as connection:
                        again = caller(connection)(
                            "save_decision", title="Sell tea", rationale="so", project_id="shop"
                        )
                        assert again["dedup_outcome"] == "duplicate_skip"
                mover.move(found, orgs[0], found.cell(0), said)
            with fleet.session(orgs[0]) as connection:
                again = caller(connection)(
                    "save_decision", title="Sell tea", rationale="so", project_id="shop"
                )
                assert again["dedup_outcome"] == "duplicate_skip"
        finally:
            with psycopg.connect(cells.dsn("postgres"), autocommit=True) as admin:
                admin.execute(f"drop database if exists {database} with (force)".encode())
