"""An installed store becomes this release, whatever its functions took or answered before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from pgmem.install import schema
from tests.conftest import as_admin, caller, past_the_pooler, without
from tests.core.schema import stores
from tests.core.schema.conftest import MakeDatabase, MakeRole, Program, schema_of

RELEASE = Path(__file__).parent / "released" / "0.1.0"
STORES = {"bare": (), "vectors": ("vector",), "one": ("vector", "age")}


def install_released(dsn: str, program: Program, store: str = "bare", own: str | None = None) -> None:
    """Load a store that release 0.1.0 wrote; it belongs to the login of the DSN `own`, else to that of `dsn`."""
    with psycopg.connect(as_admin(dsn)) as connection:
        offered = {
            row[0] for row in connection.execute("select name from pg_available_extensions").fetchall()
        }
    if missing := set(STORES[store]) - offered:
        without(", ".join(missing))
    stores.load(
        as_admin(dsn), RELEASE / f"{store}.dump.gz", program, str(conninfo_to_dict(own or dsn)["user"])
    )


def has_what_was_saved(dsn: str) -> None:
    """The memories of `install_released` are there, and the store takes more."""
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        call = caller(connection)
        kept = {
            "title": "Alert on the lag of replicas",
            "rationale": "It was not seen.",
            "project_id": "shop",
        }
        assert call("search_memory", query="alert on the lag", project_id="shop")["title"] == kept["title"]
        history = connection.execute(
            "select * from pgmem.memory_history('EntityFact', 'Back again')"
        ).fetchall()
        assert [version["version"] for version in history] == [1, 2, 3]
        assert call("save_decision", **kept)["dedup_outcome"] == "duplicate_skip"
        assert (
            call("save_decision", title="Refuse cash", rationale="r", project_id="shop")["status"] == "saved"
        )


CHANGES = (
    (
        "core/saving/29-save-decision.sql",
        "    pgmem.field('owner'",
        "    pgmem.field('tags', 'texts', 'Its words.'),\n    pgmem.field('owner'",
    ),
    ("core/saving/33-remember.sql", "  p_valid_to timestamptz default null,\n", ""),
    (
        "core/saving/33-remember.sql",
        "    p_label, p_properties, p_valid_from, p_valid_to,",
        "    p_label, p_properties, p_valid_from, null,",
    ),
    ("core/reading/43-neighbours.sql", "  p_hops pgmem.hops", "  p_hops bigint"),
    ("core/base/01-words.sql", "p_b text[]) returns float8", "p_b text[]) returns numeric"),
)


def change_arguments(folder: Path) -> None:
    """Let a verb gain an argument, one lose it, one change its type, a private function change its result."""
    for chapter, old, new in CHANGES:
        path = folder / chapter
        text = path.read_text(encoding="utf-8")
        assert old in text, (chapter, old)
        path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_the_keys_of_a_store_of_release_0_1_0_are_made_with_a_secret_of_the_store(
    database: MakeDatabase, program: Program
) -> None:
    secrets = set()
    for _ in range(2):
        dsn = past_the_pooler(database())
        install_released(dsn, program)
        with psycopg.connect(dsn) as connection:
            before: dict[Any, Any] = dict(
                connection.execute("select id, scope_key from pgmem.node").fetchall()
            )
        schema.upgrade(dsn, ())
        with psycopg.connect(dsn) as connection:
            after: dict[Any, Any] = dict(
                connection.execute("select id, scope_key from pgmem.node").fetchall()
            )
            assert {before[one] == after[one] for one in before} == {False}
            wrong = "select count(*) from pgmem.node where scope_key <> pgmem.scope_key(tenant, place, label)"
            assert connection.execute(wrong).fetchone() == (0,)
            agreeing = (
                "select count(*) from pgmem.dedup_token t join pgmem.node n"
                " on n.seq = t.node_seq and n.scope_key = t.scope_key"
            )
            titles = connection.execute("select count(*) from pgmem.dedup_token").fetchone()
            assert connection.execute(agreeing).fetchone() == titles != (0,)
            secrets |= set(connection.execute("select secret from pgmem.store_secret").fetchall())
    assert len(secrets) == 2


def test_the_instructions_that_agents_had_saved_wait_once_for_a_yes_and_nothing_is_lost(
    database: MakeDatabase, program: Program
) -> None:
    dsn = past_the_pooler(database())
    install_released(dsn, program)
    rule, kept = "Always run the tests first.", "Never sell on credit."
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        call = caller(connection)
        for source, content in (("mcp", rule), ("sdk", "The shop is never open."), ("cli", kept)):
            connection.execute("select set_config('pgmem.source', %s, false)", (source,))
            assert call("save_context", content=content, project_id="shop")["status"] == "saved"
    assert schema.upgrade(dsn, ()).rules == 2  # one is of the release's own program
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        call = caller(connection)
        context = call("retrieve_context", project_id="shop")
        assert [item["content"] for item in context["standing"]] == [kept]
        assert rule in [item.get("content") for item in context["items"]]
        waiting = connection.execute("select id, title, version from pgmem.list_rules()").fetchall()
        assert {row["title"] for row in waiting} == {rule, "Never deploy before a weekend"}
        connection.execute("select set_config('pgmem.source', 'cli', false)")
        for row in waiting:
            call("decide_rule", id=row["id"], version=row["version"], yes=row["title"] == rule, by="Ada")
        context = call("retrieve_context", project_id="shop")
        assert {item["content"] for item in context["standing"]} == {rule, kept}
    assert schema.upgrade(dsn, ()).rules == 0


def test_the_states_of_a_store_of_release_0_1_0_get_their_periods(
    database: MakeDatabase, program: Program
) -> None:
    """A migration does the work of the triggers once, and an import of an older export too."""
    dsn = past_the_pooler(database())
    install_released(dsn, program)
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        call = caller(connection)
        thing = {"label": "Technology", "project_id": "shop"}
        for properties, dates in (
            (
                {"name": "HarbourDB", "notes": "Oracle"},
                {"valid_from": "2020-01-01", "valid_to": "2020-06-30"},
            ),
            ({"name": "HarbourDB", "notes": "Postgres"}, {"valid_from": "2020-07-01"}),
            ({"name": "HarbourDB", "notes": "Postgres"}, {"valid_from": "2020-08-01"}),
            ({"name": "undated"}, {}),
            ({"name": "undated", "notes": "changed"}, {}),
            ({"name": "ended"}, {"valid_to": "2020-01-01"}),
        ):
            call("remember", **thing, properties=properties, **dates)
        call("forget", label="Technology", key="undated")
        call("save_decision", title="Take cards too", rationale="all banks", project_id="shop")
    schema.upgrade(dsn, ())
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        call = caller(connection)

        def notes(day: str) -> object:
            return call("get_node", label="Technology", key="HarbourDB", as_of=day)["properties"]["notes"]

        assert [notes(day) for day in ("2020-03-01", "2020-08-01", "2025-01-01")] == [
            "Oracle",
            *["Postgres"] * 2,
        ]
        assert call("get_node", label="Technology", key="ended", as_of="2019-01-01")["status"] == "active"
        differing = connection.execute(
            "select r.record from pgmem.node n cross join lateral pgmem.node_record(n, false) as r(record)"
            " cross join lateral (select jsonb_agg(v.value - '{begins_at,ends_at}'::text[]) as versions"
            "   from jsonb_array_elements(coalesce(r.record -> 'versions', '[]')) v) bare"
            " cross join lateral pgmem.with_periods(n, r.record - 'begins_at'"
            "   || jsonb_build_object('versions', coalesce(bare.versions, '[]'))) as computed(record)"
            " where n.begins_at is distinct from (computed.record ->> 'begins_at')::timestamptz"
            "   or exists (select from pgmem.node_version v"
            "     join jsonb_array_elements(computed.record -> 'versions') c on (c ->> 'version')::integer = v.version"
            "     where v.node_seq = n.seq and (v.begins_at, v.ends_at) is distinct from"
            "       ((c ->> 'begins_at')::timestamptz, (c ->> 'ends_at')::timestamptz))"
        ).fetchall()
        assert differing == []
        named = (
            "select count(*) as n from pgmem.node_version where title in ('HarbourDB', 'undated', 'ended')"
        )
        assert connection.execute(named).fetchone() == {"n": 4}


def test_times_that_no_program_reads_are_repaired_and_said(database: MakeDatabase, program: Program) -> None:
    dsn = past_the_pooler(database())
    install_released(dsn, program)
    wrong = {
        "EntityFact": {"created_at": "-infinity", "valid_from": "0044-03-15 BC", "valid_to": "0043-03-15 BC"},
        "Decision": {"created_at": "12000-01-01", "updated_at": "infinity"},
    }
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("alter table pgmem.node disable trigger user")
        for label, times in wrong.items():
            changed = ", ".join(f"{name} = '{value}'" for name, value in times.items())
            connection.execute(f"update pgmem.node set {changed} where label = '{label}'".encode())
        connection.execute("alter table pgmem.node enable trigger user")
        connection.execute(
            "update pgmem.node_version set ingested_at = '0044-03-15 BC', replaced_at = '0043-03-15 BC'"
        )
        before = connection.execute("select count(*) from pgmem.node").fetchone()
    done = schema.upgrade(dsn, ())
    for label, times in wrong.items():
        for name in times:
            assert [
                line for line in done.notices if f"node: {name} of " in line and "year 1 to 9999" in line
            ], label
    with psycopg.connect(dsn) as connection:
        assert connection.execute("select count(*) from pgmem.node").fetchone() == before
        rows = connection.execute(
            "select label, created_at, updated_at, valid_from, valid_to from pgmem.node where label = any (%s)",
            (list(wrong),),
        ).fetchall()
        assert {str(row[1].date()) for row in rows} == {"0001-01-02", "9999-12-30"}
        states = connection.execute("select ingested_at, replaced_at from pgmem.node_version").fetchall()
        assert {str(row[0].date()) for row in states} == {"0001-01-02"}
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        assert caller(connection)("search_memory", query="alert on the lag", project_id="shop")["title"]


@pytest.mark.parametrize("store", STORES)
def test_a_verb_of_release_0_1_0_gains_loses_and_changes_an_argument(
    store: str, database: MakeDatabase, program: Program, sql_folder: Path, request: pytest.FixtureRequest
) -> None:
    if "age" in STORES[store]:
        request.getfixturevalue("age")
    dsn = past_the_pooler(database())
    install_released(dsn, program, store)
    change_arguments(sql_folder)
    schema.upgrade(dsn, STORES[store])
    changed_verbs(dsn)


def test_a_verb_of_an_installed_store_gains_loses_and_changes_an_argument(
    database: MakeDatabase,
    program: Program,
    sql_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dsn = past_the_pooler(database())
    install_released(dsn, program)
    schema.upgrade(dsn)
    before = functions(dsn)
    change_arguments(sql_folder)
    assert schema.upgrade(dsn).changed is True
    changed_verbs(dsn)
    after = functions(dsn)
    # Only a function that changed, or is bound to one, is another function now.
    kept = {name for name, oid in before.items() if after.get(name) == oid}
    assert {"save_session", "retrieve_context", "caller", "forget"} <= kept
    assert not {"save_decision", "remember", "neighbours", "jaccard"} & kept


def test_a_function_that_was_removed_is_dropped(dsn: str, sql_folder: Path) -> None:
    chapter = sql_folder / "core/quality/62-routing.sql"
    chapter.write_text(
        chapter.read_text(encoding="utf-8").replace("route_analysis", "routed"), encoding="utf-8"
    )
    schema.upgrade(dsn)
    names = functions(dsn)
    assert "route_analysis" not in names
    assert "routed" in names


def test_a_verb_that_alone_is_changed_and_returns_rows_of_a_view_is_made_again(
    dsn: str, sql_folder: Path
) -> None:
    before = functions(dsn)
    chapter = sql_folder / "core/reading/40-time-travel.sql"
    text = chapter.read_text(encoding="utf-8")
    head = "create or replace function pgmem.get_node(\n  p_label text,"
    assert head in text
    chapter.write_text(text.replace(head, head.replace(" text,", " varchar,")), encoding="utf-8")
    schema.upgrade(dsn)
    after = functions(dsn)
    assert after.keys() == before.keys()
    assert after["get_node"] != before["get_node"]


def test_a_view_gains_a_column_and_another_view_is_dropped(dsn: str, sql_folder: Path) -> None:
    chapter = sql_folder / "core/install/90-views.sql"
    text = chapter.read_text(encoding="utf-8")
    text = text.replace("select p.id, p.key as name", "select p.id, p.version, p.key as name")
    chapter.write_text(
        text.replace("pgmem.turn", "pgmem.utterance").replace("'turn'", "'utterance'"), encoding="utf-8"
    )
    schema.upgrade(dsn)
    with psycopg.connect(dsn) as connection:
        assert connection.execute("select version from pgmem.project").fetchall() == []
    assert {name for name in functions(dsn) if name in ("rows_of_turn", "rows_of_utterance")} == {
        "rows_of_utterance"
    }


def test_a_role_without_superuser_upgrades_the_store_it_owns(
    empty: str, role: MakeRole, program: Program, sql_folder: Path
) -> None:
    own = role(past_the_pooler(empty))
    install_released(empty, program, own=own)
    change_arguments(sql_folder)
    schema.upgrade(own, ())
    changed_verbs(own)


def test_a_failed_upgrade_names_the_chapter_and_the_line_and_changes_nothing(
    dsn: str, sql_folder: Path
) -> None:
    before = schema_of(dsn)
    chapter = sql_folder / "core/reading/43-neighbours.sql"
    text = chapter.read_text(encoding="utf-8")
    chapter.write_text(text + "\nselect nothing from nowhere;\n", encoding="utf-8")
    with pytest.raises(Exception, match="nowhere") as caught:
        schema.upgrade(dsn)
    assert caught.value.__notes__ == [
        f"in sql/core/reading/43-neighbours.sql, line {text.count(chr(10)) + 2}"
    ]
    assert schema_of(dsn) == before


def functions(dsn: str) -> dict[str, int]:
    """The functions of the schema with their oids."""
    with psycopg.connect(dsn) as connection:
        return dict(
            connection.execute(
                "select proname, oid from pg_proc where pronamespace = 'pgmem'::regnamespace"
            ).fetchall()
        )


def changed_verbs(dsn: str) -> None:
    """The store works with the arguments of `change_arguments`, and no function has a namesake."""
    has_what_was_saved(dsn)
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        call = caller(connection)
        assert (
            call("save_decision", title="Print receipts", rationale="r", project_id="shop", tags=["paper"])[
                "status"
            ]
            == "saved"
        )
        with pytest.raises(psycopg.errors.UndefinedFunction):
            call("remember", label="Technology", properties={"name": "x"}, valid_to="2030-01-01")
        twice = connection.execute(
            "select proname from pg_proc where pronamespace = 'pgmem'::regnamespace group by 1 having count(*) > 1"
        ).fetchall()
        assert twice == []
        kinds = connection.execute(
            "select proname, format_type(prorettype, null) as kind from pg_proc where proname = 'jaccard'"
        ).fetchall()
        assert [row["kind"] for row in kinds] == ["numeric"]
