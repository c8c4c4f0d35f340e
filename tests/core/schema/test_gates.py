"""The gates of the tables: functions that write memories, relations, saves and cards, and nothing else does.

A second way into a table has fewer rules than the first. Whoever adds a function here says which rules it runs: those of the
constructor of its kind, the limits, what steers, statuses, trust and scope. The server keeps no record of what a body of
PL/pgSQL names, so the texts are read.
"""

from __future__ import annotations

import re

import pytest

from tests.fixtures.verbs import Rows

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
    "node_version": "add_state adopt import_versions join_states keep_state record_version renew_memories settled",
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
"""Who may call what stores a memory, changes one, takes one over, records a save or joins two."""

DYNAMIC = "adopt_rows erase_subject forget_counts import_row remove_moved"
"""Functions that write tables by their declarations: whole tenants that are moved, adopted or erased, and rows of a file."""

WRITE = re.compile(
    r"\b(?:insert\s+into|update|delete\s+from|merge\s+into|truncate)\s+(?:only\s+)?(?:pgmem\.)?"
    r"(node|node_version|edge|save_attempt|card_\w+)\b",
    re.IGNORECASE,
)
BY_NAME = re.compile(
    r"\bexecute\b[^;]*?(?:insert\s+into|update|delete\s+from|copy)\s+(?:pgmem\.)?%", re.IGNORECASE
)


@pytest.fixture
def bodies(rows: Rows) -> dict[str, str]:
    """The texts of the functions by their names, without comments."""
    found = rows(
        "select p.proname as name, coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) as body from pg_proc p"
        " where p.pronamespace = 'pgmem'::regnamespace"
    )
    assert len(found) > 800
    return {row["name"]: re.sub(r"--.*", "", row["body"]) for row in found}


def test_only_the_gates_write_memories_relations_saves_and_cards(bodies: dict[str, str]) -> None:
    found: dict[str, set[str]] = {}
    for name, body in bodies.items():
        for table in WRITE.findall(body):
            found.setdefault(table.lower(), set()).add(name)
    assert found == {table: set(names.split()) for table, names in WRITERS.items()}


def test_only_constructors_store_what_a_caller_brings(bodies: dict[str, str]) -> None:
    found = {
        gate: {
            name for name, body in bodies.items() if name != gate and re.search(rf"\bpgmem\.{gate}\(", body)
        }
        for gate in CALLERS
    }
    assert found == {gate: set(names.split()) for gate, names in CALLERS.items()}


def test_only_what_moves_or_erases_tenants_writes_tables_by_name(bodies: dict[str, str]) -> None:
    assert {name for name, body in bodies.items() if BY_NAME.search(body)} == set(DYNAMIC.split())


@pytest.mark.parametrize(
    "body",
    ["insert into pgmem.node (label) values ('Decision')", "UPDATE only node set status = 'active'",
     "merge into pgmem.save_attempt a using x on true", "delete from pgmem.card_file"],
)  # fmt: skip
def test_a_new_function_that_writes_a_table_is_noticed(body: str) -> None:
    assert WRITE.search(body)


def test_nobody_but_the_owner_writes_a_table_directly(rows: Rows) -> None:
    granted = rows(
        "select c.relname, a.privilege_type, a.grantee::regrole::text as grantee from pg_class c"
        " cross join lateral aclexplode(c.relacl) a where c.relnamespace = 'pgmem'::regnamespace and c.relkind = 'r'"
        " and a.privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE') and a.grantee <> c.relowner"
    )
    assert granted == []
