"""Install and upgrade: together, twice, half broken, without rights, by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import dict_row

from pgmem.errors import InvalidArgument, SchemaOutdated, UnsuitableDatabase
from pgmem.install import schema
from tests.conftest import as_admin, caller, is_managed, past_the_pooler, prepare_vector
from tests.core.schema.conftest import ROOT, MakeDatabase, MakeRole, Program, by_psql, schema_of

UPGRADE = "import sys; from pgmem.install import schema; print(schema.upgrade(sys.argv[1]).changed)"


def works(dsn: str, project: str = "shop") -> None:
    """Save, find and read a memory."""
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        call = caller(connection)
        assert call("save_session", objective="open", project_id=project)["status"] == "saved"
        assert (
            call("save_decision", title="Take cards", rationale="r", project_id=project)["status"] == "saved"
        )
        assert call("search_memory", query="cards", project_id=project)["title"] == "Take cards"
        bundle = call("retrieve_context", project_id=project, scope="project", categories=["Decision"])
        assert [item["title"] for item in bundle["items"]] == ["Take cards"]


def exists(dsn: str, what: str) -> bool:
    """Whether a schema is there."""
    with psycopg.connect(dsn) as connection:
        return (
            connection.execute("select 1 from pg_namespace where nspname = %s", (what,)).fetchone()
            is not None
        )


def test_five_installers_at_once_all_succeed_and_one_of_them_does_the_work(empty: str) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-c", UPGRADE, empty], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(5)
    ]
    answers = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0] * 5, [err.decode()[-500:] for _, err in answers]
    assert sorted(out.decode().strip() for out, _ in answers) == ["False"] * 4 + ["True"]
    works(empty)


def test_a_second_upgrade_changes_nothing(empty: str) -> None:
    assert schema.upgrade(empty).changed is True
    works(empty)
    before = schema_of(empty)
    assert schema.upgrade(empty).changed is False
    assert schema_of(empty) == before
    works(empty, "bank")


def test_an_upgrade_that_replaces_everything_changes_nothing_but_the_functions(dsn: str) -> None:
    works(dsn)
    before = schema_of(dsn)
    with psycopg.connect(dsn) as connection:
        connection.execute("update pgmem.schema_version set digest = 'of an older release'")
    assert schema.upgrade(dsn).changed is True
    assert schema_of(dsn) == before
    with psycopg.connect(dsn) as connection:
        assert connection.execute("select count(*) from pgmem.node where label = 'Decision'").fetchone() == (
            1,
        )


def test_a_changed_view_is_replaced_with_all_that_reads_it(dsn: str, sql_folder: Path) -> None:
    works(dsn)
    view = sql_folder / "core/base/09-visible.sql"
    view.write_text(
        view.read_text(encoding="utf-8").replace("select e.*", "select e.*, 1 as one", 1), encoding="utf-8"
    )
    before = schema_of(dsn)
    assert schema.upgrade(dsn).changed is True
    after = schema_of(dsn)
    assert after.keys() - before.keys() >= {"column pgmem.visible_edge.one"}
    assert before.keys() <= after.keys()


def test_a_broken_file_leaves_nothing_behind(empty: str, sql_folder: Path) -> None:
    (sql_folder / "core/saving/24-saving.sql").write_text(
        "create function pgmem.saved() returns nonsense", encoding="utf-8"
    )
    with pytest.raises(Exception, match="no language specified"):
        schema.upgrade(empty)
    assert not exists(empty, "pgmem")
    assert not exists(empty, "pgmem_graph")


def test_a_broken_last_file_leaves_nothing_behind(empty: str, sql_folder: Path) -> None:
    with (sql_folder / "core/install/95-triggers.sql").open("a", encoding="utf-8") as file:
        file.write("\nselect 1 / 0;\n")
    with pytest.raises(Exception, match="division by zero"):
        schema.upgrade(empty)
    assert not exists(empty, "pgmem")


def test_a_broken_upgrade_leaves_the_store_as_it_was(dsn: str, sql_folder: Path) -> None:
    works(dsn)
    before = schema_of(dsn)
    saved = sql_folder / "core/saving/24-saving.sql"
    whole = saved.read_text(encoding="utf-8")
    saved.write_text("select 1 / 0;", encoding="utf-8")
    with pytest.raises(Exception, match="division by zero"):
        schema.upgrade(dsn)
    assert schema_of(dsn) == before
    saved.write_text(whole + "\n-- mended\n", encoding="utf-8")
    assert schema.upgrade(dsn).changed is True
    works(dsn, "bank")


def test_settings_given_at_install_are_rows_of_the_store(empty: str) -> None:
    schema.upgrade(empty, settings={"project_limit": "3"})
    assert schema_of(empty)["setting project_limit"].startswith("(project_limit,3,")
    schema.upgrade(empty, settings={"project_limit": "4"})
    assert schema_of(empty)["setting project_limit"].startswith("(project_limit,4,")


@pytest.mark.parametrize(
    ("name", "value"), [("dedup_supersede", "0.3"), ("max_title_chars", "10"), ("require_identity", "maybe")]
)
def test_a_setting_that_would_break_a_promise_is_refused_whole(empty: str, name: str, value: str) -> None:
    with pytest.raises(
        InvalidArgument, match=f"^PGMEM_{name.upper()}: {name} cannot be {value!r}; it means: "
    ):
        schema.upgrade(empty, settings={name: value})
    assert not exists(empty, "pgmem")


def test_an_empty_database_and_an_outdated_one_get_different_errors(empty: str) -> None:
    with (
        psycopg.connect(empty) as connection,
        pytest.raises(SchemaOutdated, match=r"no pgmem schema yet. Run: pgmem init"),
    ):
        schema.check_version(connection)
    schema.upgrade(empty)
    with psycopg.connect(empty) as connection:
        schema.check_version(connection)
        connection.execute("update pgmem.schema_version set release = '0.1', digest = 'another'")
        with pytest.raises(
            SchemaOutdated, match=r"holds pgmem schema 0.1, this program is .* Run: pgmem init"
        ):
            schema.check_version(connection)
        connection.execute("update pgmem.schema_version set release = %s", (schema.release(),))
        with pytest.raises(SchemaOutdated, match=r"this program is another state of .*\. Run: pgmem init"):
            schema.check_version(connection)


def test_a_store_of_a_newer_release_is_left_as_it_is(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("update pgmem.alembic_version set version_num = '9999'")
        connection.execute("update pgmem.schema_version set release = '9.9', digest = 'another'")
        with pytest.raises(UnsuitableDatabase, match="newer release of pgmem than .* install that release"):
            schema.upgrade(dsn)
        assert connection.execute("select release from pgmem.schema_version").fetchone() == ("9.9",)


@pytest.mark.parametrize(
    "options",
    [
        "encoding 'UTF8' locale 'C' locale_provider libc",
        "encoding 'SQL_ASCII' locale 'C' locale_provider libc",
    ],
)
def test_a_database_that_folds_no_accented_letter_is_refused(database: MakeDatabase, options: str) -> None:
    dsn = database(options)
    with pytest.raises(UnsuitableDatabase, match="does not know accented letters"):
        schema.upgrade(dsn)
    assert not exists(dsn, "pgmem")


def test_the_database_that_the_refusal_proposes_is_taken(database: MakeDatabase) -> None:
    dsn = database("encoding 'UTF8' locale 'C.UTF-8'")
    schema.upgrade(dsn)
    works(dsn)


def test_a_role_without_superuser_installs_into_the_database_it_owns(empty: str, role: MakeRole) -> None:
    own = role(empty)
    done = schema.upgrade(own)
    works(own)
    # pgvector may be made by the owner of a database, AGE by a superuser alone.
    assert "age" not in done.extensions
    assert schema.upgrade(own).changed is False


@pytest.mark.usefixtures("superuser")
def test_a_role_without_superuser_uses_the_extensions_that_are_there(empty: str, role: MakeRole) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        offered = connection.execute("select 1 from pg_available_extensions where name = 'age'").fetchone()
        if offered is not None:
            connection.execute("create extension age")
    own = role(empty)
    if offered is not None:
        name = psycopg.conninfo.conninfo_to_dict(own)["user"]
        with psycopg.connect(empty, autocommit=True) as connection:
            connection.execute(f"grant usage on schema ag_catalog to {name}".encode())
            connection.execute(f"grant all on all tables in schema ag_catalog to {name}".encode())
    schema.upgrade(own)
    works(own)
    with psycopg.connect(own) as connection:
        row = connection.execute("select age_version is not null from pgmem.status()").fetchone()
        assert row == (offered is not None,)
        if offered is not None:
            assert connection.execute("select * from pgmem.check_graph()").fetchall() == []


def test_the_script_for_a_dba_installs_what_an_upgrade_installs(
    database: MakeDatabase, template: str, dsn: str, program: Program, tmp_path: Path
) -> None:
    by_hand = past_the_pooler(database())
    with psycopg.connect(as_admin(by_hand), autocommit=True) as connection:
        for name in connection.execute("select name from pg_available_extensions").fetchall():
            if name[0] == "vector" and is_managed():
                prepare_vector(connection)
            elif name[0] in schema.EXTENSIONS and not is_managed():
                connection.execute(f"create extension {name[0]}".encode())
    by_psql(program, tmp_path / "install.sql", by_hand, "".join(schema.script()))
    assert schema_of(by_hand) == schema_of(dsn)
    with psycopg.connect(by_hand) as connection:
        schema.check_version(connection)
    assert schema.upgrade(by_hand).changed is False
    works(by_hand)


def test_the_script_finds_pgvector_in_another_schema(
    database: MakeDatabase, vectors: None, program: Program, tmp_path: Path
) -> None:
    dsn = past_the_pooler(database())
    with psycopg.connect(as_admin(dsn), autocommit=True) as admin:
        prepare_vector(admin, "elsewhere")
    by_psql(program, tmp_path / "install.sql", dsn, "".join(schema.script()))
    with psycopg.connect(dsn) as connection:
        named = "select count(*) from pg_proc where pronamespace = 'pgmem'::regnamespace and strpos(prosrc, %s) > 0"
        for where, some in (("elsewhere", True), ("public", False)):
            for name in ("halfvec", "<=>"):
                assert (connection.execute(named, (f"{where}.{name}",)).fetchone() != (0,)) is some
        connection.execute("select pgmem.register_model('test:two', 2)")


def test_the_script_installs_all_or_nothing(database: MakeDatabase, program: Program, tmp_path: Path) -> None:
    dsn = past_the_pooler(database())
    with pytest.raises(AssertionError, match="division by zero"):
        by_psql(
            program,
            tmp_path / "install.sql",
            dsn,
            "".join(schema.script()).replace("commit;", "select 1 / 0;\ncommit;"),
        )
    assert not exists(dsn, "pgmem")
