"""Rows that a verb reads in a store of 20 000 memories: at most as many as it declares, however large the store is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row, scalar_row
from psycopg.types.json import Jsonb

from tests.conftest import caller, new_database, past_the_pooler

pytestmark = pytest.mark.direct("it reads the counters of the tables, which a front has none of")

MEMORIES = 20_000
READ = """
select sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid))::bigint
from pg_class c where c.relnamespace = 'pgmem'::regnamespace and c.relkind = 'r'
  and c.relname not in ('setting', 'label', 'relation', 'field', 'verb', 'argument')
"""
"""Rows that this transaction has read, in scans and by indexes, of the tables that grow with a store."""

INSIGHT = "Sell tea in cups"

COPY = """
do $copy$
declare
  v_columns text := (select string_agg(quote_ident(a.attname), ', ') from pg_attribute a
    where a.attrelid = 'pgmem.node'::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      and a.attname <> 'seq');
begin
  set local session_replication_role = replica;
  execute format('insert into pgmem.node (%1$s) select %1$s from (select jsonb_populate_record(n, jsonb_build_object('
    '''id'', gen_random_uuid(), ''title'', n.title || '' '' || i, ''content_hash'', case when n.content_hash is not null '
    'then encode(sha256(convert_to(n.title || i, ''UTF8'')), ''hex'') end, ''key'', n.key || i, '
    '''title_tokens'', case when n.title_tokens is not null then pgmem.tokens(n.title || '' '' || i) end)) as copy '
    'from pgmem.node n cross join generate_series(1, %2$s) i where n.label = any (%3$L)) c cross join lateral (select (c.copy).*) n',
    v_columns, $1, '{Decision,Context,Pattern,EntityFact,Concept,Session,Insight}');
end $copy$
"""

RELATE = """
select pgmem.insert_edge(c.seq, 'RELATED_TO', c.next, '{"types": ["USES"]}')
from (select n.seq, lead(n.seq) over (order by n.seq) as next from pgmem.node n where n.label = 'Concept') c
where c.next is not null
"""


@pytest.fixture(scope="module")
def large(server: str, template: str) -> Iterator[str]:
    """A store of 20 000 memories of every kind, as verbs and the worker leave one."""
    with new_database(server, template) as dsn:
        with psycopg.connect(past_the_pooler(dsn), autocommit=True, row_factory=dict_row) as connection:
            call = caller(connection)
            call("save_session", objective="Open the shop", project_id="shop")
            kinds = (
                ("save_decision", {"title": "Pay by invoice", "rationale": "Firms ask for it."}),
                ("save_context", {"topic": "Tea", "content": "It is sold in the morning."}),
                ("save_pattern", {"trigger": "The till fails", "repeatable_steps": ["Call the bank"]}),
                ("upsert_entity", {"entity_name": "Till", "fact": "It is green."}),
                ("remember", {"label": "Concept", "properties": {"name": "Cart", "notes": "On wheels."}}),
            )
            for verb, arguments in kinds:
                assert call(verb, project_id="shop", **arguments)["status"] in ("saved", "active")
            call("import_records", records=[
                {"type": "node", "id": str(uuid4()), "label": "Insight", "key": INSIGHT, "title": INSIGHT,
                 "status": "pending", "props": {"title": INSIGHT, "sources": []}, "org_id": "", "user_id": "", "version": 1,
                 "source": "cli", "trust_level": 0.5, "initial_confidence": 0.5, "created_at": "2026-01-01T00:00:00Z",
                 "updated_at": "2026-01-01T00:00:00Z", "recorded_at": "2026-01-01T00:00:00Z", "versions": []},
            ])  # fmt: skip
            connection.execute(COPY.replace("$1", str(MEMORIES // 6)).encode())
            connection.execute(RELATE.encode())
            connection.execute("select pgmem.refresh_dedup(), pgmem.refresh_statistics(null)")
            connection.execute("vacuum analyze")
            found = connection.execute("select count(*) as number from pgmem.node").fetchone()
            assert found is not None
            assert found["number"] > 0.99 * MEMORIES
        yield dsn


def arguments(connection: psycopg.Connection[DictRow], verb: str, names: list[str]) -> dict[str, Any]:
    """The arguments of a verb: its required arguments, and the project where it takes one."""
    row = connection.execute(
        "select id, version, key from pgmem.node where label = 'Concept' limit 1"
    ).fetchone()
    other = connection.execute(
        "select id, title from pgmem.node where label = 'Decision' order by seq desc limit 2"
    ).fetchall()
    assert row is not None
    many = [
        each["id"]
        for each in connection.execute(
            "select id from pgmem.node where scope is not null limit 200"
        ).fetchall()
    ]
    project = {"org_id": "acme", "days": 30000}
    by_name: dict[str, Any] = {
        **project, "label": "Concept", "key": row["key"], "id": row["id"], "ids": many, "with_id": other[0]["id"],
        "version": row["version"], "project_id": "shop", "objective": "Close the shop", "title": INSIGHT,
        "rationale": "People ask.", "trigger": "A cup breaks", "repeatable_steps": ["Sweep"], "content": "A cup of tea.",
        "entity_name": "Kettle", "fact": "It is hot.", "properties": {"name": "Kettle", "notes": "Hot."},
        "session": {"objective": "Open"}, "query": "tea in the morning", "prompt": "How is tea sold?",
        "task_description": "Sell tea", "text": "The till is green.", "client": "codex", "session_id": "s",
        "turns": [{"id": "t1", "role": "user", "content": "Tea"}], "names": ["shop", row["key"]], "entity_names": ["Till", row["key"]],
        "content_preview": "Always tea", "verb": "forget", "arguments": {"label": "Concept", "key": row["key"]},
        "from_label": "Concept", "from_key": row["key"], "rel_type": "RELATED_TO", "to_label": "Decision",
        "to_key": str(other[0]["id"]), "old": str(other[1]["id"]), "new": str(other[0]["id"]), "by": "ada",
        "entity": "Till1", "into": "Till2", "argument": "project_id", "items": [{"namespace": ["a"], "name": "b", "value": {}}],
        "keys": [{"namespace": ["a"], "name": "b"}], "path": "/memories/a", "old_path": "/memories/a", "new_path": "/memories/b",
        "old_str": "a", "insert_line": 0, "insert_text": "b", "messages": [{"role": "user", "content": "Tea"}],
        "entities": [{"name": "Cup", "entityType": "Tool", "observations": ["Hot"]}],
        "relations": [{"from": "Till1", "to": "Till2", "relationType": "USES"}],
        "observations": [{"entityName": "Till1", "contents": ["Red"]}], "deletions": [{"entityName": "Till1", "observations": ["x"]}],
        "verdict": "used", "states": Jsonb([]), "memory_ids": [str(row["id"])], "save_id": uuid4(), "message": "away",
        "outcome": "drop", "action": "approve", "mode": "search", "record_type": "invariant", "statement": "Tea is hot.",
        "subject_path": "a.py", "report": {}, "receipt": {}, "paths": ["a.py"], "changed_paths": ["a.py"], "folder": "notes",
        "intent_id": uuid4(), "card_id": uuid4(), "extraction_id": uuid4(), "answer": {}, "settled": [], "part": "memory",
        "records": [{"label": "Concept", "name": "Cup", "properties": {}}], "source": "mem0", "after": None,
        "tool": "Bash", "command": "brew tea", "act": "failed", "output": "Error: the tea is cold", "tokens": 1, "yes": False, "name": "text_config", "value": "english", "model": "m", "dimensions": 3,
        "embedding": [0.1, 0.2, 0.3], "token": "pgmem_x", "role": "nobody", "peer": "0123456789ab", "outcomes": [{"place": 1, "outcome": "refused", "reason": "x"}],
    }  # fmt: skip
    if verb in ("import_records", "apply_changes"):
        by_name["records"] = by_name["changes"] = arriving()
    by_name.setdefault("changes", arriving())
    if verb == "changed_tenants":
        by_name["after"] = "now"
    return {name: by_name[name] for name in names if name in by_name}


def arriving() -> list[dict[str, Any]]:
    """Ten memories of another store."""
    return [
        {"type": "node", "id": str(uuid4()), "label": "Context", "title": f"Cups {number}", "status": "active",
         "props": {"topic": f"Cups {number}", "content": f"There are {number} cups."}, "scope": "project", "project": "shop",
         "focus": None, "org_id": "", "user_id": "", "version": 1, "source": "cli", "trust_level": 0.5,
         "initial_confidence": 1.0, "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
         "recorded_at": "2026-01-01T00:00:00Z", "versions": []}
        for number in range(10)
    ]  # fmt: skip


VERBS = """
select v.name, v.reads, coalesce(p.proargnames[:p.pronargs - p.pronargdefaults], '{}')
    || array(select optional from unnest('{p_project_id,p_memory_ids}'::text[]) as optional
             where optional = any (p.proargnames)) as names
from pgmem.verb v join pg_proc p on p.proname = v.name and p.pronamespace = 'pgmem'::regnamespace
where v.reads is not null and v.name <> 'make_roles' order by v.place
"""


def test_no_verb_reads_more_rows_than_it_declares(large: str) -> None:
    """An arriving memory read all memories of its scope, and no test of a small store noticed."""
    over: dict[str, tuple[int, int]] = {}
    refused: dict[str, str] = {}
    with psycopg.connect(past_the_pooler(large), autocommit=True, row_factory=dict_row) as connection:
        call = caller(connection)
        verbs = connection.execute(VERBS.encode()).fetchall()
        assert len(verbs) > 100
        for verb in verbs:
            names = sorted({name.removeprefix("p_") for name in verb["names"]})
            sent = arguments(connection, verb["name"], names)
            # The first call of a session plans, and may read for that.
            for _ in range(2):
                with connection.transaction(force_rollback=True):
                    before = counted(connection)
                    try:
                        with connection.transaction():
                            call(verb["name"], **sent)
                    except psycopg.Error as error:
                        refused[verb["name"]] = str(error).splitlines()[0]
                    read = counted(connection) - before
            if read > verb["reads"]:
                over[verb["name"]] = (read, verb["reads"])
    assert not over, str(over)
    assert {name: said for name, said in refused.items() if name not in OF_WHAT_IS_NOT_THERE} == {}


def test_an_arriving_memory_reads_as_few_rows_however_many_there_are(large: str) -> None:
    with psycopg.connect(past_the_pooler(large), autocommit=True, row_factory=dict_row) as connection:
        for verb in ("apply_changes", "import_records"):
            name = "changes" if verb == "apply_changes" else "records"
            for _ in range(2):
                with connection.transaction(force_rollback=True):
                    before = counted(connection)
                    row = caller(connection)(verb, **{name: arriving()})
                    read = counted(connection) - before
            assert row
            assert read <= 50 * len(arriving()), (verb, read)


def counted(connection: psycopg.Connection[DictRow]) -> int:
    with psycopg.Cursor(connection, row_factory=scalar_row) as cursor:
        return int(cursor.execute(READ.encode()).fetchone() or 0)


OF_WHAT_IS_NOT_THERE = {
    *(
        "queue_embeddings",
        "drop_model",
        "store_vectors",
        "store_node_vectors",
        "verify_token",
        "revoke_token",
        "bind_role",
    ),
    *(
        "propose_change",
        "revert",
        "get_session",
        "replace_in_file",
        "insert_in_file",
        "delete_files",
        "rename_files",
    ),
    *(
        "add_observations",
        "settle_conflict",
        "edit_memory",
        "retry_save",
        "get_review",
        "resolve_review",
        "decide_rule",
        "place_in_opening",
    ),
    *(
        "get_relevant_memory",
        "query_engineering_memory",
        "record_candidate",
        "propose_from_receipt",
        "refresh_from_run",
    ),
    *(
        "finish_intent",
        "approve_card",
        "reject_card",
        "archive_card",
        "settle_branches",
        "apply_extraction",
        "dismiss_outstanding",
    ),
}
"""Verbs that look for rows this store lacks, and are refused."""
