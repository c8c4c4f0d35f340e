"""Fill a store by release 0.1.0, ask it, and write it down; run by `scripts/write-release-store` in that release's environment.

    fill_0_1_0.py KIND SOURCE INTO

KIND is one, tenants, vectors or bare; SOURCE is the checkout of the release; INTO is the folder that gets KIND.dump.gz,
KIND.facts.json, KIND.export.jsonl.gz and the folder KIND.backup.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import psycopg
import stores
from pgmem.cards import scan
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from pgmem import memory as public
from pgmem.embeddings.protocol import EmbeddingError
from pgmem.install import schema
from pgmem.memory import Memory
from pgmem.models import MemoryScope
from pgmem.server.embedded import EmbeddedServer
from pgmem.settings import Settings

EXTENSIONS = {"one": ("vector", "age"), "tenants": ("vector", "age"), "vectors": ("vector",), "bare": ()}
DIMENSIONS = 8
NFC, NFD = "Café Zürich", "Cafe\u0301 Zu\u0308rich"

NAMES = (
    NFC,
    NFD,
    "Ma\u0301laga fac\u0327ade",  # decomposed, and no other memory has the composed name
    "東京の決済システム",
    "데이터베이스 이름",
    "🚀 ship it 👩‍🔬",
    r"\u0000 and \x00 and ␀",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "Straße der Rückgängigmachung",
    "ذاكرة الوكيل",
    'O\'Brien "quoted" \\ $1 :name %s {x}',
    "ＦＵＬＬ ｗｉｄｔｈ ﬁ ligature",
    "İstanbul ISTANBUL ıstanbul",
    "word " * 39 + "ends!",
)
"""Names as people and programs write them; the last has 200 characters."""


class Provider:
    """Vectors of the words of a text, the same on every machine; no text with the word unembeddable gets one."""

    dimensions = DIMENSIONS
    model = "release:words-8"

    def __init__(self) -> None:
        self.down = False

    async def embed(self, text: str) -> list[float]:
        if self.down or "unembeddable" in text:
            raise EmbeddingError("the provider is down", transient=True)
        sums = [1e-3] * DIMENSIONS
        for word in re.findall(r"\w+", text.lower()):
            digest = hashlib.sha256(word.encode()).digest()
            sums[digest[0] % DIMENSIONS] += 1 if digest[1] % 2 else -1
        length = sqrt(sum(x * x for x in sums))
        return [x / length for x in sums]

    async def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        return [await self.embed(text) for text in texts]

    async def aclose(self) -> None:
        pass


class Fill:
    """One store while it is filled: the way in, what was called, and the moments between its chapters."""

    def __init__(self, kind: str, dsn: str, folder: Path) -> None:
        self.kind, self.dsn, self.folder = kind, dsn, folder
        self.calls: Counter[str] = Counter()
        self.provider = Provider()
        self.moments: list[datetime] = []
        self.admin = psycopg.connect(dsn, autocommit=True, row_factory=dict_row)
        public.create_provider = lambda _settings: self.provider

    @property
    def has_vectors(self) -> bool:
        return "vector" in EXTENSIONS[self.kind]

    @asynccontextmanager
    async def memory(self, source: str = "sdk", **scope: str):
        settings = Settings(
            dsn=self.dsn, data_dir=self.folder, embedding_provider="static" if self.has_vectors else "none"
        )
        async with Memory.connect(settings, scope=MemoryScope(**scope), source=source) as memory:
            memory.watch(self._notice)
            yield memory

    def _notice(self, what: Any) -> None:
        if type(what).__name__ == "Call":
            self.calls[what.verb] += 1

    def sql(self, verb: str, /, **arguments: Any) -> list[dict[str, Any]]:
        """A verb that has no method, as an analyst calls it."""
        self.calls[verb] += 1
        named = sql.SQL(", ").join(
            sql.SQL("{} => {}").format(sql.Identifier(f"p_{n}"), sql.Placeholder(n)) for n in arguments
        )
        given = {
            n: Jsonb(v)
            if isinstance(v, dict) or (isinstance(v, list) and v and isinstance(v[0], dict))
            else v
            for n, v in arguments.items()
        }
        return self.admin.execute(
            sql.SQL("select * from pgmem.{}({})").format(sql.Identifier(verb), named), given
        ).fetchall()

    def moment(self) -> None:
        """A time between what was recorded before and after."""
        self.moments.append(self.admin.execute("select clock_timestamp() as now").fetchone()["now"])


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


async def fill_saves(fill: Fill, m: Memory) -> None:
    """Every save verb, with the outcomes it can have, and every kind of text."""
    await m.save_session("Set up the shop", "shop", actions_taken=["made a repository", "wrote the schema"],
                         decisions_made=["PostgreSQL"], open_items=["who pays?"], next_actions=["load test"])  # fmt: skip
    await m.set_setting("text_config", "german")
    await m.save_session("Zahlung einführen", "Größenübersicht", focus="Ausnahmen",
                         actions_taken=["Überweisungsdurchschlagspapier geprüft"])  # fmt: skip
    for name in NAMES:
        await m.upsert_entity(name, f"A first fact about {name}.", "shop")
        await m.save_decision(f"Keep the name {name}"[:500], f"People call it {name}.", "shop", owner="Zoë")
        await m.save_pattern(f"When {name} is asked for", ["look it up", name], "shop", exclusions=["tests"])
        await m.save_context(f"Notes on {name}: it has {len(name)} characters.", "shop", topic=name)
    for place in range(3):  # a fact with its history
        saved = await m.upsert_entity("Redis", f"Redis holds {place + 1} kinds of keys.", "shop")
    redis = str(saved.artifact_id)
    await m.upsert_entity("Zahlungsdienstleister", "Klarna rechnet ab.", "Größenübersicht", focus="Ausnahmen",
                          related_entities=[{"entity_id": redis, "relationship_type": "RELATED_TO"}])  # fmt: skip
    await m.set_setting("text_config", "english")
    # Decisions: the same again, one near enough to replace, a chain of three, one that a person decides.
    for title in ("Use PostgreSQL for the orders of the shop", "Use PostgreSQL for all orders of the shop",
                  "Use PostgreSQL 18 for all orders of the shop"):  # fmt: skip
        await m.save_decision(title, f"Because: {title}.", "shop", date="2026-02-03", confidence=0.9)
    await m.save_decision("Use PostgreSQL 18 for all orders of the shop", "Because: Use PostgreSQL 18 for all orders of the shop.",
                          "shop", date="2026-02-03", confidence=0.9)  # fmt: skip
    for words, outcome in (("Print monthly invoices customers receive", "new"), ("Weigh outgoing parcels before loading lorries", "supersede"),
                           ("Inspect returned shoes within seven days", "drop"), ("Number paper coupons by year quarter", "")):  # fmt: skip
        await m.save_decision(f"{words} thick paper", "Colour.", "shop")
        waits = await m.save_decision(f"{words} white cards", "Contrast.", "shop")
        assert waits.dedup_outcome == "manual_review", waits
        if outcome:
            await m.resolve_review(waits.save_id, outcome, "Zoë")
    a = await m.save_decision("Deploy on Fridays", "It is quiet.", "shop", confidence=0.6)
    b = await m.save_decision("Never deploy before a weekend", "Nobody is there.", "shop")
    await m.relate("Decision", str(a.artifact_id), "CONFLICTS_WITH", "Decision", str(b.artifact_id), "shop")
    await m.supersede("Deploy on Fridays", "Never deploy before a weekend", "shop", by="Zoë")
    # Periods.
    await m.save_context("The summer sale runs.", "shop", topic="sale", valid_from=day("2026-06-01"))
    await m.remember("Tool", {"name": "old CI", "notes": "Jenkins"}, valid_from=day("2020-01-01"), valid_to=day("2024-06-30"),
                     project_id="shop")  # fmt: skip
    await m.remember("Tool", {"name": "new CI", "notes": "Forgejo"}, {"REPLACES": ["old CI"]}, valid_from=day("2024-07-01"),
                     project_id="shop")  # fmt: skip
    # Batches: all saved; partly; refused as a whole. Learnings have no separate content.
    await m.store_session_with_learnings(
        {"objective": "Learn from the outage", "actions_taken": ["read the log"], "open_items": ["Who watches at night?"]}, "shop",
        decisions=[{"title": "Alert on the lag of replicas", "rationale": "It was not seen."}],
        patterns=[{"trigger": "A replica lags", "repeatable_steps": ["look at the slots"]}],
    )  # fmt: skip
    await m.store_session_with_learnings(
        {"objective": "Half of it"}, "shop",
        decisions=[{"title": "Keep two replicas", "rationale": "One may be away."}, {"title": "", "rationale": "nameless"}],
    )  # fmt: skip
    await m.store_session_with_learnings(
        {"objective": "None of it"}, "shop", atomic=True,
        decisions=[{"title": "Number paper coupons by year quarter blue rims", "rationale": "It resembles another."}],
    )  # fmt: skip
    # Not saved, and put on record.
    await m.save_decision("For a project that nobody made", "It is blocked.", "nowhere")
    fill.sql("fail_save", save_id=UUID(int=7), verb="save_context", message="the client gave it up",
             arguments={"content": "given up", "project_id": "shop"})  # fmt: skip
    early = await m.save_decision("Saved before its project was made", "It is made again.", "later")
    await m.save_session("Make the project", "later")
    await m.retry_save(early.save_id)
    # Global, with an approval; one more is never spent.
    token = await m.request_global_write_approval("Write plainly")
    await m.save_decision(
        "Write plainly everywhere", "All read it.", "shop", scope="global", governance_token=token.token
    )
    await m.request_global_write_approval("never used")
    await m.save_decision("Global without leave", "It is refused.", "shop", scope="global")


async def fill_graph(fill: Fill, m: Memory) -> None:
    """A memory of every label that remember writes, an edge of every relation, stubs, and labels and relations that the store defines."""
    fill.sql("init_schema", labels=[{"name": "Recipe", "key_field": "name", "text_fields": ["notes"]}],
             relations=[{"name": "TASTES_LIKE"}])  # fmt: skip
    for label in fill.admin.execute(
        "select * from pgmem.label where verb is null and key_field is not null and kind = 'memory' order by name"
    ):
        await m.remember(label["name"], {label["key_field"]: f"a {label['name'].lower()}", "notes": f"Of the label {label['name']}.",
                                         "tags": ["sample"], "count": 3, "open": True}, project_id="shop")  # fmt: skip
    for relation in fill.admin.execute(
        "select name from pgmem.relation where not by_verb and from_labels is null and to_labels is null order by name"
    ):
        await m.relate("Concept", "a concept", relation["name"], "Technology", "a technology", "shop")
    for name in NAMES:
        await m.remember("Technology", {"name": name, "notes": f"Read more about {name}", "price": 12345678901234567890, "tiny": 1e-310},
                         {"USES": [{"name": f"part of {name}"[:200], "label": "Concept"}]}, project_id="shop")  # fmt: skip
    for place in range(4):
        await m.remember("Concept", {"name": f"service {place}", "tags": ["payments"]},
                         {"USES": [{"name": "Kafka", "label": "Technology"}]}, project_id="shop")  # fmt: skip
    await m.remember("Technology", {"name": "without project", "notes": "It belongs to no project."})


async def fill_time(fill: Fill, m: Memory) -> None:
    """Memories that are old, forgotten, brought back, merged, reflected on and repaired."""
    old = m.acting_as(made_at=datetime.now(UTC) - timedelta(days=500))
    for place in range(3):
        await old.save_context(f"An old note {place} on the ledger.", "shop", topic="ledger")
    await old.save_pattern("When the ledger is closed", ["count twice"], "shop")
    await old.save_decision(
        "Close the ledger by hand",
        "There was no program.",  # words: as is
        "shop",
        confidence=0.2,
    )
    fill.moment()
    # Facts: forgotten, forgotten and saved again, purged, brought back, merged.
    for name in ("Gone fact", "Purged fact", "Back again", "Redis Cache"):
        await m.upsert_entity(name, f"{name} was true.", "shop")
    await m.forget("EntityFact", "Gone fact", project_id="shop")
    await m.forget("EntityFact", "Purged fact", purge=True, project_id="shop")
    await m.forget("EntityFact", "Back again", project_id="shop")
    await m.upsert_entity("Back again", "Back again is true anew.", "shop")
    await m.upsert_entity("Redis", "Redis is replaced by Valkey.", "shop")
    await m.revert("EntityFact", "Redis", 1, "shop")
    await m.merge_entities("Redis Cache", "Redis", "shop", by="Zoë")
    # A text that goes through three spellings of one name.
    await m.remember("Person", {"name": "Zoë", "notes": "owner"}, project_id="shop")
    await m.remember("Person", {"name": "Zoë", "notes": "owner of the shop"}, project_id="shop")
    fill.moment()
    await m.decay_scores(max_age_days=60, decay_rate=0.02, archive_below=0.01)
    await m.remember("Exercise", {"title": "to be left alone"}, project_id="shop")
    await old.remember("Photo", {"title": "an old photo"}, project_id="shop")
    await m.forget_by_ttl(400, label="Photo", project_id="shop")
    await m.run_hygiene("shop")
    await m.memory_freshness("shop")
    await m.memory_health("shop")
    await m.reflect()
    found = (await m.surface_insights(10)).insights
    assert len(found) >= 3, found
    await m.review_insight(found[0].title, "approve")
    await m.review_insight(found[1].title, "dismiss")
    await m.memory_surface("postgresql orders", "shop")
    await m.route_analysis("Should we use Kafka or a table?")
    await m.refresh_dedup()
    await m.refresh_statistics(everything=True)
    await m.sweep()
    await m.set_setting("project_limit", "12")
    await m.set_setting("hygiene_decision_days", "200")


async def fill_import(fill: Fill, m: Memory) -> None:
    """Take in what another store wrote: a fact that the store has already, and a pattern whose time is over, which is then saved anew."""
    trigger, steps = "When the till is shut", ["lock it"]
    saved = await m.save_pattern(trigger, steps, "shop")
    text: list[str] = []
    await m.export_lines(text.append)
    await m.forget("Pattern", str(saved.artifact_id), purge=True, project_id="shop")
    nodes = [
        record for line in "".join(text).splitlines() if (record := json.loads(line)).get("type") == "node"
    ]
    pattern = next(node for node in nodes if node["id"] == str(saved.artifact_id))
    fact = next(node for node in nodes if node.get("key") == "Redis" and node["label"] == "EntityFact")
    lines = [
        {"pgmem_export": 1, "nodes": 2, "edges": 0, "saves": 0},
        {
            **pattern,
            "id": str(UUID(int=21)),
            "valid_from": "2019-01-01T00:00:00Z",
            "valid_to": "2021-01-01T00:00:00Z",
        },
        {**fact, "id": str(UUID(int=22))},
        {"type": "end", "lines": 2},
    ]
    await m.import_lines(json.dumps(line) + "\n" for line in lines)
    await m.save_pattern(trigger, steps, "shop")


async def fill_cards(fill: Fill, m: Memory, repository: Path) -> None:
    """Cards of a repository of six files, in every state that a card can have."""
    files = {
        "shop/__init__.py": '"""A shop."""\n',
        "shop/orders.py": '"""Orders and their totals."""\n\nfrom shop import money\n\n\ndef total(lines):\n    """Sum the lines."""\n    return money.add(lines)\n',
        "shop/money.py": '"""Money in cents."""\n\n\ndef add(amounts):\n    """Add amounts."""\n    return sum(amounts)\n',
        "shop/gone.py": '"""A module that goes."""\n\n\ndef go():\n    """Go."""\n',
        "tests/test_orders.py": "from shop import orders\n\n\ndef test_total():\n    assert orders.total([1, 2]) == 3\n",
        "README.md": "# Shop\n\nSee `shop/orders.py` und Größenübersicht.\n",
    }
    for name, text in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text, encoding="utf-8")

    def commit(message: str) -> None:
        run = [
            "git",
            "-C",
            str(repository),
            "-c",
            "user.name=Zoe",
            "-c",
            "user.email=zoe@example.com",
            "-c",
            "commit.gpgsign=false",
        ]
        if not (repository / ".git").exists():
            subprocess.run([*run, "init", "--quiet"], check=True)
        subprocess.run([*run, "add", "--all"], check=True)
        subprocess.run([*run, "commit", "--quiet", f"--message={message}"], check=True)

    commit("Open the shop")
    await m.refresh_from_run(scan(repository), "shop")
    drafts = [
        (await m.record_candidate("risk_note", f"Totals of {name} may overflow at {place} places.", "shop/orders.py", "shop",
                                  symbols=["shop.orders.total"], evidence=[{"kind": "test", "ref": "tests/test_orders.py"}])).card_id
        for place, name in enumerate(("cents", "Größen", "円", "drafts", "old rules"))
    ]  # fmt: skip
    await m.approve_card(drafts[0], "Zoë", "seen in production")
    await m.reject_card(drafts[1], "Zoë", "not so")
    await m.approve_card(drafts[2], "Zoë")
    await m.archive_card(drafts[2], "Zoë", "over")
    newer = await m.record_candidate("contract_note", "Totals are whole cents.", "shop/money.py", "shop")
    await m.approve_card(drafts[4], "Zoë")
    await m.approve_card(newer.card_id, "Zoë", "replaces the rule", supersedes=[drafts[4]])
    gone = await m.record_candidate("risk_note", "This module goes.", "shop/gone.py", "shop")
    await m.approve_card(gone.card_id, "Zoë")
    intent = await m.declare_intent(["shop/money.py"], "shop", "Whole cents")
    await m.declare_intent(["shop/orders.py"], "shop", "never finished")
    await m.finish_intent(intent.intent_id, ["shop/money.py"], "shop", propose=True,
                                 receipt={"claims": ["Amounts are integers."], "review": "Cents everywhere."})  # fmt: skip
    await m.propose_from_receipt(
        {"intent_id": str(intent.intent_id), "claims": ["Rounding is banker's."]}, "shop"
    )
    (repository / "shop/gone.py").unlink()
    (repository / "shop/money.py").write_text(
        files["shop/money.py"] + "\n\ndef subtract(a, b):\n    return a - b\n", encoding="utf-8"
    )
    commit("Subtract")
    await m.refresh_from_run(scan(repository), "shop")
    await m.manage_engineering_memory("shop", "record_candidate", {"record_type": "risk_note", "statement": "By its name.",
                                                                  "subject_path": "shop/orders.py"})  # fmt: skip
    await m.get_relevant_memory("shop", scope=["shop"])
    await m.query_engineering_memory("shop", "status")
    await m.validate_claims("This may be merged.", "shop")
    await m.vacuum_cards("shop")


async def fill_vectors(fill: Fill, m: Memory) -> None:
    """Vectors of two models, and texts that wait for one."""
    fill.sql("register_model", name="release:other-8", dimensions=DIMENSIONS)
    fill.sql("register_model", name="release:gone-8", dimensions=DIMENSIONS)
    await m.drop_model("release:gone-8")
    await m.activate_model("release:words-8")
    await m.queue_embeddings()
    await m.embed_waiting()
    ids = [
        row["id"]
        for row in fill.admin.execute(
            "select id from pgmem.node where label = 'Context' order by seq limit 3"
        ).fetchall()
    ]
    fill.sql("store_node_vectors", model="release:other-8",
             items=[{"id": str(i), "vector": await fill.provider.embed(str(n))} for n, i in enumerate(ids)])  # fmt: skip
    fill.sql("delete_node_vectors", ids=ids[2:])
    await m.index_vectors()
    fill.provider.down = True
    await m.save_context("It waits for its vector.", "shop", topic="queue")
    await m.save_decision("Queue what cannot be embedded", "The provider is down.", "shop")
    fill.provider.down = False


async def fill_session(fill: Fill) -> None:
    """Saves of an agent while its session has an id, by the way in of agents."""
    async with fill.memory("mcp", agent_id="agent-7") as m:
        opened = await m.save_session("Work under a session", "shop")
        inside = m.acting_as(MemoryScope(agent_id="agent-7", session_id=str(opened.artifact_id)))
        await inside.save_decision("Decide in a session", "It is joined to it.", "shop")
        await inside.save_pattern("When in a session", ["save with its id"], "shop")
        await inside.upsert_entity("Session fact", "Saved in a session.", "shop")
        await inside.save_context("Said in a session?", "shop")
        await inside.save_context("And a second time, right after.", "shop")
        await inside.remember("Tool", {"name": "session tool"}, project_id="shop")
        # An id that names no memory: the client's own.
        foreign = m.acting_as(MemoryScope(agent_id="agent-8", session_id="client-session-1"))
        for text in ("Do we ship on Sundays?", "No.", "Und in Österreich?"):
            await foreign.save_context(text, "shop", topic="talk")
        await foreign.upsert_entity("Talk fact", "Said in a talk.", "shop")


async def fill_tenants(fill: Fill) -> None:
    """An organisation with two users and what they share, another organisation, what is public, logins, tokens, an erasure."""
    async with fill.memory() as m:
        await m.save_session("Before there were tenants", "commons")
        await m.save_decision("Leave the door open", "It is everybody's.", "commons")  # words: as is
        await m.remember("Technology", {"name": "Public tool", "notes": "for all"})
        await m.adopt("initech")
        await m.save_session("For everybody", "public")
        await m.save_context("A public note.", "public", topic="notes")
        await m.upsert_entity("Public fact", "All may read it.", "public")
    for org, user in (
        ("acme", "anna"),
        ("acme", "ben"),
        ("globex", "cara"),
        ("globex", "gone"),
        ("Größe AG", "Zoë"),
    ):
        async with fill.memory(
            "cli" if user == "ben" else "sdk", org_id=org, user_id=user, agent_id=f"agent of {user}"
        ) as m:
            await m.save_session(f"The shop of {user}", "shop", share=None if user == "ben" else "org")
            for place in range(2):
                await m.save_decision(
                    f"Decision {place} of {user} about {('paint', 'glass')[place]}",
                    f"{user} says so.",  # words: as is
                    "shop",
                )
                await m.upsert_entity(f"Thing {place}", f"{user} has {place} of it.", "shop")
            await m.upsert_entity("Thing 1", f"{user} changed his mind.", "shop")
            await m.save_pattern(f"When {user} works", ["begin"], "shop")
            await m.save_context(f"A note of {user}: {NAMES[3]} {NFD}", "shop", focus="Ausnahmen")
            await m.save_decision(
                f"Shared decision of {user} on windows", "For all of us.", "shop", share="org"
            )
            await m.upsert_entity(f"Shared by {user}", "Ours.", "shop", share="org")
            await m.remember(
                "Technology", {"name": f"tool of {user}"}, {"USES": ["a part"]}, project_id="shop"
            )
            await m.store_session_with_learnings({"objective": f"{user} learns"}, "shop",
                                                 patterns=[{"trigger": f"After {user} learned", "repeatable_steps": ["rest"]}])  # fmt: skip
            await m.save_decision("For nobody's project", "Blocked.", "nowhere")
            await m.record_candidate("risk_note", f"A draft of {user}.", "shop/orders.py", "shop")
            await m.reflect()
            if user == "anna":
                token = await m.request_global_write_approval("Greet")
                await m.save_decision(
                    "Greet each customer", "It is kind.", "shop", scope="global", governance_token=token.token
                )
                await m.request_global_write_approval("never used")
                await m.forget("EntityFact", "Thing 0", project_id="shop")
    fill.moment()
    async with fill.memory() as m:
        await m.bind_role("release_anna", "acme", "anna")
        await m.bind_role("release_cara", "globex", "cara")
        await m.issue_token("acme", "anna", "editor of anna")
        old = await m.issue_token("globex", "cara", "lost", day("2030-01-01"))
        await m.revoke_token(old.id)
        await m.erase_subject("globex", "gone", dry_run=False, by="Zoë")
        await m.set_setting("project_limit", "9")
        await m.refresh_statistics(everything=True)


QUESTIONS = (
    ("shop", "PostgreSQL orders"), ("shop", "Jenkins"), ("shop", "Forgejo"), ("shop", "summer sale"), ("shop", "replica lags"),
    ("shop", "replicas watched at night"), ("shop", "決済システム"), ("shop", "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"),
    ("shop", "Zürich"), ("shop", "Rückgängigmachung"), ("shop", "O'Brien"), ("shop", "ledger closed by hand"), ("shop", "write plainly"),
    ("shop", "Kafka"), ("shop", "Sundays"), ("Größenübersicht", "Klarna"), ("Größenübersicht", "Zahlung einführen"),
    ("shop", "weekend deploy"), ("shop", "Valkey"), (None, "belongs to no project"),
)  # fmt: skip


def questions(fill: Fill) -> list[dict[str, Any]]:
    """Questions to the store before and after an upgrade: searches, answers for a time, what each tenant sees and may."""
    asked: list[dict[str, Any]] = []

    def ask(verb: str, arguments: dict[str, Any], **who: str) -> None:
        asked.append({"verb": verb, "arguments": arguments, **who})

    moments = [moment.isoformat() for moment in fill.moments]
    if fill.kind != "tenants":
        for project, query in QUESTIONS:
            ask("search_memory", {"query": query, "limit": 5, "project_id": project})
        for at in (*moments, "2023-05-05T00:00:00Z", "2026-07-01T00:00:00Z"):
            for axis in ("as_of", "known_at"):
                ask("retrieve_context", {"project_id": "shop", "scope": "project", axis: at})
                for label, key in (
                    ("EntityFact", "Redis"),
                    ("EntityFact", "Gone fact"),
                    ("Tool", "old CI"),
                    ("Person", "Zoë"),
                ):
                    ask("get_node", {"label": label, "key": key, "project_id": "shop", axis: at})
        for label, key in (("EntityFact", "Redis"), ("EntityFact", "Back again"), ("EntityFact", "Gone fact"), ("EntityFact", "Purged fact"),
                           ("Decision", "Deploy on Fridays"), ("Tool", "old CI"), ("Person", "Zoë"), ("EntityFact", NFC), ("EntityFact", NAMES[2])):  # fmt: skip
            ask("memory_history", {"label": label, "key": key, "project_id": "shop"})
        for project, scope, focus in (
            ("shop", "project", None),
            ("shop", "global", None),
            ("Größenübersicht", "focus", "Ausnahmen"),
        ):
            ask("retrieve_context", {"project_id": project, "scope": scope, "focus": focus})
        return asked
    callers: list[dict[str, str]] = [
        {"org_id": "acme", "user_id": "anna"}, {"org_id": "acme", "user_id": "ben"}, {"org_id": "acme"}, {"org_id": "globex", "user_id": "cara"},
        {"org_id": "Größe AG", "user_id": "Zoë"}, {"org_id": "nobody"}, {}, *({"login": login} for login in stores.LOGINS),
        {"login": "release_anna", "org_id": "globex", "user_id": "cara"},
    ]  # fmt: skip
    for who in callers:
        ask("export_records", {"part": "node", "limit": 500}, **who)
        ask("retrieve_context", {"project_id": "shop", "scope": "project"}, **who)
        ask("retrieve_context", {"project_id": "public", "scope": "project"}, **who)
        ask("retrieve_context", {"project_id": "commons", "scope": "project"}, **who)
        ask("retrieve_context", {"project_id": "shop", "scope": "project", "known_at": moments[0]}, **who)
        ask("search_memory", {"query": "paint windows", "limit": 20}, **who)
        ask("get_node", {"label": "EntityFact", "key": "Thing 1", "project_id": "shop"}, **who)
        ask("forget", {"label": "EntityFact", "key": "Shared by anna", "project_id": "shop"}, **who)
        ask("forget", {"label": "EntityFact", "key": "Public fact", "project_id": "public"}, **who)
        ask("memory_history", {"label": "EntityFact", "key": "Thing 1", "project_id": "shop"}, **who)
    for login in stores.LOGINS:
        ask("issue_token", {"org_id": "acme"}, login=login)
        ask("set_setting", {"name": "project_limit", "value": "3"}, login=login)
    return asked


def verbs(source: Path) -> dict[str, str]:
    """The verbs of the release by its own reference: whether each reads or writes."""
    text = (source / "docs/reference/verbs.md").read_text(encoding="utf-8")
    found = re.findall(r"^### (\w+)$.*?^From: [^.]*\. (Reads only|Writes)\.", text, re.MULTILINE | re.DOTALL)
    return {name: what.split()[0].lower() for name, what in found}


async def fill_store(fill: Fill, repository: Path) -> None:
    if fill.kind == "tenants":
        await fill_tenants(fill)
        return
    async with fill.memory() as m:
        fill.moment()
        await fill_saves(fill, m)
        await fill_graph(fill, m)
        fill.moment()
        await fill_time(fill, m)
        await fill_import(fill, m)
        await fill_cards(fill, m, repository)
        await fill_session(fill)
        if fill.has_vectors:
            await fill_vectors(fill, m)
        if fill.kind == "one":
            await m.run_cypher("match (n:Technology) return n.key limit 3")
            await m.rebuild_graph()
            assert await m.check_graph() == []


def dump(fill: Fill, programs: Path, target: Path) -> None:
    """A plain dump, less what differs from run to run, what only one version of psql reads, and the schema of AGE, which comes with it."""
    done = subprocess.run(
        [programs / "pg_dump", "--format=plain", "--restrict-key=release", fill.dsn],
        capture_output=True,
        text=True,
        check=True,
    )
    left_out = r"^(\\(un)?restrict .*|SET transaction_timeout = 0;|CREATE SCHEMA ag_catalog;|ALTER SCHEMA ag_catalog OWNER TO .*)\n"
    text = re.sub(left_out, "", done.stdout, flags=re.MULTILINE)
    with target.open("wb") as file, gzip.GzipFile("", "wb", mtime=0, fileobj=file) as packed:
        packed.write(text.encode())


async def main(kind: str, source: Path, into: Path, folder: Path) -> None:
    with EmbeddedServer(folder / "data") as server:
        await write(kind, source, into, folder, server)


async def write(kind: str, source: Path, into: Path, folder: Path, server: EmbeddedServer) -> None:
    own = server.start()
    with psycopg.connect(own, autocommit=True) as admin:
        admin.execute(f"create role {stores.INSTALLER} superuser login")
        admin.execute(f"alter database pgmem owner to {stores.INSTALLER}")
        for login in stores.LOGINS if kind == "tenants" else ():
            admin.execute(f"create role {login} login")
    dsn = make_conninfo(own, user=stores.INSTALLER)
    schema.upgrade(dsn, EXTENSIONS[kind], {"freshness_recent_days": "10"}, roles=kind == "tenants")
    if kind == "tenants":
        with psycopg.connect(dsn, autocommit=True) as admin:
            for login in stores.LOGINS:
                admin.execute(f"grant pgmem_writer, pgmem_reader to {login}")
    fill = Fill(kind, dsn, folder / "data")
    await fill_store(fill, folder / "repository")
    with psycopg.connect(dsn, autocommit=True) as connection:
        asked = [{**question, "answer": stores.answer(connection, question)} for question in questions(fill)]
        facts = {
            "release": schema.release(), "extensions": EXTENSIONS[kind], "verbs": verbs(source), "called": dict(sorted(fill.calls.items())),
            "known": stores.known(connection), "counts": stores.counts(connection), **stores.digests(connection), "questions": asked,
        }  # fmt: skip
    dump(fill, server.bin_dir, into / f"{kind}.dump.gz")
    lines: list[str] = []
    async with fill.memory() as m:
        await m.export_lines(lines.append, vectors=fill.has_vectors, all_tenants=kind == "tenants")
    with (
        (into / f"{kind}.export.jsonl.gz").open("wb") as file,
        gzip.GzipFile("", "wb", mtime=0, fileobj=file) as packed,
    ):
        packed.write("".join(lines).encode())
    fill.admin.close()
    # The release itself says that the dump, loaded again, is the store.
    with psycopg.connect(own, autocommit=True) as admin:
        admin.execute("create database again template template0")
    again = make_conninfo(own, dbname="again")

    def program(name: str, *arguments: str, stdin: str) -> None:
        subprocess.run(
            [server.bin_dir / name, *arguments], input=stdin, text=True, check=True, stdout=subprocess.DEVNULL
        )

    stores.load(again, into / f"{kind}.dump.gz", program, stores.INSTALLER)
    with psycopg.connect(again, autocommit=True) as connection:
        assert stores.counts(connection) == facts["counts"]
        assert stores.digests(connection) == {name: facts[name] for name in ("nodes", "versions", "edges")}
        if "age" in EXTENSIONS[kind]:
            assert connection.execute("select * from pgmem.check_graph()").fetchall() == []
        for question in asked:
            assert stores.answer(connection, question) == question["answer"], question
    async with Memory.connect(Settings(dsn=again, data_dir=folder / "again", embedding_provider="none")) as m:
        saved = await m.acting_as(MemoryScope(org_id="acme", user_id="anna")).save_session(
            "Still writes", "shop"
        )
        assert saved.status == "saved", saved
        if "age" in EXTENSIONS[kind]:
            assert await m.check_graph() == []
    with psycopg.connect(own, autocommit=True) as admin:
        admin.execute("drop database again")
    (into / f"{kind}.facts.json").write_text(
        json.dumps(facts, ensure_ascii=False, indent=1, default=str) + "\n", encoding="utf-8"
    )
    subprocess.run(
        [
            Path(sys.executable).with_name("pgmem"),
            "backup",
            into / f"{kind}.backup",
            "--data-dir",
            folder / "data",
        ],
        check=True,
    )


if __name__ == "__main__":
    os.environ.update(TZ="UTC")
    roomy = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    with TemporaryDirectory(prefix="pgmem-release-", dir=roomy) as place:
        Path(place).chmod(0o711)
        asyncio.run(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), Path(place)))
