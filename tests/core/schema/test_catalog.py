"""The engine as the catalog shows it: files, comments, signatures, rights, error codes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import DictRow

import pgmem
from pgmem import errors, models
from pgmem.install import schema

GENERATED = re.compile(r"^(project_(node|edge)_(insert|update|delete)|label_number)$")
Rows = Callable[..., list[DictRow]]


@pytest.fixture
def rows(connection: psycopg.Connection[DictRow]) -> Rows:
    """`rows("select …")`: the rows of a query."""
    return lambda query, *parameters: connection.execute(query.encode(), parameters or None).fetchall()


def sql_files() -> list[Path]:
    return list(schema._chapters())


def declared(pattern: str) -> dict[str, list[str]]:
    """The declarations of each file: its stem, the names."""
    found = {}
    for path in sql_files():
        text = path.read_text(encoding="utf-8")
        names = [
            match[match.lastindex or 0] for match in re.finditer(pattern, text, re.IGNORECASE | re.MULTILINE)
        ]
        if names:
            found[str(path.relative_to(schema._SQL))] = names
    return found


FUNCTION = r"^create or replace function pgmem\.(\w+)"
DECLARED_VIEW = r"^select pgmem\.declare_view\('(\w+)"
LABEL_RULES = re.findall(
    r"^    \('(\w+)', .*l\.",
    (schema._SQL / "core" / "base" / "02-labels.sql").read_text("utf-8"),
    re.MULTILINE,
)
VIEW = rf"{DECLARED_VIEW}|^create or replace view pgmem\.(\w+)"
KIND = r"^select pgmem\.declare_kind\('(\w+)', '(\w+)'"


def kinds(group: int) -> set[str]:
    """The kinds of memory that are declared (1), or their save verbs (2)."""
    texts = (path.read_text(encoding="utf-8") for path in sql_files())
    return {match[group] for text in texts for match in re.finditer(KIND, text, re.MULTILINE)}


def snake(label: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", label).lower()


def test_the_database_holds_the_functions_of_the_files_and_no_others(rows: Rows) -> None:
    in_files = {name for names in declared(FUNCTION).values() for name in names}
    in_files |= {f"rows_of_{name}" for names in declared(DECLARED_VIEW).values() for name in names}
    in_files |= kinds(2) | {name.format(snake(kind)) for kind in kinds(1) for name in ("{}_of", "rows_of_{}")}
    in_files |= {
        "memory_hash",
        "name_source_texts",
        "counts_apart",
        "scopes_apart",
        *LABEL_RULES,
    }  # made of the registry
    in_database = {
        r["proname"] for r in rows("select proname from pg_proc where pronamespace = 'pgmem'::regnamespace")
    }
    assert in_files == {name for name in in_database if not GENERATED.match(name)}


def test_the_database_holds_the_views_of_the_files_and_no_others(rows: Rows) -> None:
    in_files = {name for names in declared(VIEW).values() for name in names} | {
        snake(kind) for kind in kinds(1)
    }
    assert in_files == {
        r["viewname"] for r in rows("select viewname from pg_views where schemaname = 'pgmem'")
    }


@pytest.mark.parametrize("pattern", [FUNCTION, VIEW])
def test_an_object_is_declared_once(pattern: str) -> None:
    names = [name for found in declared(pattern).values() for name in found]
    assert len(names) > 10
    assert sorted(names) == sorted(set(names))


def test_views_are_in_the_chapters_that_are_replaced_only_where_they_changed() -> None:
    assert all(schema._shows(Path(file)) for file in declared(VIEW))


def test_every_file_is_installed_once() -> None:
    installed = [path.resolve() for path in schema._chapters()]
    made = schema._SQL / "made.sql"  # shows what the chapters make
    assert sorted([*installed, made.resolve()]) == sorted(
        path.resolve() for path in schema._SQL.rglob("*.sql")
    )


def test_no_function_is_overloaded(rows: Rows) -> None:
    found = rows(
        "select proname from pg_proc where pronamespace = 'pgmem'::regnamespace group by 1 having count(*) > 1"
    )
    assert found == []


@pytest.mark.parametrize(
    ("kind", "query"),
    [
        ("function", "select oid::regprocedure::text as name, obj_description(oid, 'pg_proc') as comment from pg_proc where pronamespace = 'pgmem'::regnamespace"),
        ("table or view", "select relname as name, obj_description(oid, 'pg_class') as comment from pg_class where relnamespace = 'pgmem'::regnamespace and relkind in ('r', 'p', 'v') and relname <> 'alembic_version'"),
        ("type", "select c.relname as name, obj_description(t.oid, 'pg_type') as comment from pg_class c join pg_type t on t.typrelid = c.oid where c.relnamespace = 'pgmem'::regnamespace and c.relkind = 'c'"),
    ],
    ids=["function", "table or view", "type"],
)  # fmt: skip
def test_everything_has_a_comment(rows: Rows, kind: str, query: str) -> None:
    found = rows(query)
    assert len(found) > 3
    assert [row["name"] for row in found if not row["comment"]] == []
    assert [row["name"] for row in found if len(row["comment"]) < 15] == []


# Columns whose meaning their name does not give away.
EXPLAINED = {
    "node": {"seq", "key", "props", "scope", "place", "tenant", "source", "initial_confidence", "scope_key", "text_length", "recorded_at"},
    "label": {"key_field", "text_fields", "verb"},
    "relation": {"by_verb", "is_column", "undirected"},
    "dedup_token": {"signature", "weight"},
}  # fmt: skip


@pytest.mark.parametrize("table", EXPLAINED)
def test_a_column_whose_name_does_not_say_it_has_a_comment(rows: Rows, table: str) -> None:
    found = rows(
        "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0"
        " and col_description(attrelid, attnum) is not null",
        f"pgmem.{table}",
    )
    assert EXPLAINED[table] - {row["attname"] for row in found} == set()


def test_every_security_definer_function_pins_its_search_path(rows: Rows) -> None:
    found = rows(
        "select proname, array_to_string(proconfig, ' ') as config from pg_proc"
        " where pronamespace = 'pgmem'::regnamespace and prosecdef"
    )
    assert len(found) >= 20
    assert [r["proname"] for r in found if "search_path=" not in (r["config"] or "")] == []
    unsafe = [
        r["proname"]
        for r in found
        if not re.search(r"search_path=[\w, \"]*pg_temp$|search_path=.*pg_temp ", r["config"])
    ]
    assert unsafe == []


def test_no_function_that_forbids_scans_is_compiled(rows: Rows) -> None:
    """Every verb took 300 ms more on PostgreSQL 15 to 17 with jit, for the scan of a table of tokens in caller()."""
    found = rows(
        "select proname, 'jit=off' = any (proconfig) as is_plain from pg_proc"
        " where pronamespace = 'pgmem'::regnamespace and 'enable_seqscan=off' = any (proconfig)"
    )
    assert len(found) >= 15
    assert [r["proname"] for r in found if not r["is_plain"]] == []


def test_no_expression_is_used_in_place_of_a_table() -> None:
    """AGE 1.5 takes each such expression for a call of a function, and ends the server when it is none."""
    expression = r"\b(?:from|lateral)\s+(?:coalesce|nullif|greatest|least|case|array|row)\b\s*[\[(]"
    distinct = r"\bdistinct\s+from\s+\w+"
    found = {
        path.name: re.findall(expression, re.sub(distinct, "", path.read_text("utf-8")), re.IGNORECASE)
        for path in sql_files()
    }
    assert {name: places for name, places in found.items() if places} == {}


def test_no_verb_can_be_called_by_everyone(rows: Rows) -> None:
    found = rows(
        "select proname from pg_proc where pronamespace = 'pgmem'::regnamespace and has_function_privilege('public', oid, 'execute')"
    )
    assert found == []


def test_arguments_and_locals_have_a_prefix_that_columns_lack(rows: Rows) -> None:
    found = rows(
        "select p.oid::regprocedure::text as function, a.name from pg_proc p"
        " cross join unnest(p.proargnames, coalesce(p.proargmodes, array_fill('i'::\"char\", array[p.pronargs]))) as a(name, mode)"
        " where p.pronamespace = 'pgmem'::regnamespace and a.mode = 'i' and a.name !~ '^p_'"
    )
    assert found == []


def test_a_function_says_use_column_only_where_one_of_its_names_could_be_a_column_s(rows: Rows) -> None:
    found = rows(
        "select proname, proargnames, prosrc from pg_proc where pronamespace = 'pgmem'::regnamespace"
        " and prosrc like '%%#variable_conflict%%'"
    )
    for row in found:
        declared = re.findall(
            r"^  (\w+) +[\w.\[\]]+(?: :=.*)?;$", row["prosrc"].partition("begin")[0], re.MULTILINE
        )
        own = [name for name in [*(row["proargnames"] or ()), *declared] if not name.startswith(("p_", "v_"))]
        assert own, row["proname"]


def test_every_function_compiles(rows: Rows, connection: psycopg.Connection[DictRow]) -> None:
    found = rows(
        "select pg_get_functiondef(p.oid) as definition from pg_proc p join pg_language l on l.oid = p.prolang"
        " where p.pronamespace = 'pgmem'::regnamespace and l.lanname = 'plpgsql'"
    )
    with connection.transaction(force_rollback=True):
        connection.execute("set local check_function_bodies = on")
        for row in found:
            connection.execute(row["definition"].encode())


def test_every_function_that_is_called_is_there(rows: Rows) -> None:
    """The server looks for a function that PL/pgSQL calls only when the line runs."""
    bodies = rows("select proname, prosrc from pg_proc where pronamespace = 'pgmem'::regnamespace")
    called = {
        (row["proname"], name)
        for row in bodies
        for name in re.findall(r"\bpgmem\.(\w+)\(", re.sub(r"--.*", "", row["prosrc"]))
    }
    assert len(called) > 1000
    there = {row["proname"] for row in bodies}
    # Those that are made with the graph are called where there is one.
    assert {pair for pair in called if pair[1] not in there and not GENERATED.match(pair[1])} == set()


def test_the_head_of_a_chapter_names_chapters_and_files_that_are_there() -> None:
    root = schema._SQL.parent
    for path in sql_files():
        text = path.read_text(encoding="utf-8")
        heads = " ".join(line for line in text.splitlines() if line.startswith("--"))
        chapters = set(re.findall(r"\b\d\d-[a-z][a-z-]+\b", heads))
        assert chapters - {other.stem for other in sql_files()} == set(), path.name
        for name in re.findall(r"\b(?:pgmem|docs|migrations|scripts)/[\w./-]*\w", heads):
            assert list(root.glob(f"{name}*")), (path.name, name)


# SQLSTATEs

INTERNAL = {"PM098", "PM099"}


def test_every_sqlstate_raised_has_a_class_and_every_class_is_raised() -> None:
    raised = set()
    for path in sql_files():
        raised |= set(re.findall(r"errcode = '(PM\d{3})'", path.read_text(encoding="utf-8")))
    classes = {cls.sqlstate for cls in errors._BY_SQLSTATE.values()}
    assert raised - INTERNAL == classes


def test_every_error_class_is_public_and_in_the_drawing() -> None:
    drawing = errors.__doc__ or ""
    for state, cls in errors._BY_SQLSTATE.items():
        assert cls.__name__ in pgmem.__all__
        assert re.search(rf"{cls.__name__}\s+{state}\s", drawing)
        assert cls.__doc__


def test_the_comment_on_a_verb_says_once_what_all_verbs_of_its_rights_raise(rows: Rows) -> None:
    verbs = rows(
        "select rights, effect, obj_description(('pgmem.' || name)::regproc, 'pg_proc') as comment from pgmem.verb"
    )
    for verb in verbs:
        wanted = {"reviewer": ["NotPermitted"], "writer": ["IdentityRequired", "WrongIsolation"]}
        for error in wanted.get(verb["rights"], []) if verb["effect"] not in ("read", "look") else []:
            assert verb["comment"].count(f"\n{error}: ") == 1, verb["comment"]


@pytest.mark.parametrize("state", sorted(errors._BY_SQLSTATE))
def test_a_sqlstate_becomes_its_class_with_the_message(
    connection: psycopg.Connection[DictRow], state: str
) -> None:
    raise_it = f"do $$ begin raise exception using errcode = '{state}', message = 'what to do'; end $$"
    with pytest.raises(errors._BY_SQLSTATE[state], match="^what to do$"), errors.translate():
        connection.execute(raise_it.encode())


@pytest.mark.parametrize(
    "query", ["select 'x'::date", "select 'x'::uuid", "select 'x'::integer", "select '1'::float8 / 0"]
)
def test_a_value_that_cannot_be_read_is_an_invalid_argument(
    connection: psycopg.Connection[DictRow], query: str
) -> None:
    with pytest.raises(errors.InvalidArgument, match="A value cannot be read"), errors.translate():
        connection.execute(query.encode())


@pytest.mark.parametrize("query", ["select nonsense", "select pg_sleep(1) from pgmem.nothing"])
def test_any_other_error_of_the_database_passes_unchanged(
    connection: psycopg.Connection[DictRow], query: str
) -> None:
    with pytest.raises(psycopg.ProgrammingError), errors.translate():
        connection.execute(query.encode())


# The answer of a verb, and the dataclass it becomes

ANSWERS = {
    "get_scope_state": models.ScopeState,
    "retrieve_context": models.ContextBundle,
    "search_memory": models.SearchResult,
    "save_session": models.SaveResult,
    "save_decision": models.SaveResult,
    "save_pattern": models.SaveResult,
    "save_context": models.SaveResult,
    "upsert_entity": models.SaveResult,
    "store_session_with_learnings": models.BatchSaveResult,
    "request_global_write_approval": models.GovernanceToken,
    "get_save_status": models.SaveStatus,
    "relate": models.Edge,
    "neighbours": models.Neighbour,
    "check_duplicate": models.DuplicateCheck,
    "list_reviews": models.Review,
    "resolve_review": models.SaveResult,
    "retry_save": models.SaveResult,
    "check_graph": models.CheckedLabel,
    "status": models.Status,
}


@pytest.mark.parametrize("verb", ANSWERS)
def test_a_verb_answers_with_every_field_of_its_dataclass(rows: Rows, verb: str) -> None:
    found = rows(
        "select coalesce(array_agg(a.attname::text) filter (where a.attname is not null),"
        " (select array_agg(name) from unnest(p.proargnames, p.proargmodes) as o(name, mode) where mode in ('o', 't', 'b')))"
        " as columns from pg_proc p left join pg_type t on t.oid = p.prorettype and t.typrelid <> 0"
        " left join pg_attribute a on a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped"
        " where p.pronamespace = 'pgmem'::regnamespace and p.proname = %s group by p.oid",
        verb,
    )[0]["columns"]
    assert {field.name for field in fields(ANSWERS[verb])} - set(found) == set()


@pytest.mark.parametrize("verb", [verb for verb in ANSWERS if verb not in ("check_graph",)])
def test_a_verb_of_agents_has_a_method_with_the_same_arguments(rows: Rows, verb: str) -> None:
    import inspect

    method = inspect.signature(getattr(pgmem.Memory, verb))
    (found,) = rows(
        "select array(select name from unnest(p.proargnames, coalesce(p.proargmodes, array_fill('i'::\"char\", array[p.pronargs])))"
        " as a(name, mode) where mode = 'i') as arguments from pg_proc p"
        " where pronamespace = 'pgmem'::regnamespace and proname = %s",
        verb,
    )
    in_sql = {name.removeprefix("p_") for name in found["arguments"] or []}
    # Settings of the engine itself: vectors, and how they are fused.
    own = {
        name
        for name in in_sql
        if name.startswith("embedding")
        or name in ("vector", "model", "query_embedding", "degraded", "reason", "names")
    }
    assert set(method.parameters) - {"self"} - in_sql == set()
    assert in_sql - own - set(method.parameters) == set()


def test_the_statuses_that_free_a_content_are_those_of_its_unique_index(
    rows: Rows, connection: psycopg.Connection[DictRow]
) -> None:
    (index,) = rows(
        "select pg_get_expr(indpred, indrelid) as predicate from pg_index"
        " where indexrelid = 'pgmem.node_content_unique'::regclass"
    )
    statuses = set(
        re.findall(
            r"'(\w+)'",
            rows(
                "select pg_get_constraintdef(c.oid) as text from pg_constraint c"
                " where contypid = 'pgmem.node_status'::regtype"
            )[0]["text"],
        )
    )
    freed = set(re.findall(r"'(\w+)'", index["predicate"]))
    assert freed < statuses
    (kept,) = rows(
        "select array(select s from unnest(%s::text[]) s where pgmem.keeps_content(s)) as kept",
        sorted(statuses),
    )
    assert set(kept["kept"]) == statuses - freed
    connection.execute("set local enable_seqscan = off")
    plan = rows("explain select from pgmem.node n where n.scope_key = 1 and n.tenant || '' = 'x' and n.content_hash = 'y'"
                " and pgmem.keeps_content(n.status)")  # fmt: skip
    assert "node_content_unique" in str(plan)


def test_no_immutable_function_reads_a_text_search_configuration_by_its_name(rows: Rows) -> None:
    """A name means another configuration under another search_path, so a plan may not keep the answer."""
    found = rows(
        "select p.proname from pg_proc p where p.pronamespace = 'pgmem'::regnamespace and p.provolatile = 'i'"
        " and (p.prosrc ~ '(p|v)_\\w*(config|language)::regconfig' or p.prosrc ~ 'pgmem\\.(own_stems|query_lexemes)\\(')"
    )
    assert [row["proname"] for row in found] == []
