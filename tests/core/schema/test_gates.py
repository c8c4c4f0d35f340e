"""The gates of the tables: functions that write memories, relations, saves and cards, and nothing else does.

A second way into a table has fewer rules than the first. Whoever adds a function here says which rules it runs: those of the
constructor of its kind, the limits, steering, statuses, trust and scope. The server keeps no record of the
names in a body of PL/pgSQL, so the texts are read.
"""

from __future__ import annotations

import re

import pytest

from tests.fixtures.verbs import Rows
from tests.security.conftest import Session

WRITERS = {
    "card_commit": "remember_commits",
    "card_evidence": "add_evidence approve_card carry_card import_card refresh_evidence",
    "card_file": "import_files remember_files",
    "card_intent": "declare_intent finish_intent vacuum_cards",
    "card_revision": "import_card revise_card",
    "card_run": "refresh_report vacuum_cards",
    "card_state": "touch_cards",
    "card_subject": "add_subjects card_changed carry_card import_card refresh_card store_trajectory take_secret weigh_card",
    "edge": "create_relations delete_entities delete_relations hold_both insert_edge outdate_fact refresh_links remove_edge settle_conflict",
    "node": "adopt confirm_node decay_scores delete_node ensure_project expire_turns forget_by_ttl hide_items insert_node join_states make_present mark_hygiene put_back record_version refresh_states rename_files renew_items renew_memories renew_names set_status spend_token take_secret update_node",
    "node_version": "add_state adopt import_versions join_states keep_state number_version record_version renew_memories settled",
    "save_attempt": "apply_review bury_saves import_save record_attempt resolve_review retry_save sweep sweep_texts",
}
"""Which functions write a table."""

CALLERS = {
    "import_node": "apply_node import_records",
    "insert_edge": "apply_node approve_card create_relations delete_relations hold_both import_edge import_relation join_nodes link_session merge_entities record_contradictions review_insight settle_conflict store_decision supersede_decision",
    "insert_node": "capture_turn ensure_focus ensure_project import_node insert_card insert_foreign insert_stub merge_node open_project reflect request_global_write_approval store_decision store_entity store_node store_trajectory write_entity write_item write_named",
    "record_attempt": "fail_save hold_change hold_near make_extracted resolve_review run_save store_batch store_session_with_learnings",
    "update_node": "add_state change_card edit_node forget_repository hold_both import_memory join_states merge_entities merge_node merge_node_state open_project put_back rename_files repeated store_entity supersede_decision taken_over write_entity write_item",
}
"""The callers of functions that store, change, take over or join memories, or record a save."""

DYNAMIC = "adopt_rows erase_subject forget_counts import_row remove_moved"
"""Functions that write tables by their declarations: whole tenants that are moved, adopted or erased, and rows of a file."""

EXECUTES = {
    "made at an install": "act_words declare_answer declare_argument_type declare_verb declare_view drop_model enable_graph"
    " enable_vector give_to_owner grant_reports grant_rights init_schema make_approval make_constructor"
    " make_front_logins make_hash make_label_rules make_report_login make_roles make_save_verb make_store number_cell renew revoke_from_all"
    " secure_table",
    "the graph, vectors and roles beside the tables": "build_projection check_graph delete_embeddings drop_projection fill_graph"
    " identify_edges keep_graph_cache limit_role listen_changes make_projection project_cards rebuild_graph run_cypher"
    " set_aside_embeddings vector_candidates",
    "reads, or builds a row that a gate stores": "as_asked as_saved export_header node_record row_records",
    "calls the steps that features declare, each in this list where it writes": "get_sources import_parts put_back run_steps sweep",
    "whole tenants and rows of a file": "adopt_rows erase_subject forget_counts import_row remove_moved settle",
}
"""Functions that execute a text, by purpose. No catalog reads such a text, so a person looks at each."""

BY_NAME = re.compile(
    r"\bexecute\b[^;]*?(?:insert\s+into|update|delete\s+from|copy)\s+(?:pgmem\.)?%", re.IGNORECASE
)
TABLES = "node|node_version|edge|save_attempt|card_\\w+"


def writes(body: str, tables: str = TABLES) -> set[str]:
    """The tables or views that a body writes, however it spells them."""
    found = re.findall(
        r"\b(?:insert\s+into|update|delete\s+from|merge\s+into|truncate(?:\s+table)?|copy)\s+(?:only\s+)?"
        rf'(?:"?pgmem"?\s*\.\s*)?"?({tables})"?(?![\w"])',
        body,
        re.IGNORECASE,
    )
    return {name.lower() for name in found}


def calls(body: str, gate: str) -> bool:
    """Whether a body calls a function, with its schema or without."""
    return re.search(rf'(?<![\w.])(?:"?pgmem"?\s*\.\s*)?"?{gate}"?\s*\(', body, re.IGNORECASE) is not None


def executes(body: str) -> bool:
    """Whether a body executes a text."""
    return re.search(r"\bexecute\s+(?!function\b|procedure\b|on\b)", body, re.IGNORECASE) is not None


def without_comments(body: str) -> str:
    """A body as the server reads it."""
    return re.sub(r"--[^\n]*|/\*.*?\*/", " ", body, flags=re.DOTALL)


def read(rows: Rows) -> dict[str, str]:
    """The texts of the functions of the store by their names, in whatever schema, without comments."""
    found = rows(
        "select p.proname as name, coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) as body from pg_proc p"
        " where p.prolang in (select oid from pg_language where lanname in ('sql', 'plpgsql'))"
        " and p.pronamespace <> 'pg_catalog'::regnamespace and p.pronamespace <> 'information_schema'::regnamespace"
        " and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')"
    )
    assert len(found) > 800
    whole: dict[str, str] = {}
    for row in found:
        whole[row["name"]] = whole.get(row["name"], "") + without_comments(row["body"])
    return whole


@pytest.fixture
def bodies(rows: Rows) -> dict[str, str]:
    """The functions of the store."""
    return read(rows)


def test_only_the_gates_write_memories_relations_saves_and_cards(bodies: dict[str, str]) -> None:
    found: dict[str, set[str]] = {}
    for name, body in bodies.items():
        for table in writes(body):
            found.setdefault(table, set()).add(name)
    assert found == {table: set(names.split()) for table, names in WRITERS.items()}


def test_nothing_writes_a_table_through_a_view(bodies: dict[str, str], rows: Rows) -> None:
    """A view of one table is written like the table."""
    views = rows(
        "select table_name as name from information_schema.views where table_schema = 'pgmem'"
        " and 'YES' in (is_updatable, is_insertable_into, is_trigger_updatable, is_trigger_insertable_into)"
    )
    names = "|".join(re.escape(row["name"]) for row in views)
    assert {name for name, body in bodies.items() if names and writes(body, names)} == set()


def test_only_constructors_store_what_a_caller_brings(bodies: dict[str, str]) -> None:
    found = {
        gate: {name for name, body in bodies.items() if name != gate and calls(body, gate)}
        for gate in CALLERS
    }
    assert found == {gate: set(names.split()) for gate, names in CALLERS.items()}


def test_only_what_moves_or_erases_tenants_writes_tables_by_name(bodies: dict[str, str]) -> None:
    assert {name for name, body in bodies.items() if BY_NAME.search(body)} == set(DYNAMIC.split())


def test_only_what_is_listed_executes_a_text(bodies: dict[str, str]) -> None:
    listed = {name for names in EXECUTES.values() for name in names.split()}
    assert {name for name, body in bodies.items() if executes(body)} == listed


@pytest.mark.parametrize(
    "body",
    ["begin insert into pgmem.node (label) values ('Decision'); end",
     "begin UPDATE only node set status = 'active'; end",
     'begin update "pgmem"."node" set status = null; end',
     "begin delete from pgmem . edge; end",
     "begin insert/* */into pgmem.node select 1; end",
     "begin insert --\n into node select 1; end",
     "begin merge into pgmem.save_attempt a using pgmem.setting on true when matched then delete; end",
     "begin with gone as (delete from pgmem.card_file returning 1) select count(*) from gone; end",
     "begin truncate table pgmem.node_version; end",
     "begin update visible_node set status = 'active'; end",
     "begin perform insert_node(null); end",
     "begin perform pgmem.update_node (null); end",
     'begin perform "pgmem"."insert_edge"(1, \'USES\', 2); end',
     "begin execute 'insert into pgmem.' || p_table; end",
     "begin execute format('update pgmem.%I set a = 1', p_table); end",
     "begin execute p_text; end"],
)  # fmt: skip
def test_a_new_way_into_a_table_is_noticed(connection: Session, rows: Rows, body: str) -> None:
    connection.execute(
        f"create function public.a_second_way(p_table text, p_text text) returns void language plpgsql as $x$ {body} $x$".encode()
    )
    made = read(rows)["a_second_way"]
    views = "|".join(
        row["name"] for row in rows("select viewname as name from pg_views where schemaname = 'pgmem'")
    )
    assert writes(made) or writes(made, views) or executes(made) or any(calls(made, gate) for gate in CALLERS)


def test_nobody_but_the_owner_writes_a_table_directly(rows: Rows) -> None:
    granted = rows(
        "select c.relname, a.privilege_type, a.grantee::regrole::text as grantee from pg_class c"
        " cross join lateral aclexplode(c.relacl) a where c.relnamespace = 'pgmem'::regnamespace and c.relkind = 'r'"
        " and a.privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE') and a.grantee <> c.relowner"
    )
    assert granted == []
