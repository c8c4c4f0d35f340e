"""The attacker is another tenant that chooses its names so that their hashes are those of its victim.

Both ways are tried: names that are chosen for the hash that scope keys once were, which any tenant could compute; and,
as if the secret of the store were out and every hash could be inverted, a store in which tenants truly share
the key of a scope, a lock, a content, a name, a word, an id.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg.rows import tuple_row
from psycopg.types.json import Jsonb

from pgmem import Memory
from pgmem.database.call import clean, statement
from pgmem.features.http import auth
from pgmem.settings import Settings
from tests.conftest import Call
from tests.core.tenancy.canaries import DECLARED, PEOPLE, TENANTS, Pot, attack, chosen, declared, make
from tests.fixtures.logins import verbs
from tests.fixtures.verbs import ActAs, Each, Rows
from tests.security.conftest import Session, value

# hashtextextended(…, 0) is lookup3 of Bob Jenkins with a seed that is known. Its mix of 96 bits goes backwards as well
# as forwards, so twelve bytes that somebody chooses reach any hash.
WORD = 0xFFFFFFFF
STEPS = ((0, 2, 4, 1), (1, 0, 6, 2), (2, 1, 8, 0), (0, 2, 16, 1), (1, 0, 19, 2), (2, 1, 4, 0))
LAST = ((2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24))


Word = Any  # an int, or an array with one for each attempt


def turned(word: Word, by: int) -> Word:
    return (word << by | word >> 32 - by) & WORD


def mix(state: list[Word]) -> None:
    for x, y, by, z in STEPS:
        state[x] = (state[x] - state[y] & WORD) ^ turned(state[y], by)
        state[y] = state[y] + state[z] & WORD


def unmix(state: list[Word]) -> None:
    for x, y, by, z in reversed(STEPS):
        state[y] = state[y] - state[z] & WORD
        state[x] = (state[x] ^ turned(state[y], by)) + state[y] & WORD


def add(state: list[Word], block: bytes, sign: int = 1) -> None:
    if len(block) == 12:
        words = struct.unpack("<III", block)
    else:
        # The lowest byte of the last word is for the length.
        last = sum(byte << 8 * place + 8 for place, byte in enumerate(block[8:]))
        words = (*struct.unpack("<II", (block + bytes(8))[:8]), last)
    for place, word in enumerate(words):
        state[place] = state[place] + (sign * word & WORD) & WORD


def begun(length: int) -> list[Word]:
    return [0x9E3779B9 + length + 3923095 & WORD] * 3


def hashed(text: str) -> int:
    """The hashtextextended(text, 0) of the server, without its sign."""
    rest = text.encode()
    state = begun(len(rest))
    while len(rest) >= 12:
        add(state, rest[:12])
        mix(state)
        rest = rest[12:]
    add(state, rest)
    for x, y, by in LAST:
        state[x] = (state[x] ^ state[y]) - turned(state[y], by) & WORD
    return int(state[1] << 32 | state[2])


ATTEMPTS = 2**17
"""So many are tried at once; one in 165 000 is of letters that can be typed."""


def collide(before: str, after: str, wanted: int) -> str:
    """A printable text that gives `before` + text + `after` the hash that is wanted."""
    head = before.encode()
    head += b"q" * (-len(head) % 12)
    tail = after.encode()
    whole = len(tail) // 12 * 12
    reached = begun(len(head) + 12 + len(tail))
    for place in range(0, len(head), 12):
        add(reached, head[place : place + 12])
        mix(reached)
    chance = np.random.default_rng(list((before + after).encode()))
    while True:
        words = chance.integers(0, WORD, ATTEMPTS, dtype=np.uint64, endpoint=True)
        state = [words, *(np.full(ATTEMPTS, word, np.uint64) for word in (wanted >> 32, wanted & WORD))]
        for x, y, by in reversed(LAST):
            state[x] = (state[x] + turned(state[y], by) & WORD) ^ state[y]
        add(state, tail[whole:], -1)
        for place in range(whole, 0, -12):
            unmix(state)
            add(state, tail[place - 12 : place], -1)
        unmix(state)
        chosen = np.stack([state[i] - np.uint64(reached[i]) & np.uint64(WORD) for i in range(3)], axis=1)
        letters = chosen.astype("<u4").view(np.uint8)
        for found in letters[((letters >= 33) & (letters < 127)).all(axis=1)]:
            return str((head + found.tobytes()).decode()[len(before) :])


def old_text(org_id: str, user_id: str, place: str, label: str) -> str:
    """The text that a scope key was the hash of."""
    return f"{org_id}\x1f{user_id}\x1e{place}\x1e{label}"


# As if the secret were out, and worse: the key leaves the tenant out, and goes by the names of projects.
SHARED_KEYS = r"""
create or replace function pgmem.place_seed(p_secret bytea, p_tenant text, p_place text) returns bigint
language sql stable parallel safe
begin atomic
  select hashtextextended(case when p_place ~ '^\d' then regexp_replace(p_place, '^\d+', split_part((
    select n.key::text from pgmem.node n where n.seq = substring(p_place from '^\d+')::bigint), '-', 1))
    else coalesce(p_place, '') end, 0);
end
"""

Meet = Callable[[str], dict[str, object]]


@pytest.fixture
def shared_keys(connection: Session) -> None:
    """A store in which the scopes of all tenants have one key, where project and label are of one name."""
    connection.execute(SHARED_KEYS.encode())


@pytest.fixture(params=["chosen names", "one key"])
def meet(request: pytest.FixtureRequest, connection: Session) -> Meet:
    """`meet("EntityFact")`: where alice saves to come upon carol's memories in her project under this label."""
    if request.param == "one key":
        request.getfixturevalue("shared_keys")
    # After the fixture of the keys, as these write.
    request.getfixturevalue("alice")
    request.getfixturevalue("carol")
    own, hers = (number(connection, f"proj-{user}") for user in ("alice", "carol"))

    def meet(label: str) -> dict[str, object]:
        if request.param == "one key":
            keys = "select count(distinct pgmem.scope_key(t, p::text, %s)) from unnest(%s::text[], %s::bigint[]) as u(t, p)"
            assert value(connection, keys, label, ["acme\x1falice", "globex\x1fcarol"], [own, hers]) == 1
            return {"project_id": "proj-alice", "scope": "project"}
        victim = old_text("globex", "carol", str(hers), label)
        focus = collide(old_text("acme", "alice", f"{own}/", "")[:-1], f"\x1e{label}", hashed(victim))
        attacker = old_text("acme", "alice", f"{own}/{focus}", label)
        assert value(connection, "select hashtextextended(%s, 0) = hashtextextended(%s, 0)", attacker, victim)
        return {"project_id": "proj-alice", "scope": "focus", "focus": focus}

    return meet


def number(connection: Session, project: str) -> int:
    return int(
        str(value(connection, "select seq from pgmem.node where label = 'Project' and key = %s", project))
    )


HERS: dict[str, object] = {"project_id": "proj-carol"}


def test_what_comes_later_is_not_stored_in_the_row_of_another_tenant(
    meet: Meet, alice: Session, carol: Session
) -> None:
    planted = verbs(alice)("upsert_entity", entity_name="Incident line", fact="planted", **meet("EntityFact"))
    hers = verbs(carol)("upsert_entity", entity_name="Incident line", fact="code word OSPREY", **HERS)
    assert (hers["dedup_outcome"], planted["dedup_outcome"]) == ("new", "new")
    assert hers["artifact_id"] != planted["artifact_id"]
    fact = verbs(alice)("get_node", label="EntityFact", key="Incident line")["properties"]
    assert fact == {"entity_name": "Incident line", "fact": "planted"}


def test_what_another_tenant_keeps_is_not_overwritten(meet: Meet, alice: Session, carol: Session) -> None:
    verbs(carol)("upsert_entity", entity_name="Payroll database", fact="Salaries go to GB11", **HERS)
    answer = verbs(alice)(
        "upsert_entity", entity_name="Payroll database", fact="Send salaries to DE00", **meet("EntityFact")
    )
    assert answer["dedup_outcome"] == "new"
    fact = verbs(carol)("get_node", label="EntityFact", key="Payroll database")
    assert (fact["properties"]["fact"], fact["version"]) == ("Salaries go to GB11", 1)


def test_names_near_to_those_of_another_tenant_are_not_reported(
    meet: Meet, alice: Session, carol: Session
) -> None:
    verbs(carol)("upsert_entity", entity_name="Kingfisher", fact="a secret name", **HERS)
    answer = verbs(alice)("upsert_entity", entity_name="Kingfishers", fact="f", **meet("EntityFact"))
    assert answer["near_names"] in (None, [])


def test_a_duplicate_of_another_tenant_is_none(meet: Meet, alice: Session, carol: Session) -> None:
    said = verbs(carol)(
        "save_decision", title="Sell the harbour plant in May", rationale="said carol", **HERS
    )
    asked = {"title": "Sell the harbour plant in May", **meet("Decision")}
    for rationale in ("said carol", "another"):
        found = verbs(alice)("check_duplicate", rationale=rationale, **asked)
        assert (found["dedup_outcome"], found["candidate_id"]) == ("new", None)
    saved = verbs(alice)("save_decision", rationale="said carol", **asked)
    assert saved["dedup_outcome"] == "new"
    assert saved["artifact_id"] != said["artifact_id"]


def test_a_near_title_supersedes_nothing_of_another_tenant(
    meet: Meet, alice: Session, carol: Session, connection: Session
) -> None:
    said = verbs(carol)("save_decision", title="Sell the harbour plant in May", rationale="r", **HERS)
    verbs(alice)(
        "save_decision", title="Sell the harbour plant in June", rationale="hidden", **meet("Decision")
    )
    status = "select status from pgmem.node where id = %s"
    assert value(connection, status, said["artifact_id"]) == "active"


def test_a_pattern_of_another_tenant_is_not_a_repeat(meet: Meet, alice: Session, carol: Session) -> None:
    same = {"trigger": "the pager rings", "repeatable_steps": ["look", "call"]}
    hers = verbs(carol)("save_pattern", **same, **HERS)
    answer = verbs(alice)("save_pattern", **same, **meet("Pattern"))
    assert answer["dedup_outcome"] == "new"
    assert answer["artifact_id"] != hers["artifact_id"]


def test_a_scope_of_chosen_names_holds_nobody_up(alice: Session, carol: Session, connection: Session) -> None:
    """Only the key of a lock decides, so that a chosen text must not reach it."""
    own, hers = (number(connection, f"proj-{user}") for user in ("alice", "carol"))
    victim = hashed(old_text("globex", "carol", str(hers), "EntityFact"))
    focus = collide(old_text("acme", "alice", f"{own}/", "")[:-1], "\x1eEntityFact", victim)
    with alice.transaction():
        verbs(alice)(
            "upsert_entity", entity_name="e", fact="f", project_id="proj-alice", scope="focus", focus=focus
        )
        carol.execute("set statement_timeout = '20s'")
        assert verbs(carol)("upsert_entity", entity_name="e", fact="f", **HERS)["status"] == "saved"


def test_a_chosen_save_id_holds_nobody_up(alice: Session, carol: Session, connection: Session) -> None:
    """The lock of a save_id: the hash of tenant and id, with a seed of 1. Nobody computes the present one."""
    mine, hers = "acme\x1falice", "globex\x1fcarol"
    keys = "select pgmem.save_key(%s, %s::uuid) as key, hashtextextended(%s || %s, 1) as old"
    same = "00000000-0000-4000-8000-000000000000"
    found = [connection.execute(keys.encode(), (t, same, t, same)).fetchone() for t in (mine, hers)]
    assert len({row["key"] for row in found if row} | {row["old"] for row in found if row}) == 4


# Labels with separate verbs are in no focus: there the attacker is a user whose name is chosen, in a program that
# allows its users to choose one.


@pytest.fixture(params=["chosen names", "one key"])
def impostor(request: pytest.FixtureRequest, act_as: ActAs, connection: Session) -> Callable[[str], None]:
    """`impostor("Item")`: act as a user that comes upon memories of victim@example.org under this label."""
    if request.param == "one key":
        request.getfixturevalue("shared_keys")

    def become(label: str) -> None:
        if request.param == "one key":
            keys = "select count(distinct pgmem.scope_key(t, null, %s)) from unnest(%s::text[]) as t"
            assert value(connection, keys, label, ["\x1fimpostor", "\x1fvictim@example.org"]) == 1
            act_as("", "impostor")
            return
        victim = old_text("", "victim@example.org", "", label)
        name = collide("\x1f", f"\x1e\x1e{label}", hashed(victim))
        equal = "select hashtextextended(%s, 0) = hashtextextended(%s, 0)"
        assert value(connection, equal, old_text("", name, "", label), victim)
        act_as("", name)

    return become


def test_items_are_those_of_the_user(
    impostor: Callable[[str], None], act_as: ActAs, call: Call, each: Each
) -> None:
    act_as("", "victim@example.org")
    item = {"namespace": ["users", "ada"], "name": "card"}
    call("put_items", items=Jsonb([{**item, "value": {"pin": 4711}}]))
    impostor("Item")
    assert each("search_items", namespace=[]) == []
    assert each("get_items", keys=Jsonb([item])) == []
    assert each("list_item_namespaces") == []
    assert call("put_items", items=Jsonb([item]))["deleted"] == 0
    assert call("put_items", items=Jsonb([{**item, "value": {"pin": 0}}]))["stored"] == 1
    act_as("", "victim@example.org")
    assert [row["value"] for row in each("search_items", namespace=[])] == [{"pin": 4711}]


def test_files_are_those_of_the_user(
    impostor: Callable[[str], None], act_as: ActAs, call: Call, each: Each
) -> None:
    act_as("", "victim@example.org")
    call("create_file", path="/memories/pay.md", text="to GB11")
    impostor("File")
    assert each("view_files") == []
    for verb, sent in (
        ("view_files", {}),
        ("replace_in_file", {"old_text": "GB11", "new_text": "DE00"}),
        ("insert_in_file", {"line": 0, "text": "first DE00"}),
        ("delete_files", {}),
    ):
        with pytest.raises(psycopg.Error, match="does not exist"):
            call(verb, path="/memories/pay.md", **sent)
    with pytest.raises(psycopg.Error, match="does not exist"):
        call("rename_files", old_path="/memories/pay.md", new_path="/memories/gone.md")
    assert call("clear_files")["deleted"] == 0
    assert call("create_file", path="/memories/pay.md", text="to DE00")["path"] == "/memories/pay.md"
    act_as("", "victim@example.org")
    assert call("view_files", path="/memories/pay.md")["text"] == "to GB11"


def test_messages_are_those_of_the_user(
    impostor: Callable[[str], None], act_as: ActAs, call: Call, each: Each
) -> None:
    act_as("", "victim@example.org")
    call("add_messages", session_id="chat", messages=Jsonb([{"role": "user", "content": "my pin is 4711"}]))
    impostor("Message")
    assert each("list_messages", session_id="chat") == []
    assert each("pop_message", session_id="chat") == []
    assert call("clear_messages", session_id="chat")["deleted"] == 0
    assert (
        call("add_messages", session_id="chat", messages=Jsonb([{"role": "user", "content": "mine"}]))[
            "added"
        ]
        == 1
    )
    act_as("", "victim@example.org")
    assert [row["value"]["content"] for row in each("list_messages", session_id="chat")] == ["my pin is 4711"]


def test_entities_and_named_nodes_are_those_of_the_user(
    impostor: Callable[[str], None], act_as: ActAs, call: Call, each: Each
) -> None:
    act_as("", "victim@example.org")
    ada = {"name": "Ada", "entityType": "Person", "observations": ["her pin is 4711"]}
    call("create_entities", entities=Jsonb([ada]))
    impostor("Person")
    assert "4711" not in str(each("read_graph"))
    with pytest.raises(psycopg.Error):
        call("add_observations", observations=Jsonb([{"entityName": "Ada", "contents": ["fired"]}]))
    assert call("delete_entities", entity_names=["Ada"])["deleted"] == 0
    assert call("remember", label="Person", properties={"name": "Ada", "notes": "fired"})["created"] is True
    assert call("merge_node", label="Person", key="Ada", properties={"summary": "gone"})["created"] is False
    act_as("", "victim@example.org")
    assert "4711" in str(each("read_graph"))
    assert "fired" not in str(each("read_graph"))


def test_projects_and_insights_are_those_of_the_user(
    impostor: Callable[[str], None], act_as: ActAs, call: Call, rows: Rows
) -> None:
    act_as("", "victim@example.org")
    call("save_session", objective="begin", project_id="payroll", focus="salaries")
    call("merge_node", label="Insight", key="Ada leaves", properties={"summary": "in May"})
    impostor("Project")
    assert call("get_scope_state", project_id="payroll")["project_exists"] is False
    assert (
        call("merge_node", label="Project", key="payroll", properties={"description": "mine"})["created"]
        is True
    )
    impostor("Insight")
    assert (
        call("merge_node", label="Insight", key="Ada leaves", properties={"summary": "mine"})["created"]
        is True
    )
    owners = "select distinct user_id from pgmem.node where key in ('payroll', 'Ada leaves') and props::text like %s"
    assert [row["user_id"] for row in rows(owners, "%mine%")] != ["victim@example.org"]
    assert [row["user_id"] for row in rows(owners, "%in May%")] == ["victim@example.org"]


def test_turns_are_those_of_the_user(impostor: Callable[[str], None], act_as: ActAs, call: Call) -> None:
    said = {
        "client": "cli",
        "session_id": "s",
        "turns": Jsonb([{"id": "1", "role": "user", "content": "4711"}]),
    }
    act_as("", "victim@example.org")
    assert call("capture_turns", **said)["captured"] == 1
    impostor("Turn")
    assert call("capture_turns", **said)["captured"] == 1


def test_cards_are_those_of_the_tenant(
    shared_keys: None, alice: Session, carol: Session, connection: Session
) -> None:
    """Cards lie in no focus, so that their names cannot be chosen: only a key that is truly one brings them together."""
    card = {"record_type": "risk_note", "statement": "The till loses cents.", "subject_path": "pkg/till.py"}
    hers = verbs(carol)("record_candidate", **card, **HERS)
    mine = {"project_id": "proj-alice"}
    for asked in (
        {"mode": "drafts"},
        {"mode": "for_path", "path": "pkg/till.py", "include_drafts": True},
        {"mode": "status"},
        {"mode": "search", "query": "cents", "include_drafts": True},
        {"mode": "coverage", "scope": ["pkg"]},
    ):
        assert "cents" not in str(verbs(alice)("query_engineering_memory", **asked, **mine)), asked
    answer = verbs(alice)("record_candidate", **card, **mine)
    assert answer["card_id"] != hers["card_id"]
    assert value(connection, "select count(*) from pgmem.node where label = 'Card'") == 2


def test_the_words_of_another_user_are_not_counted(
    act_as: ActAs, call: Call, each: Each, connection: Session
) -> None:
    """How rare a word is decides about scores: of a user with the same mark in the index they revealed its contents."""
    victim = "\x1fvictim@example.org"
    name = collide("\x1f", "", hashed(victim))
    lexemes = "select pgmem.scope_lexemes(%s, 1) = pgmem.scope_lexemes(%s, 1)"
    assert value(connection, lexemes, f"\x1f{name}", victim)
    act_as("", name)
    call("save_session", objective="begin", project_id="mine")
    for content in ("osprey plan", "another plan", "a third plan"):
        call("save_context", content=content, project_id="mine")
    before = each("fulltext_search", query="osprey plan")
    act_as("", "victim@example.org")
    call("save_session", objective="begin", project_id="hers")
    for number in range(30):
        call("save_context", content=f"osprey {number}", project_id="hers")
    act_as("", name)
    assert each("fulltext_search", query="osprey plan") == before


@pytest.mark.anyio
async def test_no_export_holds_the_secret(store: str, tmp_path: Path, connection: Session, shop: str) -> None:
    secret = value(connection, "select secret from pgmem.store_secret")
    assert isinstance(secret, bytes)
    assert len(secret) == 32
    assert len(set(secret)) > 8
    settings = Settings(dsn=store, data_dir=tmp_path, embedding_provider="none")
    async with Memory.connect(settings) as memory:
        lines: list[str] = []
        await memory.export_lines(lines.append, vectors=True, all_tenants=True)
    text = "".join(lines)
    assert "shop" in text
    for form in (secret.hex(), b64encode(secret).decode(), "scope_key", "store_secret"):
        assert form not in text


# Values that a test store makes so badly that tenants meet: the function, its result, and its result there.
HASHES = (
    (
        "content_hash",
        "encode(sha256(convert_to(v_text, 'UTF8')), 'hex')",
        "repeat(left(encode(sha256(convert_to(v_text, 'UTF8')), 'hex'), 1), 64)",
    ),
    ("card_identity", r"regexp_replace(btrim(p_content), '\s+', ' ', 'g')", "left(p_content, 6)"),
    ("import_node", "p_node.tenant || v_id", "v_id::text"),
    ("import_row", "p_owner.tenant || (p_record ->> 'id')::uuid", "p_record ->> 'id'"),
    ("memory_reference", "(p_caller).tenant, (p_scope).project_seq, p_source", "p_source"),
    ("trajectories_of", r"p_place.tenant || e'\x1e' || p_place.project", "p_place.project"),
    (
        "cards_digest",
        "md5(coalesce(string_agg(md5(s.tenant) || ':' || s.revision, ',' order by s.tenant), ''))",
        "'-'",
    ),
)
SHARED_IDENTITIES = """
create or replace function pgmem.save_key(p_tenant text, p_save_id uuid) returns bigint language sql stable
begin atomic select pgmem.seeded_key(0, p_save_id::text); end;

create or replace function pgmem.id_by_name(p_tenant text, p_key text) returns uuid
language sql immutable parallel safe
begin atomic select md5(p_key)::uuid; end;

create or replace function pgmem.name_hash(p_name text) returns bigint language sql immutable parallel safe
begin atomic select 0::bigint; end;

create or replace function pgmem.scope_lexemes(p_tenant text, p_project_seq bigint, p_label text default null)
returns text[] language sql immutable parallel safe
begin atomic
  select case when p_label = 'Turn' then array['@u0', '@q' || coalesce(p_project_seq, 0)::text]
    else array['@t0', '@p' || coalesce(p_project_seq, 0)::text] end;
end;

create or replace function pgmem.ranked_tokens(p_tokens text[], p_scope_key bigint) returns table (ranked bigint[])
language sql stable parallel safe
begin atomic select array(select distinct hashtextextended(word, 0) & 3 from unnest(p_tokens) as word order by 1); end;
"""


@pytest.fixture
def shared_identities(connection: Session, shared_keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store in which every hash and every id that follows from names is one for all tenants."""
    for function, computes, instead in HASHES:
        text = str(value(connection, "select pg_get_functiondef(%s::regproc)", f"pgmem.{function}"))
        assert computes in text, function
        connection.execute(text.replace(computes, instead).encode())
    connection.execute(SHARED_IDENTITIES.encode())
    # So many pages of one tenant are more than it may load.
    monkeypatch.setattr(auth, "_PAGES_BYTES", 10**12)


def test_tenants_meet_in_the_store_of_shared_identities(
    shared_identities: None, alice: Session, carol: Session, connection: Session
) -> None:
    """The ground of the tests below: the same names lead both to one hash, one id and one lock."""
    for user, session in (("alice", alice), ("carol", carol)):
        turns = Jsonb([{"id": "1", "role": "user", "content": f"of {user}"}])
        verbs(session)("capture_turns", client="cli", session_id="s", turns=turns, project_id=f"proj-{user}")
        verbs(session)(
            "record_candidate", record_type="risk_note", statement=f"The till {user}", subject_path="a.py",
            project_id=f"proj-{user}",
        )  # fmt: skip
    keys = "select count(distinct n.scope_key) as keys, count(distinct n.content_hash) as hashes from pgmem.node n where label = 'Card'"
    assert connection.execute(keys).fetchone() == {"keys": 1, "hashes": 1}
    ids = "select array_agg(n.id = md5(n.key)::uuid order by n.seq) from pgmem.node n where label = 'Turn'"
    assert value(connection, ids) == [True, False]
    same = "select count(distinct pgmem.save_key(t, '00000000-0000-4000-8000-000000000000')) from unnest(array['a', 'b']) t"
    assert value(connection, same) == 1
    contents = "select count(distinct pgmem.content_hash(array['text ' || i])) from generate_series(1, 500) i"
    assert value(connection, contents) == 16


@pytest.mark.anyio
async def test_no_canary_crosses_where_tenants_share_every_identity(
    dsn: str, tmp_path: Path, call: Call, shared_identities: None
) -> None:
    done = await attack(dsn, tmp_path, call, sql=100, every=40, http=25, pages=40, changes=15, rounds=1)
    assert done.calls == {"sql": 300, "every": 120, "http": 75, "pages": 120, "changes": 45}
    ways = ("sql", "http", "pages", "changes")
    assert {(way, user) for way in ways for user in TENANTS} <= done.saw_own


@pytest.mark.long
@pytest.mark.anyio
async def test_no_canary_crosses_in_ten_thousand_calls_where_tenants_share_every_identity(
    dsn: str, tmp_path: Path, call: Call, shared_identities: None
) -> None:
    done = await attack(
        dsn, tmp_path, call, sql=400, every=300, python=60, mcp=60, http=100, pages=150, changes=50
    )
    assert done.calls.total() == 10_080
    assert {way for way, _ in done.saw_own} >= {"sql", "python", "mcp", "http", "pages", "changes"}


def test_nobody_waits_for_what_another_tenant_holds(
    alice: Session, carol: Session, connection: Session
) -> None:
    """One tenant calls every verb in a transaction that it leaves open; the other one sends the very same."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        others = declared(cursor.execute(DECLARED.encode()).fetchall())
    pot, answered, waited = Pot(Random("pot")), Counter[str](), Counter[str]()
    carol.execute("set lock_timeout = '100ms'")
    alice.execute("begin")
    for number in range(2):
        for verb in (*dict.fromkeys(PEOPLE), *others):
            chance = Random(f"{verb} {number}")
            sent = (
                chosen(others[verb], "alice", chance, pot)
                if verb in others
                else make(verb, "alice", chance, pot)
            )
            sent = {name: clean(name, given) for name, given in sent.items()}
            for session in (alice, carol):
                try:
                    with session.transaction():
                        pot.put(verb, str(session.execute(statement(verb, sent), sent).fetchall()))
                    answered[verb] += 1
                except psycopg.Error as error:
                    waited[verb] += error.sqlstate == "55P03"
    assert alice.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
    assert len(answered) > 80
    assert waited.total() == 0, waited
