"""Three tenants, every verb in random order, six ways in: texts of one never reach another.

Each text a tenant writes carries its canary. Every answer, error included, is searched for the canaries of those whose
memory the caller must not see. Ids, approvals and continuations that any tenant has been given are used by all of them,
as a thief would.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid4

import anyio
import httpx2
import psycopg
from mcp.client import Client
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from pgmem import Memory, MemoryScope, PgmemError
from pgmem.database.call import clean, statement
from pgmem.features.ui.routes import ROUTES
from pgmem.mcp.app import App
from pgmem.mcp.server import create_server
from pgmem.settings import Settings
from tests.conftest import Call, past_the_pooler, stores_of
from tests.features.cards.conftest import report
from tests.serving import Agent, serving

__all__ = ["AGENTS", "DECLARED", "PEOPLE", "Attack", "Pot", "attack", "chosen", "declared", "make"]

TENANTS = {"alice": ("acme", "alice"), "bob": ("acme", "bob"), "carol": ("globex", "carol")}
# Shared memories of acme are for alice and bob; private ones are their user's alone.
HIDDEN = {
    "alice": ("canary-bob", "canary-carol", "canary-globex"),
    "bob": ("canary-alice", "canary-carol", "canary-globex"),
    "carol": ("canary-alice", "canary-bob", "canary-acme"),
}
WORDS = ("orders", "file", "table", "cache", "queue", "till", "stock", "price")
PATHS = ("pkg/a.py", "pkg/b.py", "pkg/till.py")
SCOPES = ("project", "project", "project", "focus", "global")
SAVES = frozenset("save_session save_decision save_pattern save_context upsert_entity".split())
MANAGED = frozenset(
    ("record_candidate", "validate_claims", "declare_intent", "finish_intent", "propose_from_receipt")
)
_REFUSED = re.compile(r"status['\"]?(?:: |=)['\"](?:failed|blocked_scope)")
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_APPROVAL = re.compile(r"token['\"]?(?:: |=|:)['\"]([\w-]{20,})")
_FEED_CURSOR = re.compile(r"[0-9a-f]{12}\.\d+\.\d+\.[0-9a-f]{8}")
_CSRF = re.compile(r'name="csrf" value="([^"]+)"')
_CURSOR = re.compile(r"cursor['\"]?: ['\"]([\w-]{20,})")

Arguments = dict[str, Any]
Run = Callable[[str, Arguments], Awaitable[tuple[bool, str]]]


class Pot:
    """The newest ids, approvals and continuations that callers got, by the verb that returned them."""

    def __init__(self, chance: Random) -> None:
        self._kept: dict[str, list[str]] = defaultdict(lambda: ["00000000-0000-4000-8000-000000000000"])
        self._chance = chance

    def put(self, verb: str, answer: str) -> None:
        """Keep the ids that an answer gives away."""
        for name, pattern in (
            (verb, _ID),
            ("approval", _APPROVAL),
            ("cursor", _CURSOR),
            ("feed", _FEED_CURSOR),
        ):
            kept = self._kept[name]
            kept += pattern.findall(answer)[: 1 if verb == "surface_insights" else 3]
            del kept[:-20]

    def verbs(self) -> list[str]:
        """The verbs that have returned ids."""
        return [name for name in self._kept if name not in ("feed", "save")] or ["save_session"]

    def save_id(self) -> UUID:
        """A save_id that some callers have chosen already, or a new one, which others choose after this one."""
        if self._chance.random() < 0.3:
            self._kept["save"] = [*self._kept["save"], str(uuid4())][-20:]
        return UUID(self.take("save"))

    def take(self, *verbs: str) -> str:
        """One of the values that these verbs returned to a caller."""
        return self._chance.choice(self._kept[self._chance.choice(verbs)])


class Attack:
    """The calls of a run by way in, and those of them that were not refused by verb."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.answered: dict[str, Counter[str]] = defaultdict(Counter)
        self.saw_own: set[tuple[str, str]] = set()
        self.pot = Pot(Random("pot"))
        self.declared: dict[str, dict[str, str]] = {}
        self.sent: dict[str, set[str]] = defaultdict(set)
        self.learned: dict[str, dict[str, tuple[object, ...]]] = defaultdict(dict)
        self.first: dict[str, str] = {}

    async def play(
        self, way: str, user: str, seed: int, length: int, verbs: tuple[str, ...], run: Run
    ) -> None:
        chance = Random(f"{way}{user}{seed}")
        for _ in range(length):
            verb = chance.choice(verbs)
            if way in ("pages", "changes"):
                arguments = (visited if way == "pages" else followed)(verb, user, chance, self.pot)
            elif verb in self.declared:
                arguments = chosen(self.declared[verb], user, chance, self.pot)
            else:
                arguments = make(verb, user, chance, self.pot)
            answered, text = await run(verb, arguments)
            self.calls[way] += 1
            self.answered[way][verb] += answered and not _REFUSED.search(text)
            for canary in HIDDEN[user]:
                assert canary not in text, (way, user, verb, arguments, text)
            if f"canary-{user}" in text:
                self.saw_own.add((way, user))
            org = TENANTS[user][0]
            self.sent[org].update(_ID.findall(str(arguments)))
            for one in _ID.findall(text):
                self.learned[user].setdefault(one, (way, verb, arguments, text))
                self.first.setdefault(one, user)
            self.pot.put(verb, text)


def make(verb: str, user: str, chance: Random, pot: Pot) -> Arguments:
    """The arguments of a call: names and projects that everybody uses, the tenant's own canary in every text."""
    mark = f"canary-{user}"
    name = " ".join(chance.sample(WORDS, 2))
    # Few titles, so that two that are drawn often exist.
    title, another = (f"{' '.join(chance.sample(WORDS[:4], 2))} decided" for _ in range(2))
    project = chance.choice(("shop", "bank"))
    entity, other = chance.sample(WORDS, 2)
    label, key = chance.choice((("Tool", name), ("EntityFact", entity), ("Decision", title)))
    if chance.random() < 0.3:
        key = pot.take("search_memory", "upsert_entity", "save_decision")
    scope = chance.choice(SCOPES)
    where: Arguments = {"project_id": project, "scope": scope}
    if scope == "focus":
        where["focus"] = f"{mark} focus"
    if scope == "global":
        where["governance_token"] = pot.take("approval")
    if verb in SAVES and chance.random() < 0.2:
        where["save_id"] = pot.save_id()
    if chance.random() < 0.2:
        # Said in the organisation's name, and so for all of it.
        mark, where["share"] = f"canary-{TENANTS[user][0]}", "org"
        where.pop("focus", None)
        where["scope"] = "global" if scope == "global" else "project"
    path = chance.choice(PATHS)
    card = ("record_candidate", "propose_from_receipt", "query_engineering_memory")
    save = ("save_decision", "save_context", "store_session_with_learnings", "list_reviews")
    drawn = chance.random()
    # Thunks: only the chosen one is made.
    made: dict[str, Callable[[], Arguments]] = {
        "save_session": lambda: {"objective": f"{mark} {name}", "open_items": [mark], **where},
        "save_decision": lambda: {"title": title, "rationale": f"{mark} {name}", **where},
        "save_pattern": lambda: {"trigger": f"{mark} {name}", "repeatable_steps": [mark], **where},
        "save_context": lambda: {"content": f"{mark} {name}", "topic": mark, **where},
        "upsert_entity": lambda: {
            "entity_name": entity,
            "fact": f"{mark} {name}",
            **(
                {
                    "related_entities": [
                        {"entity_id": pot.take("upsert_entity"), "relationship_type": "CONFLICTS_WITH"}
                    ]
                }
                if drawn < 0.2
                else {}
            ),
            **where,
        },
        "store_session_with_learnings": lambda: {
            "session": {"objective": f"{mark} {name}"},
            "decisions": [{"title": f"{title} {mark}", "rationale": mark}],
            "patterns": [{"trigger": f"{mark} {name}", "repeatable_steps": [mark]}],
            "project_id": project,
        },
        "request_global_write_approval": lambda: {"content_preview": mark},
        "get_save_status": lambda: (
            {"project_id": project} | ({"save_id": UUID(pot.take(*save))} if drawn < 0.5 else {})
        ),
        "check_duplicate": lambda: {"title": title, "rationale": name, "project_id": project},
        "retrieve_context": lambda: {
            "project_id": project,
            "scope": scope,
            **({"topic": name} if drawn < 0.3 else {}),
            **({"as_of": "2030-01-01"} if drawn < 0.15 else {}),
            **({"known_at": "2100-01-01"} if drawn > 0.85 else {}),
        },
        "search_memory": lambda: {
            "query": f"canary {name}",
            "limit": 20,
            **({"project_id": project} if drawn < 0.5 else {}),
            **({"known_at": "2100-01-01"} if drawn > 0.9 else {}),
        },
        "fulltext_search": lambda: {"query": "canary", "limit": 50},
        "get_scope_state": lambda: {"project_id": project, "focus": f"{mark} focus"},
        "remember": lambda: {
            "label": "Tool",
            "properties": {"name": name, "summary": mark, "tags": [name]},
            "relations": {"USES": [f"{mark} part", name]} if "share" not in where else {},
            **({"share": "org"} if "share" in where else {}),
        },
        "get_node": lambda: (
            {"label": label, "key": key} | ({"known_at": "2100-01-01"} if drawn < 0.2 else {})
        ),
        "memory_history": lambda: {"label": label, "key": key},
        "neighbours": lambda: {"label": label, "key": key, "hops": 3},
        "relate": lambda: {
            "from_label": "Decision",
            # Titles often: of ids that anybody was given, both are seldom the caller's.
            "from_key": pot.take("save_decision") if drawn < 0.5 else title,
            "rel_type": "CONFLICTS_WITH",
            "to_label": "Decision",
            "to_key": pot.take("save_decision") if drawn < 0.3 else another,
        },
        "find_memory": lambda: {"id": UUID(pot.take("save_context", "upsert_entity", *card))},
        "find_memories": lambda: {
            "ids": [UUID(pot.take("save_context", "upsert_entity", "save_decision", *card)) for _ in range(5)]
        },
        "list_memories": lambda: {"limit": 50} | ({"known_at": "2100-01-01"} if drawn < 0.3 else {}),
        "list_near_names": lambda: {"project_id": project} if drawn < 0.3 else {},
        "list_lines": lambda: {"limit": 20} | ({"project_id": project} if drawn < 0.3 else {}),
        "list_activity": lambda: {"limit": 50},
        "list_conversations": lambda: {"limit": 50},
        "list_recall": lambda: {"limit": 50},
        "list_skills": lambda: {"limit": 50},
        "list_conflicts": lambda: {"limit": 50},
        "project_graph": lambda: {"limit": 50} | ({"known_at": "2100-01-01"} if drawn < 0.3 else {}),
        "forget": lambda: {"label": label, "key": key, "purge": drawn < 0.2},
        "revert": lambda: {
            **({"label": "EntityFact", "key": entity} if drawn < 0.6 else {"label": label, "key": key}),
            "version": 1,
        },
        "get_session": lambda: {"session_id": pot.take("save_session")},
        "run_hygiene": lambda: {"limit": 20} | ({"project_id": project} if drawn < 0.8 else {}),
        "memory_freshness": lambda: {"stale_after_days": 0, "limit": 20},
        "memory_health": lambda: {"project_id": project} if drawn < 0.5 else {},
        "memory_surface": lambda: {"query": f"{name} canary", "limit": 50},
        "route_analysis": lambda: {"task_description": mark},
        "reflect": dict,
        "surface_insights": lambda: {"limit": 50},
        "review_insight": lambda: {
            "title": pot.take("surface_insights"),
            "action": "approve" if drawn < 0.5 else "dismiss",
        },
        "merge_entities": lambda: {
            "entity": entity if drawn < 0.7 else pot.take("upsert_entity"),
            "into": other if drawn < 0.7 else pot.take("upsert_entity"),
            "project_id": project,
            # A statement about a shared fact is said to the whole organisation.
            "fact": f"canary-{TENANTS[user][0]}",
        },
        "supersede": lambda: {
            "old": title if drawn < 0.7 else pot.take("save_decision"),
            "new": another if drawn < 0.7 else pot.take("save_decision"),
            "project_id": project,
        },
        "retry_save": lambda: {"save_id": UUID(pot.take(*save))},
        "list_reviews": dict,
        "resolve_review": lambda: {
            "save_id": UUID(pot.take(*save)),
            "outcome": chance.choice(("new", "supersede", "drop")),
            "by": mark,
        },
        "decay_scores": lambda: {"dry_run": True},
        "forget_by_ttl": lambda: {"days": 0, "dry_run": drawn < 0.9, "label": "Context"},
        "record_candidate": lambda: {
            "record_type": "risk_note",
            "statement": f"{mark} {name}",
            "subject_path": path,
            "project_id": project,
        },
        "validate_claims": lambda: {"text": f"{mark} {pot.take(*card)}", "project_id": project},
        "propose_from_receipt": lambda: {
            "receipt": {"scope": [path], "claims": [f"{mark} {name}"]},
            "project_id": project,
        },
        "refresh_from_run": lambda: {
            "report": report(modules=[{"path": path, "doc": f"{mark} {name}."}], tests=[], documents=[]),
            "project_id": project,
        },
        "declare_intent": lambda: {"paths": [path], "project_id": project},
        "finish_intent": lambda: {
            "intent_id": UUID(pot.take("declare_intent")),
            "changed_paths": [path],
            "project_id": project,
        },
        "approve_card": lambda: {"card_id": UUID(pot.take("record_candidate")), "by": mark},
        "reject_card": lambda: {"card_id": UUID(pot.take("record_candidate")), "by": mark, "reason": mark},
        "archive_card": lambda: {"card_id": UUID(pot.take("record_candidate")), "by": mark},
        "vacuum_cards": lambda: {"project_id": project, "dry_run": True},
        "settle_branches": lambda: {"project_id": project, "settled": [{"branch": f"of {mark}"}]},
        "spend_extraction_tokens": lambda: {"tokens": 7},
        "get_relevant_memory": lambda: {
            "project_id": project,
            "include_stale": True,
            **(
                {"cursor": pot.take("cursor")}
                if drawn < 0.2
                else {"intent_id": UUID(pot.take("declare_intent"))}
                if drawn < 0.4
                else {"scope": ["pkg"], "max_records": 3}
            ),
        },
        "query_engineering_memory": lambda: {
            "project_id": project,
            "include_stale": True,
            **chance.choice(
                (
                    {"mode": "search", "query": "canary", "include_drafts": True},
                    {"mode": "get", "record_id": UUID(pot.take(*card))},
                    {"mode": "for_path", "path": path, "detail_level": "full"},
                    {"mode": "coverage", "scope": ["pkg"]},
                    {"mode": "drafts"},
                    {"mode": "stale"},
                    {"mode": "status"},
                )
            ),
        },
    }
    return made[verb]()


# Verbs that no tenant has a say in: the store, the models and the listening session are everybody's.
_OF_THE_STORE = frozenset(
    "describe_schema list_settings listen_changes register_model status sweep_items wal_position verify_token".split()
)


DECLARED = (
    "select v.name, p.proargnames[: p.pronargs] as names, array(select format_type(t, null)"
    " from unnest(p.proargtypes) with ordinality as a(t, place) order by place) as types"
    " from pgmem.verb v join pg_proc p on p.proname = v.name and p.pronamespace = 'pgmem'::regnamespace"
    " where v.rights in ('reader', 'writer') order by v.name"
)


def declared(rows: Iterable[tuple[Any, ...]]) -> dict[str, dict[str, str]]:
    """The arguments, with their types, of every verb that readers and writers have and `make` does not know."""
    return {
        name: dict(zip((one.removeprefix("p_") for one in names or ()), types, strict=True))
        for name, names, types in rows
        if name not in PEOPLE and name not in _OF_THE_STORE
    }


def chosen(arguments: dict[str, str], user: str, chance: Random, pot: Pot) -> Arguments:
    """Arguments for a verb by their names and types: every name is one of another tenant."""
    mark, others = f"canary-{user}", [TENANTS[other] for other in TENANTS if other != user]
    word, project = chance.choice(WORDS), chance.choice(("shop", "bank"))
    known = [verb for verb in pot.verbs() if verb not in ("approval", "cursor")]
    org, owner = chance.choice(others)

    def an_id() -> str:
        return pot.take(*known)

    # Its id may be that of a memory which the organisation shares: a text sent for it is said to the whole organisation.
    said = f"canary-{TENANTS[user][0]}"
    node = {
        "type": "node", "id": an_id(), "label": "Context", "title": said, "props": {"content": said},
        "status": "active", "scope": "project", "project": project, "org_id": org, "user_id": owner, "version": 9,
        "tenant": f"{org}\x1f{owner}", "created_at": "2020-01-01", "updated_at": "2021-01-01",
        "recorded_at": "2021-01-01", "trust_level": 1.0, "initial_confidence": 1.0, "source": "cli",
    }  # fmt: skip
    edge: dict[str, Any] = {
        "src": an_id(),
        "dst": an_id(),
        "rel": chance.choice(("SUPERSEDES", "RELATED_TO")),
        "props": {},
    }
    held = {"type": "save", "save_id": an_id(), "verb": "save_context", "status": "failed", "project": project,
            "dedup_outcome": "manual_review", "arguments": {"content": mark}, "org_id": org, "user_id": owner,
            "created_at": "2020-01-01", "updated_at": "2021-01-01"}  # fmt: skip
    purge = {"type": "purge", "id": an_id(), "label": "Context", "org_id": org, "user_id": owner,
             "purged_at": "2020-01-01", "purged_by": mark}  # fmt: skip
    item = {"namespace": ["users", word], "name": word}
    entity = {"name": word, "entityType": "Tool", "observations": [mark]}
    by_name: dict[str, Any] = {
        "project_id": project, "session_id": word, "client": "codex", "by": mark, "key": word, "path": f"/memories/{word}",
        "old_path": f"/memories/{word}", "new_path": f"/memories/{chance.choice(WORDS)}", "old_str": mark,
        "insert_line": 0, "names": [word], "entity_names": [word], "paths": [chance.choice(PATHS)],
        "label": chance.choice(("Tool", "Insight", "Project")), "properties": {"name": word, "summary": mark},
        "verb": chance.choice(("forget", "edit_memory", "save_context")), "verdict": chance.choice(("used", "wrong")),
        "arguments": {"content": mark, "title": mark, "project_id": project, "properties": {"content": mark}},
        "query": f"canary {word}", "text": f"canary {word}", "prompt": f"Change the {word} of the canary?",
        "start": "canary", "argument": chance.choice(("project_id", "key")), "namespace": ["users"],
        "after": pot.take("feed"), "peer": chance.choice((pot.take("feed")[:12], "0123456789ab")), "content": True, "labels": None,
        "items": [{**item, "value": {"text": mark}}], "keys": [item],
        "messages": [{"role": "user", "content": mark}], "turns": [{"id": word, "role": "user", "content": mark}],
        "entities": [entity], "observations": [{"entityName": word, "contents": [mark]}],
        "relations": [{"from": word, "to": chance.choice(WORDS), "relationType": "USES"}],
        "deletions": [{"entityName": word, "observations": [mark]}], "part": chance.choice(("memory", "edge", "save")),
        "records": [{"label": "Context", "name": word, "properties": {"content": mark}}], "source": "letta",
        "changes": [chance.choice((node, {"type": "edge", **edge}, {"type": "unrelated", **edge}, held, purge))],
        "answer": {"operations": [{"op": "forget", "target": an_id()}]}, "act": "retrieved",
        "outcomes": [{"place": 1, "outcome": "refused", "reason": mark}],
        "outcome": "saved", "memory_ids": [an_id()], "model": "none", "folder": word,
    }  # fmt: skip
    made: Arguments = {}
    for name, kind in arguments.items():
        if name in ("all_tenants", "create", "embedding", "vector", "filter", "conditions"):
            continue
        if (name, kind) == ("answer", "boolean"):  # only a person answers
            continue
        if name in by_name and (name, kind) != ("after", "text[]"):
            made[name] = by_name[name]
        elif kind in ("uuid", "uuid[]"):
            made[name] = UUID(an_id()) if kind == "uuid" else [UUID(an_id()), UUID(an_id())]
        elif kind == "text" and chance.random() < 0.5:
            made[name] = mark
    return made


# Not those that only the administrator of the store has, that stay open, or that look at everything.
PAGES = tuple(
    f"{method} {route.path}"
    for route in ROUTES
    for method in (route.methods or ())
    if method in ("GET", "POST")
    and not route.path.startswith(("/tenants", "/activity/live", "/health/check", "/decide/insights/reflect"))
)
CHANGES = ("page", "state", "part", "apply")


def visited(page: str, user: str, chance: Random, pot: Pot) -> Arguments:
    """The path of a page, and a form whose every id is one that somebody was given."""
    mark = f"canary-{user}"
    known = [verb for verb in pot.verbs() if verb not in ("approval", "cursor")]
    ids = [pot.take(*known) for _ in range(5)]
    fields = {
        "reason": mark, "title": f"{mark} title", "text": mark, "content": mark, "rationale": mark, "sure": "yes",
        "outcome": chance.choice(("new", "supersede", "drop")), "action": chance.choice(("approve", "dismiss")),
        "kind": "Decision", "verb": chance.choice(("retry_save", "forget")), "version": "1", "candidate": ids[0],
        "of": ids[1], "holds": ids[2], "into": ids[3], "id": ids[4], "project_id": "shop", "typed": mark, "name": mark,
        "branch": f"of {mark}", "session": ids[0], "older": ids[1], "newer": ids[2],
    }  # fmt: skip
    query = {"q": "canary", "project": chance.choice(("shop", "bank")), "limit": "50", **fields}
    path = page.split()[1].replace("{id:uuid}", ids[0])
    asked = {name: query[name] for name in chance.sample(sorted(query), 3)}
    return {"path": path, "query": asked, "form": fields if page.startswith("POST") else None}


def followed(way: str, user: str, chance: Random, pot: Pot) -> Arguments:
    """A request of /changes: a cursor, a place or a name of a store that somebody was given, or records of others."""
    if way == "apply":
        sent = chosen({"changes": "jsonb", "peer": "text"}, user, chance, pot)
        return {"body": {**sent, "dry_run": False}}
    parts = ("vocabulary", "project", "focus", "memory", "purge", "edge", "save")
    place = json.dumps([pot.take(*pot.verbs())])
    asked: dict[str, Arguments] = {
        "page": {"after": pot.take("feed"), "without": pot.take("feed")[:12]},
        "state": {"state": pot.take("feed")[:12]},
        "part": {"part": chance.choice(parts)} | ({"place": place} if chance.random() < 0.5 else {}),
    }
    return {"query": asked[way]}


def _often(verbs: str, times: int) -> tuple[str, ...]:
    return tuple(verbs.split()) * times


# A verb that reads all memories costs a hundred saves, and is called seldom.
AGENTS = (
    _often("save_session save_decision save_pattern save_context upsert_entity remember search_memory", 12)
    + _often("request_global_write_approval retrieve_context get_node forget revert relate neighbours", 9)
    + _often("memory_history get_save_status get_scope_state get_relevant_memory record_candidate", 6)
    + _often("query_engineering_memory declare_intent finish_intent propose_from_receipt memory_surface", 6)
    + _often("surface_insights review_insight store_session_with_learnings validate_claims route_analysis", 6)
    + _often("run_hygiene memory_freshness refresh_from_run", 2)
    + _often("reflect", 1)
    + _often("declare_intent finish_intent", 12)  # seldom of the caller
    + _often("revert relate neighbours", 4)  # seldom finds the named row
)
"""The verbs that agents have, each as often as it is drawn."""

PEOPLE = (
    AGENTS
    + _often("supersede", 12)  # seldom finds two decisions
    + _often("merge_entities retry_save resolve_review list_reviews approve_card reject_card", 6)
    + _often(
        "archive_card vacuum_cards settle_branches decay_scores forget_by_ttl get_session check_duplicate", 3
    )
    + _often(
        "find_memory find_memories list_memories list_near_names list_lines list_activity list_recall list_skills list_conversations list_conflicts project_graph",
        3,
    )
    + _often("memory_health spend_extraction_tokens", 1)
)
"""Those, and the verbs that people have besides."""


def over_sql(connection: AsyncConnection[Any]) -> Run:
    async def run(verb: str, arguments: Arguments) -> tuple[bool, str]:
        sent = {name: clean(name, value) for name, value in arguments.items()}
        try:
            cursor = await connection.execute(statement(verb, sent), sent)
            return True, str(await cursor.fetchall())
        except psycopg.Error as error:
            return False, f"{error.diag.message_primary} {error.diag.message_detail}"

    return run


def over_python(memory: Memory) -> Run:
    async def run(verb: str, arguments: Arguments) -> tuple[bool, str]:
        call = getattr(memory, verb)
        try:
            return True, str(
                await (call(arguments["session_id"]) if verb == "get_session" else call(**arguments))
            )
        except (PgmemError, psycopg.Error) as error:
            return False, str(error)

    return run


def as_tool(verb: str, arguments: Arguments) -> dict[str, Any]:
    """The same call as an agent makes it: actions of one tool, no `share`, ids as text."""
    renamed = {"changed_paths": "paths", "description": "text"} if verb == "finish_intent" else {}
    sent = {
        renamed.get(name, name): str(value) if isinstance(value, UUID) else value
        for name, value in arguments.items()
        if name != "share" and not (verb == "search_memory" and name == "known_at")
    }
    if verb in MANAGED or verb == "refresh_from_run":
        return {"name": "manage_engineering_memory", "arguments": {"action": verb, **sent}}
    return {"name": verb, "arguments": sent}


def over_mcp(client: Client) -> Run:
    async def run(verb: str, arguments: Arguments) -> tuple[bool, str]:
        call = as_tool(verb, arguments)
        result = await client.call_tool(call["name"], call["arguments"])
        return not result.is_error, str(result.structured_content) + str(result.content)

    return run


def over_http(agent: Agent) -> Run:
    async def run(verb: str, arguments: Arguments) -> tuple[bool, str]:
        answer = await agent.post("tools/call", as_tool(verb, arguments))
        result = answer.json()["result"]
        return not result.get("isError"), json.dumps(result)

    return run


async def over_pages(client: httpx2.AsyncClient, token: str) -> Run:
    await client.post("/ui/enter", data={"token": token})
    csrf = _CSRF.findall((await client.get("/ui/decide")).text)[0]

    async def run(_page: str, arguments: Arguments) -> tuple[bool, str]:
        path, query, form = f"/ui{arguments['path']}", arguments["query"], arguments["form"]
        if form is None:
            answer = await client.get(path, params=query)
        else:
            answer = await client.post(path, params=query, data={**form, "csrf": csrf})
        assert answer.status_code not in (401, 429, 500), (path, answer.text)
        return answer.status_code < 400, answer.text + answer.headers.get("location", "")

    return run


def over_changes(client: httpx2.AsyncClient, token: str) -> Run:
    headers = {"authorization": f"Bearer {token}", "accept": "application/json"}

    async def run(_way: str, arguments: Arguments) -> tuple[bool, str]:
        if "body" in arguments:
            answer = await client.post("/changes", json=arguments["body"], headers=headers)
        else:
            answer = await client.get("/changes", params=arguments["query"], headers=headers)
        assert answer.status_code in (200, 400, 410), answer.text
        return answer.status_code == 200, answer.text

    return run


@asynccontextmanager
async def acting(user: str) -> AsyncIterator[None]:
    """Requests of this task come with the token of a tenant."""
    org, name = TENANTS[user]
    claims = {"org_id": org, "user_id": name, "name": user}
    held = auth_context_var.set(
        AuthenticatedUser(AccessToken(token="-", client_id=user, scopes=[], claims=claims))
    )
    try:
        yield
    finally:
        auth_context_var.reset(held)


@asynccontextmanager
async def session(dsn: str, user: str) -> AsyncIterator[AsyncConnection[Any]]:
    """A session that says who it is."""
    async with await AsyncConnection.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        identity = "select set_config('pgmem.org_id', %s, false), set_config('pgmem.user_id', %s, false),"
        identity += " set_config('pgmem.session_id', 'the session of all', false)"
        await connection.execute(identity, TENANTS[user])
        yield connection


async def attack(
    dsn: str,
    folder: Path,
    call: Call,
    *,
    sql: int = 0,
    every: int = 0,
    python: int = 0,
    mcp: int = 0,
    http: int = 0,
    pages: int = 0,
    changes: int = 0,
    standby: int = 0,
    rounds: int = 3,
    stores: Iterable[str] | None = None,
    replica: str = "",
    done: Attack | None = None,
) -> Attack:
    """`rounds` times, all tenants at once, so many calls of each over each way in.

    `stores`: where the tables are, if `dsn` is a front of the test; `replica`: a standby of that front, for `standby`
    calls of SQL; `done`: to watch the attack as it goes on.
    """
    done = done or Attack()
    tokens = {
        u: str(call("issue_token", org_id=org, user_id=name)["token"]) for u, (org, name) in TENANTS.items()
    }
    persons = {
        u: str(call("issue_token", org_id=org, user_id=name, for_person=True)["token"])
        for u, (org, name) in TENANTS.items()
    }
    settings = Settings(dsn=dsn, data_dir=folder, embedding_provider="none", prepare=True, toolsets="all")

    stores_of_tenants = {
        u: str(call("issue_token", org_id=org, user_id=name, for_sync=True)["token"])
        for u, (org, name) in TENANTS.items()
    }

    async def tenant(user: str, memory: Memory, address: str | None, number: int) -> None:
        org, name = TENANTS[user]
        async with session(past_the_pooler(dsn), user) as connection:
            await done.play("sql", user, number, sql, PEOPLE, over_sql(connection))
            await done.play("every", user, number, every, tuple(done.declared), over_sql(connection))
        if standby:
            async with session(replica, user) as connection:
                await done.play("standby", user, number, standby, PEOPLE, over_sql(connection))
        own = memory.acting_as(MemoryScope(org_id=org, user_id=name))
        await done.play("python", user, number, python, PEOPLE, over_python(own))
        if mcp:
            async with (
                acting(user),
                Client(create_server(settings, App(settings, tokens_required=True))) as client,
            ):
                await done.play("mcp", user, number, mcp, AGENTS, over_mcp(client))
        if address is not None:
            async with httpx2.AsyncClient(timeout=30) as client_of_http:
                agent = Agent(address, tokens[user], client=client_of_http)
                await done.play("http", user, number, http, AGENTS, over_http(agent))
            async with httpx2.AsyncClient(base_url=address, timeout=30) as client_of_http:
                follow = over_changes(client_of_http, stores_of_tenants[user])
                await done.play("changes", user, number, changes, CHANGES, follow)
                if pages:
                    look = await over_pages(client_of_http, persons[user])
                    await done.play("pages", user, number, pages, PAGES, look)

    @asynccontextmanager
    async def server() -> AsyncIterator[str | None]:
        if http or pages or changes:
            async with serving(dsn, folder, http_requests_per_minute=10**6, toolsets="all") as address:
                yield address
        else:
            yield None

    async with (
        Memory.connect(settings) as memory,
        server() as address,
        AsyncExitStack() as stack,
    ):
        owners = [
            await stack.enter_async_context(await AsyncConnection.connect(store, autocommit=True))
            for store in stores or stores_of(dsn)
        ]
        done.declared = declared(await (await owners[0].execute(DECLARED)).fetchall())
        for number in range(rounds):
            # As the server does by itself once a minute: plans fit the new rows.
            for owner in owners:
                await owner.execute("analyze pgmem.node, pgmem.edge, pgmem.card_subject")
            async with anyio.create_task_group() as tasks:
                for user in TENANTS:
                    tasks.start_soon(tenant, user, memory, address, number)
        for owner in owners:
            await require_untouched(owner)
            await require_unknown(owner, done)
    return done


async def require_untouched(owner: AsyncConnection[Any]) -> None:
    """No row of a tenant holds a text of another: whatever was sent, nothing was written into its memory."""
    for table in ("node", "node_version", "save_attempt", "tombstone", "recall_event", "change"):
        rows = await owner.execute(f"select tenant, t::text from pgmem.{table} t".encode())
        for tenant, text in await rows.fetchall():
            for user in TENANTS:
                org, name = TENANTS[user]
                if tenant not in (f"{org}\x1f{name}", f"{org}\x1f", "\x1f"):
                    assert f"canary-{user}" not in text, (table, tenant, text)


async def require_unknown(owner: AsyncConnection[Any], done: Attack) -> None:
    """Nobody got an id of another tenant that its organisation had not sent: a repeat or a duplicate is its own.

    An id that it was given first, as that of a save, may have become another's since: in records that are
    applied, anybody may choose the id of a new record.
    """
    for table in ("node", "card_intent", "card_run", "extraction"):
        for user, (org, name) in TENANTS.items():
            learned = {
                one: by
                for one, by in done.learned[user].items()
                if one not in done.sent[org] and done.first[one] != user
            }
            rows = await owner.execute(
                f"select id, tenant from pgmem.{table} where id = any(%s) and not tenant = any(%s)".encode(),
                ([UUID(one) for one in learned], [f"{org}\x1f{name}", f"{org}\x1f", "\x1f"]),
            )
            found = [(row, learned[str(row[0])]) for row in await rows.fetchall()]
            assert found == [], (table, user, found)
