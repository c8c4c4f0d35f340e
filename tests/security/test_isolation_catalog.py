"""Isolation in the catalog: no verb goes round the one way, no table is left out of an erasure, plans keep their indexes."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import DictRow

import pgmem
from tests.conftest import Call, GraphDifferences
from tests.fixtures.verbs import ActAs, Rows

SQL = Path(pgmem.__file__).parent.parent / "sql"
MEMORY = "node|edge|node_version|embedding|save_attempt"
READS = re.compile(rf"\b(?:from|join)\s+(?:only\s+)?pgmem\.({MEMORY})\b")
WRITES = re.compile(r"\b(?:insert into|update|delete from)\s+(?:only\s+)?pgmem\.(node|edge|node_version)\b")

# Who may write the record, and why it is not one of insert_node, update_node, set_status, delete_node, insert_edge.
WRITERS = {
    "take_secret": "the owner's, when a store becomes a cell: makes the scope keys of all rows again",
    "insert_node": "the one way in which a node is made; whose it is its caller has stamped",
    "update_node": "the one way in which a node changes",
    "set_status": "the one way out of live",
    "confirm_node": "the time of a memory alone: of one that confirm has checked, or that a save of the same tenant met",
    "delete_node": "the one way in which a node goes",
    "insert_edge": "the one way in which an edge is made",
    "record_version": "the trigger that keeps every earlier state",
    "number_version": "the trigger that ends the open states of one node that a change covers",
    "spend_token": "the vertex of a token whose row the caller's tenant holds",
    "decay_scores": "maintenance: archives a batch of the caller's tenant, or of all for a reviewer without one",
    "forget_by_ttl": "maintenance: archives or purges a batch of the caller's tenant, or of all for a reviewer without one",
    "import_versions": "earlier states of a node that its caller has just made, or whose states it joins",
    "adopt": "the owner's: gives rows without tenant to one",
    "refresh_links": "edges that an earlier refresh of the same scope key made and this one does not",
    "ensure_project": "the name of a project that was resolved for the caller",
    "renew_memories": "the upgrade's: what an earlier release stored by other rules",
    "renew_names": "the upgrade's: names that an earlier release stored by other rules",
    "hide_items": "items and entities below a scope lock that its caller holds: archived together",
    "renew_items": "the time until which items live, below a lock_scope of the caller: by tenant",
    "rename_files": "frees the name of a deleted file in the place of the caller, which stored_item found",
    "delete_entities": "edges of entity_nodes of the caller's tenant",
    "create_relations": "an edge of the caller's tenant, between ends of entity_or_stub, made again with one type more",
    "delete_relations": "an edge of the caller's tenant, of entity_relations, made again with one type less",
    "expire_turns": "maintenance: turns of any tenant whose days are over",
    "settle_conflict": "the conflict of two memories of visible_node, after require_own, below the locks of both scopes",
    "keep_state": "the one way in which a state is put beside the row of its node, for a caller that has checked the node",
    "make_present": "the row of one node from one of its states, which its caller has found",
    "refresh_states": "when the states of one node change, worked out from them; nothing that anybody says",
    "settled": "a state of one node that has become true; the node was found by the caller, or is due by its own times",
    "put_back": "an earlier state of a node that its caller found through what the tenant may see",
    "add_state": "a state of a node that a save of its tenant found below the lock of its scope",
    "join_states": "the states of a node and of a record from another store, after require_arrival and the comparison of trust",
    "remove_edge": "an edge that was removed in another store, after require_own and require_link",
    "outdate_fact": "what a fact outdated that a save of its tenant has just replaced, below the lock of its scope",
    "hold_both": "two decisions of one scope that a save or a reviewer found there; the line between them, with who said it",
    "mark_hygiene": "the time of the last report on a project that was resolved for the caller",
}
# The signs in the text of a function that it asks for one tenant's rows, or is a person's verb.
BY_TENANT = re.compile(
    r"visible_|told_memory|recorded_state|tenant|pgmem\.fits\(|require_reviewer|is_reviewer|require_graph"
)
# Functions that read the record with neither, and why they may.
READERS = {
    "settle": "the mover's: the index of the titles of an organisation that has arrived",
    "card_link_changed": "a trigger on edge: looks at the ends of the edge that changed",
    "weigh_card": "one card that its caller found through what the tenant may see",
    "delete_node": "one node that its caller found through what the tenant may see",
    "renew": "the upgrade's: counts what is left to renew in the store",
    "renew_vectors": "the upgrade's: nodes of a range, whosever they are",
    "delete_embeddings": "nodes that its caller found through what the tenant may see",
    "set_aside_embeddings": "nodes that its caller found through what the tenant may see",
    "outdated_decisions": "edges of nodes of hygiene_node, which is filtered",
    "detect_cross_project_solution": "edges of nodes of reflected_node, which is filtered",
    "detect_training_opportunity": "edges of nodes of reflected_node, which is filtered",
    "embedding_status": "the worker's and the reviewer's alone: counts over the store",
    "vector_scores": "candidates that its caller found through what the tenant may see",
    "renew_titles": "the upgrade's: nodes of a range, whosever they are",
    "index_vectors": "the worker's and the reviewer's alone: puts vectors into the index",
    "queue_missing": "texts for a model that is new or becomes the active one; what a queue holds a worker reads, by tenant",
    "search_items": "items that live_items found in the place of the caller",
    "hide_items": "items that its caller found through what the tenant may see",
    "rename_files": "files that live_items and stored_item found in the place of the caller",
    "refresh_cards": "cards that card_seqs found in the place of the caller",
    "refresh_links": "cards that scope_cards found in the place of the caller",
    "expire_turns": "the sweep's alone: turns of the store whose days are over",
    "edges_among": "relations between memories that its caller has looked up by tenant",
    "supersede": "the line below the decisions that repair_pair found among those of the caller",
    "is_newest": "whether a live statement outdates one that its caller found; such edges join statements of one tenant",
    "record_contradictions": "statements that contradicted found in the place and tenant of the one that is saved",
    "outdate_fact": "edges of an entity that a save of its tenant found below the lock of its scope",
    "apply_edge": "edges between nodes that imported_node found among the tenants of the caller",
    "supersede_decision": "the earlier decision that a save found in its own scope",
    "held_beside": "edges of one decision that its caller found in its own scope",
    "hold_both": "edges between two decisions that its caller found in one scope",
    "ranking_candidates": "candidates of a search whose filter names the tenants",
    "repeated": "the equal memory that a save found in its own scope",
    "join_states": "a node that imported_node found among the tenants of the caller, after require_arrival",
    "settled": "one node that its caller found through what the tenant may see, or that is due",
    "settle_due": "the sweep's: nodes of the store with a state that has become true",
    "refresh_states": "states of one node, for its own row",
    "next_change": "states of one node that its caller found through what the tenant may see",
    "state_regions": "states of one node that its caller found through what the tenant may see",
    "state_that_begins": "states of one node that a save of its tenant found",
    "recorded_next": "states of one node that is written, whose row its caller has",
    "held_periods": "earlier states of one node that its caller found through what the tenant may see",
    "states_trust": "states of one node whose trust is compared with that of the caller",
}


def functions() -> dict[str, str]:
    """The text of each function without comments; the chapters that need AGE write the graph, not the record."""
    found = {}
    for path in sorted(SQL.rglob("[0-9][0-9]-*.sql")):
        if path.stem in ("91-projection", "92-graph", "93-cypher"):
            continue
        text = re.sub(r"--[^\n]*", "", path.read_text(encoding="utf-8"))
        for part in text.split("create or replace function pgmem.")[1:]:
            found[part.partition("(")[0]] = part
    return found


def test_the_record_is_written_in_one_way_only() -> None:
    writers = {name for name, text in functions().items() if WRITES.search(text)}
    assert {"insert_node", "update_node", "insert_edge", "delete_node"} <= writers
    assert {name for name in writers if name not in WRITERS} == set()


def test_no_function_reads_a_table_of_memories_without_asking_whose_they_are() -> None:
    readers = {name for name, text in functions().items() if READS.search(text)}
    assert len(readers) > 10
    unfiltered = {name for name in readers if not BY_TENANT.search(functions()[name])}
    assert unfiltered - set(READERS) == set()


def test_a_reason_for_an_exemption_holds() -> None:
    """Who is said to have a function alone has it alone; a function that clients call names the key of its rows."""
    texts = functions()
    sql = "\n".join(path.read_text(encoding="utf-8") for path in SQL.rglob("[0-9][0-9]-*.sql"))
    rights = dict(re.findall(r"declare_verb\('(\w+)',\s*p_rights => '(\w+)'", sql))
    known = {*texts, *re.findall(r"create (?:or replace )?view pgmem\.(\w+)", sql)}
    callers = {
        name: {one for one, text in texts.items() if one != name and f"pgmem.{name}(" in text}
        for name in texts
    }
    unfiltered = {n for n, text in texts.items() if READS.search(text) and not BY_TENANT.search(text)}
    assert set(READERS) <= unfiltered
    assert set(WRITERS) <= {name for name, text in texts.items() if WRITES.search(text)}
    for name, reason in [*READERS.items(), *WRITERS.items()]:
        if re.match(r"the \w+'s|maintenance", reason):
            reached = {name}
            while more := set().union(*(callers[one] for one in reached)) - reached:
                reached |= more
            open_to = {one for one in reached if rights.get(one) in ("reader", "writer")}
            assert open_to == set(), (name, reason)
            continue
        named = {word for word in re.findall(r"\w+_\w+", reason) if word in known}
        places = {name} | callers[name]
        lacking = {
            word
            for word in named
            if f"pgmem.{word}" not in texts[name]
            and not all(f"pgmem.{word}" in texts[one] for one in places - {name})
        }
        assert lacking == set(), (name, reason)
        assert named or "security definer" not in texts[name], (name, reason)


def test_every_table_is_covered_by_an_erasure_or_holds_nothing_of_a_tenant(rows: Rows) -> None:
    covered = {row["name"] for row in rows("select name from pgmem.subject_tables()")}
    hanging = rows(
        "select conrelid::regclass::text as child, confrelid::regclass::text as parent from pg_constraint"
        " where contype = 'f' and confdeltype = 'c' and connamespace = 'pgmem'::regnamespace"
    )
    for _ in range(5):
        covered |= {
            r["child"].removeprefix("pgmem.")
            for r in hanging
            if r["parent"].removeprefix("pgmem.") in covered
        }
    tables = {
        r["name"]
        for r in rows(
            "select relname as name from pg_class where relnamespace = 'pgmem'::regnamespace and relkind = 'r'"
        )
    }
    assert tables - covered == OF_THE_STORE & tables


# Tables that hold no row of a tenant. held_lock: hashes of the locks of a transaction. store_secret: the key of these hashes.
OF_THE_STORE = {
    "away",  # the front removes its row when it erases the organisation
    "alembic_version",
    "embedding_model",
    "field",
    "erasure",
    "feed",
    "held_lock",
    "listener",
    "label",
    "argument",
    "relation",
    "renewal",
    "schema_file",
    "schema_function",
    "schema_version",
    "setting",
    "store_secret",
    "table_rule",
    "step",
    "upkeep",
    "verb",
}


def fill(call: Call, act_as: ActAs, org: str, user: str) -> None:
    act_as(org, user)
    session = call("save_session", objective=f"canary {user}", project_id=f"shop-{user}", focus="till")
    act_as(org, user, str(session["artifact_id"]))
    words = {"project_id": f"shop-{user}"}
    call("save_decision", title=f"canary {user} keeps orders in a file", rationale="small", **words)
    call("save_decision", title=f"canary {user} keeps orders in a table", rationale="grown", **words)
    call("save_pattern", trigger=f"canary {user}", repeatable_steps=["one"], **words)
    call("upsert_entity", entity_name=f"canary {user}", fact="a", **words)
    call("upsert_entity", entity_name=f"canary {user}", fact="b", **words)
    call("remember", label="Tool", properties={"name": f"canary {user}"}, relations={"USES": ["sh"]}, **words)
    token = call("request_global_write_approval", content_preview=f"canary {user}")["token"]
    call("save_context", content=f"canary {user}", scope="global", governance_token=token, **words)
    call("save_decision", title="x", rationale="y", project_id="nowhere")
    act_as()
    call("issue_token", org_id=org, user_id=user)


def everything(rows: Rows) -> str:
    tables = rows(
        "select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " where n.nspname in ('pgmem', 'pgmem_graph') and c.relkind = 'r'"
    )
    return "\n".join(str(rows(f"select t::text as row from {table['name']} t")) for table in tables)


def test_an_erasure_leaves_no_trace_of_its_subject_and_all_of_the_others(
    graph_differences: GraphDifferences, call: Call, act_as: ActAs, rows: Rows
) -> None:
    fill(call, act_as, "acme", "alice")
    fill(call, act_as, "acme", "bob")
    counted = call("erase_subject", org_id="acme", user_id="alice")
    assert "canary alice" in everything(rows)
    assert (counted["dry_run"], counted["receipt_id"]) == (True, None)
    done = call("erase_subject", org_id="acme", user_id="alice", dry_run=False, by="admin")
    assert done["counts"] == counted["counts"]
    assert done["counts"]["node"] >= 9
    assert done["counts"]["node_version"] >= 2
    assert done["counts"]["edge"] >= 5
    assert done["counts"]["api_token"] == 1
    left = everything(rows)
    assert "alice" not in left
    assert "canary bob keeps orders in a table" in left
    assert graph_differences() == []
    assert call("erase_subject", org_id="acme", user_id="alice", dry_run=False, by="admin")["total"] == 0
    receipts = rows("select subject_hash, erased_by, counts from pgmem.erasure order by erased_at")
    assert receipts[0] == {
        "subject_hash": done["subject_hash"],
        "erased_by": "admin",
        "counts": done["counts"],
    }


def test_an_organisation_is_erased_with_all_its_users(call: Call, act_as: ActAs, rows: Rows) -> None:
    fill(call, act_as, "acme", "alice")
    fill(call, act_as, "globex", "bob")
    call("erase_subject", org_id="acme", dry_run=False, by="admin")
    assert "alice" not in everything(rows)
    assert rows("select distinct org_id from pgmem.node where org_id <> ''") == [{"org_id": "globex"}]


def test_nobody_is_erased_by_accident(call: Call) -> None:
    for wrong in ({"org_id": "", "user_id": ""}, {"org_id": "acme", "dry_run": False}):
        with pytest.raises(Exception, match="Name the subject|by must not be empty"):
            call("erase_subject", **wrong)


def test_the_tenant_filter_leaves_index_scans_index_scans(
    connection: psycopg.Connection[DictRow], call: Call, act_as: ActAs, rows: Rows
) -> None:
    act_as("acme", "alice")
    call("save_session", objective="open", project_id="shop")
    rows(
        "insert into pgmem.node (label, title, scope, project, project_seq, org_id, user_id, source, trust_level, scope_key, tsv,"
        " created_at, updated_at, recorded_at) select 'Context', 'filler ' || i, 'project', 'x', 10 + i % 50, 'org' || i % 50, 'u',"
        " 'sql', 0.5, i, to_tsvector('english', 'filler word' || i), now(), now(), now() from generate_series(1, 20000) i returning seq"
    )
    connection.execute("analyze pgmem.node")

    def plan(query: str) -> str:
        return "\n".join(str(row["QUERY PLAN"]) for row in rows(f"explain {query}"))

    by_word = plan(
        "select seq from pgmem.visible_node n where n.tsv @@ 'word77'::tsquery and n.status = 'active'"
    )
    assert "node_tsv" in by_word
    assert "Seq Scan on node" not in by_word
    newest = plan(
        "select n.seq from pgmem.node n where n.place = '12' and n.tenant = any ((select pgmem.visible_tenants())::text[])"
        " and n.scope is not null and n.status in ('active', 'approved') order by n.created_at desc limit 11"
    )
    assert any(
        f"Scan using {index}" in newest or f"on {index}" in newest
        for index in ("node_recent", "node_label", "node_states")
    )
    assert "Seq Scan on node" not in newest
    named = plan(
        "select seq from pgmem.visible_node n where pgmem.name_hash(coalesce(n.key, n.title)) = pgmem.name_hash('filler 7')"
    )
    assert "node_name" in named
