# mypy: ignore-errors
"""A program of release 0.1.0: run it with the sources of that release first on PYTHONPATH.

It opens a store, writes `open` and waits for a line on its input; meanwhile the store may be upgraded. Then it calls
each verb of its release once, and writes one JSON object: `calls`, by verb the names of the arguments that it sent and
of the columns that it read, and `outcomes`, by step `ok` or the error.

    python program_0_1_0.py install DSN     make the store that the release makes
    python program_0_1_0.py calls DSN       call each verb
    python program_0_1_0.py export DSN      save memories whose texts later releases compose otherwise, and export them
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempdir
from uuid import UUID, uuid4

import psycopg

import pgmem.memory
from pgmem import Memory
from pgmem.database import pool, schema
from pgmem.models import MemoryScope
from pgmem.settings import Settings
from pgmem.stores import postgres as stores

NFC, NFD = "Caf\u00e9", "Cafe\u0301"
SHOP = "shop"


class Provider:
    """Vectors of eight numbers, made of the words of a text."""

    model, dimensions = "fake:8", 8

    async def embed(self, text: str) -> list[float]:
        sums = hashlib.sha256(text.encode()).digest()[:8]
        return [1.0 + byte for byte in sums]

    async def embed_batch(self, texts: list[str]) -> list[list[float]]:
        return [await self.embed(text) for text in texts]

    async def aclose(self) -> None:
        pass


@asynccontextmanager
async def opened(dsn: str):
    pgmem.memory.create_provider = lambda settings: Provider()
    folder = Path(gettempdir()) / f"pgmem-program-{uuid4().hex}"
    settings = Settings(_env_file=None, dsn=dsn, data_dir=folder, PGMEM_OUTBOX_DIR=folder)
    async with Memory.connect(settings, scope=MemoryScope(agent_id="claude", session_id="s1")) as memory:
        yield memory


async def fill(memory: Memory) -> None:
    """Memories whose hash, words, names or lexemes a later release composes otherwise."""
    await memory.save_session("Open the shop", SHOP, next_actions=["count the till"])
    for title, rationale in (
        ("Sell tea in the morning", "It is cold then."),
        (f"Meet in the {NFC}", f"The {NFC} is near."),
        (f"Drink in the {NFD} bar", f"The {NFD} bar is open late."),
        ("订单保存在数据库中", "一个系统就够了。"),
        ("गणना रविवार को करें", "दुकान बंद रहती है"),
        ("Ship 🚀 first", "🚀 means fast"),
        ("Größe der Kisten begrenzen", "Höchstens zwölf Stück"),
    ):
        await memory.save_decision(title, rationale, SHOP, owner="Zoë")
    await memory.save_pattern(f"A guest of the {NFD} asks", ["smile", f"name the {NFD}"], SHOP)
    await memory.save_pattern("每天早上", ["开门", "数钱"], SHOP)
    await memory.save_context(f"The {NFD} closed on Monday; who has the key?", SHOP, topic=f"{NFD} keys")
    for name in ("Bank", "bank", NFC, NFD):
        await memory.upsert_entity(name, f"known as {name}", SHOP)
    await memory.upsert_entity(NFD, f"known as {NFD} today", SHOP)
    await memory.remember(
        "Technology", {"name": NFD.upper(), "notes": f"vendor of the {NFD}"}, project_id=SHOP
    )
    await memory.store_session_with_learnings(
        {"objective": f"Count the {NFD} till"},
        SHOP,
        decisions=[{"title": f"Close the {NFD} at ten", "rationale": "The law."}],
        patterns=[{"trigger": f"The {NFD} is full", "repeatable_steps": ["wait"]}],
    )
    await memory.record_candidate("risk_note", f"The {NFD} till is slow.", "src/till.py", SHOP)
    await memory.embed_waiting()


async def call_each_verb(memory: Memory) -> dict[str, str]:
    """Call each verb of the release once or more; what became of each step."""
    outcomes: dict[str, str] = {}
    kept: dict[str, object] = {}
    database = memory._database

    async def step(name: str, call) -> object:
        try:
            kept[name] = await call()
            outcomes[name] = "ok"
        except Exception as error:
            text = str(error).strip().splitlines()
            outcomes[name] = f"{type(error).__name__}: {text[0] if text else ''}"[:200]
        return kept.get(name)

    def of(name: str, field: str, other: object = None) -> object:
        return getattr(kept.get(name), field, other)

    unknown = UUID(int=1)
    now = datetime.now(UTC)
    await step("save_session", lambda: memory.save_session("Open", SHOP, ["a"], ["b"], ["c"], ["d"]))
    await step(
        "save_decision", lambda: memory.save_decision("Sell tea", "r", SHOP, owner="Zoë", date="2026-01-02")
    )
    await step("save_decision again", lambda: memory.save_decision("Buy coffee beans", "r", SHOP))
    await step("save_pattern", lambda: memory.save_pattern("trigger", ["step"], SHOP, exclusions=["x"]))
    await step("save_context", lambda: memory.save_context("some content", SHOP, topic="t", valid_from=now))
    await step("upsert_entity", lambda: memory.upsert_entity("Stripe", "pays", SHOP))
    await step("upsert_entity again", lambda: memory.upsert_entity("Stripe Inc", "pays too", SHOP))
    await step(
        "store_session_with_learnings",
        lambda: memory.store_session_with_learnings(
            {"objective": "o"},
            SHOP,
            [{"title": "Learn", "rationale": "r"}],
            [{"trigger": "t2", "repeatable_steps": ["s"]}],
        ),
    )
    await step("get_save_status", lambda: memory.get_save_status(SHOP))
    await step("retry_save", lambda: memory.retry_save(of("save_decision", "save_id", unknown)))
    await step("check_duplicate", lambda: memory.check_duplicate("Sell tea", "r", SHOP))
    await step("retrieve_context", lambda: memory.retrieve_context(SHOP, "project", categories=["Decision"]))
    await step(
        "search_memory",
        lambda: memory.search_memory("who sells tea", project_id=SHOP, weights={"hybrid_alpha": 0.5}),
    )
    await step("get_session", lambda: memory.get_session(str(of("save_session", "artifact_id"))))
    await step("get_scope_state", lambda: memory.get_scope_state(SHOP, "till"))
    await step("status", memory.status)
    await step("describe_schema", memory.describe_schema)
    await step(
        "remember",
        lambda: memory.remember("Technology", {"name": "till"}, {"USES": ["paper"]}, project_id=SHOP),
    )
    await step("relate", lambda: memory.relate("Technology", "till", "USES", "Concept", "paper"))
    await step("neighbours", lambda: memory.neighbours("Technology", "till", project_id=SHOP))
    await step("run_cypher", lambda: memory.run_cypher("MATCH (n:Decision) RETURN count(n) AS n"))
    await step("check_graph", memory.check_graph)
    await step("rebuild_graph", memory.rebuild_graph)
    await step("get_node", lambda: memory.get_node("Technology", "till", SHOP))
    await step("memory_history", lambda: memory.memory_history("EntityFact", "Stripe", SHOP))
    await step("upsert_entity changed", lambda: memory.upsert_entity("Stripe", "pays late", SHOP))
    await step("revert", lambda: memory.revert("EntityFact", "Stripe", 1, SHOP))
    await step("forget", lambda: memory.forget("Technology", "till", project_id=SHOP))
    await step("decay_scores", lambda: memory.decay_scores(dry_run=True))
    await step("forget_by_ttl", lambda: memory.forget_by_ttl(365, dry_run=True))
    await step("memory_surface", lambda: memory.memory_surface("tea", SHOP))
    await step("memory_freshness", lambda: memory.memory_freshness(SHOP))
    await step("memory_health", lambda: memory.memory_health(SHOP))
    await step("run_hygiene", lambda: memory.run_hygiene(SHOP))
    await step("merge_entities", lambda: memory.merge_entities("Stripe Inc", "Stripe", SHOP, by="Ada"))
    await step("supersede", lambda: memory.supersede("Sell tea", "Buy coffee beans", SHOP, by="Ada"))
    await step("save_decision near", lambda: memory.save_decision("Count the till in the evening", "r", SHOP))
    await step(
        "save_decision nearer",
        lambda: memory.save_decision("Count the till slowly and carefully in the evening", "r", SHOP),
    )
    await step("list_reviews", lambda: memory.list_reviews(SHOP))
    reviews = kept.get("list_reviews") or []
    await step(
        "resolve_review",
        lambda: memory.resolve_review(reviews[0].save_id, "new", "Ada"),
    )
    await step(
        "request_global_write_approval", lambda: memory.request_global_write_approval("All shops sell tea.")
    )
    await step("list_settings", memory.list_settings)
    await step("set_setting", lambda: memory.set_setting("focus_limit", "9"))
    await step("route_analysis", lambda: memory.route_analysis("why is it slow"))
    await step("reflect", memory.reflect)
    await step("surface_insights", memory.surface_insights)
    insight = next(iter(getattr(kept.get("surface_insights"), "insights", ()) or ()), None)
    await step(
        "review_insight",
        lambda: memory.review_insight(getattr(insight, "title", "none"), "dismiss"),
    )
    await step(
        "record_candidate",
        lambda: memory.record_candidate("risk_note", "The till is slow.", "src/till.py", SHOP),
    )
    await step(
        "record_candidate again",
        lambda: memory.record_candidate("risk_note", "The door is loud.", "src/door.py", SHOP),
    )
    await step("validate_claims", lambda: memory.validate_claims("The till is fast.", SHOP))
    await step("declare_intent", lambda: memory.declare_intent(["src/till.py"], SHOP, "make it fast"))
    receipt = {"changed_paths": ["src/till.py"], "claims": ["The till takes coins."]}
    await step(
        "finish_intent",
        lambda: memory.finish_intent(
            of("declare_intent", "intent_id", unknown), ["src/till.py"], SHOP, receipt=receipt
        ),
    )
    await step("propose_from_receipt", lambda: memory.propose_from_receipt(receipt, SHOP))
    report = {"modules": [{"path": "src/till.py", "module": "till"}], "files": {"src/till.py": "0" * 64}}
    await step("refresh_from_run", lambda: memory.refresh_from_run(report, SHOP))
    await step(
        "manage_engineering_memory",
        lambda: memory.manage_engineering_memory(
            SHOP,
            "record_candidate",
            {"record_type": "risk_note", "statement": "The lock sticks.", "subject_path": "src/till.py"},
        ),
    )
    await step("get_relevant_memory", lambda: memory.get_relevant_memory(SHOP, scope=["src/till.py"]))
    await step("query_engineering_memory", lambda: memory.query_engineering_memory(SHOP, "status"))
    card = of("record_candidate", "card_id", unknown)
    other = of("record_candidate again", "card_id", unknown)
    await step("approve_card", lambda: memory.approve_card(card, "Ada"))
    await step("archive_card", lambda: memory.archive_card(card, "Ada"))
    await step("reject_card", lambda: memory.reject_card(other, "Ada"))
    await step("vacuum_cards", lambda: memory.vacuum_cards(SHOP))
    await step("refresh_dedup", memory.refresh_dedup)
    await step("dedup_due", memory.dedup_due)
    await step("sweep", memory.sweep)
    await step("backlog", memory.backlog)
    await step("embed_waiting", memory.embed_waiting)
    await step("queue_embeddings", memory.queue_embeddings)
    await step("embedding_status", memory.embedding_status)
    await step("activate_model", lambda: memory.activate_model("fake:8"))
    await step("refresh_statistics", memory.refresh_statistics)
    await step("index_vectors", memory.index_vectors)
    await step("register_model", lambda: database.rows("register_model", name="other:8", dimensions=8))
    await step("drop_model", lambda: memory.drop_model("other:8"))
    await step("maintain", memory.maintain)
    lines: list[str] = []
    await step("export_lines", lambda: memory.export_lines(lines.append, vectors=True))
    await step("import_lines", lambda: memory.import_lines("".join(lines).splitlines(keepends=True)))
    await step(
        "fail_save",
        lambda: database.rows("fail_save", save_id=uuid4(), verb="save_context", arguments={}, message="m"),
    )
    await step("wal_position", lambda: database.rows("wal_position"))
    graph = stores.PgGraphStore(database)
    vectors = stores.PgVectorStore(database, "fake:8", 8)
    await step("store init_schema", lambda: graph.init_schema(stores.SchemaDefinition()))
    await step(
        "store merge_node", lambda: graph.merge_node("Technology", "name", "crane", {"notes": "lifts"})
    )
    await step("store get_node", lambda: graph.get_node("Technology", "name", "crane"))
    await step("store fulltext_search", lambda: graph.fulltext_search("crane"))
    await step("store get_neighbours", lambda: graph.get_neighbours("Technology", "name", "crane"))
    await step("store get_node_history", lambda: graph.get_node_history("Technology", "name", "crane"))
    await step("store health_check", graph.health_check)
    crane = str((kept.get("store merge_node") or {}).get("id", unknown))
    await step("store store_vectors", lambda: vectors.store_vectors([(crane, [1.0] * 8)]))
    await step("store search_vectors", lambda: vectors.search_vectors([1.0] * 8))
    await step("store count", vectors.count)
    await step("store delete_vectors", lambda: vectors.delete_vectors([crane]))
    await step("store decay_scores", graph.decay_scores)
    await step("store delete_node", lambda: graph.delete_node("Technology", "name", "crane"))
    # A token makes tenants, without whom nobody writes from then on.
    await step("list_tenants", memory.list_tenants)
    await step("issue_token", lambda: memory.issue_token("", "ada", "laptop"))
    await step("list_tokens", memory.list_tokens)
    await step("verify_token", lambda: memory.verify_token(of("issue_token", "token", "x")))
    await step("revoke_token", lambda: memory.revoke_token(of("issue_token", "id", unknown)))
    await step("adopt", lambda: memory.adopt("acme", dry_run=True))
    await step(
        "bind_role",
        lambda: memory.bind_role(psycopg.conninfo.conninfo_to_dict(database.dsn).get("user", "postgres")),
    )
    await step("erase_subject", lambda: memory.erase_subject("acme", dry_run=True, by="Ada"))
    return outcomes


_COLUMNS = """
select p.proname, coalesce(
  (select array_agg(a.name order by a.name) from unnest(p.proargnames, p.proargmodes) as a(name, mode) where mode in ('t', 'o')),
  (select array_agg(a.attname::text order by 1) from pg_type t join pg_attribute a on a.attrelid = t.typrelid and a.attnum > 0
   where t.oid = p.prorettype), array[p.proname::text])
from pg_proc p where p.pronamespace = 'pgmem'::regnamespace and p.prokind = 'f'
"""


async def calls(dsn: str) -> None:
    sent: dict[str, set[str]] = {}
    compose = pool.statement

    def recorded(verb: str, params) -> object:
        sent.setdefault(verb, set()).update(params)
        return compose(verb, params)

    pool.statement = recorded
    with psycopg.connect(dsn) as connection:
        columns = dict(connection.execute(_COLUMNS).fetchall())
    async with opened(dsn) as memory:
        print("open", flush=True)
        sys.stdin.readline()
        outcomes = await call_each_verb(memory)
    named = {
        verb: {"arguments": sorted(names), "columns": columns.get(verb, [])}
        for verb, names in sorted(sent.items())
    }
    print(json.dumps({"calls": named, "outcomes": outcomes}))


async def export(dsn: str) -> None:
    async with opened(dsn) as memory:
        await fill(memory)
        await memory.export_lines(sys.stdout.write, vectors=True)


if __name__ == "__main__":
    if sys.argv[1] == "install":
        schema.upgrade(sys.argv[2])
    else:
        asyncio.run({"calls": calls, "export": export}[sys.argv[1]](sys.argv[2]))
