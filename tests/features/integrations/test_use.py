"""A memory of an integration is one like any other: found, dated, kept apart, exported, erased."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from anthropic.lib.tools import ToolError
from hypothesis import HealthCheck, given
from hypothesis import settings as tried
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore
from psycopg.rows import dict_row
from typing_extensions import TypedDict

from pgmem import InvalidArgument, MemoryNotFound, MemoryNotOpen, MemoryScope, NotPermitted, Settings
from pgmem.features.integrations.anthropic import MemoryTool
from pgmem.features.integrations.langgraph import PgmemStore
from pgmem.features.integrations.openai_agents import PgmemSession
from pgmem.sync import Memory as SyncMemory
from tests.conftest import differences, new_database

ADA = MemoryScope(org_id="acme", user_id="ada")
BEN = MemoryScope(org_id="acme", user_id="ben")


@pytest.fixture
def tool(sync_memory: SyncMemory) -> Callable[..., str]:
    """`tool("create", path=…)`: a command as the model sends it."""
    made = MemoryTool(sync_memory)
    return lambda command, **given: str(made.call({"command": command, **given}))


class TestItems:
    """PgmemStore beyond LangGraph's own tests."""

    def test_filters_compare_numbers_as_numbers(self, sync_memory: SyncMemory) -> None:
        """LangGraph's own PostgreSQL store compares texts, by which 10 is not above 4.99."""
        store = PgmemStore(sync_memory)
        for price in (3, 4.99, 10, 100):
            store.put(("shop",), f"at {price}", {"price": price, "tag": "tea"})
        found = store.search(("shop",), filter={"price": {"$gt": 4.99}, "tag": "tea"})
        assert {item.value["price"] for item in found} == {10, 100}
        between = store.search(("shop",), filter={"price": {"$gte": 4.99, "$lt": 100}})
        assert {item.value["price"] for item in between} == {4.99, 10}
        assert store.search(("shop",), filter={"missing": {"$ne": 1}}, limit=9) != []
        with pytest.raises(InvalidArgument, match=r"Unsupported operator: \$in; send \$eq"):
            store.search(("shop",), filter={"price": {"$in": [3]}})

    def test_without_an_index_words_rank_and_nothing_is_left_out(self, sync_memory: SyncMemory) -> None:
        store = PgmemStore(sync_memory)
        for name, text in {"a": "green tea", "b": "black coffee", "c": "tea with milk"}.items():
            store.put(("drinks",), name, {"about": {"text": text}})
        found = store.search(("drinks",), query="which coffee?")
        assert found[0].key == "b"
        assert [item.score is not None for item in found] == [True, False, False]

    def test_one_bad_operation_fails_alone(self, sync_memory: SyncMemory) -> None:
        store = PgmemStore(sync_memory)
        results: list[object] = []

        def put(key: str) -> None:
            try:
                results.append(store.batch([PutOp(("n",), key, {"k": key})]))
            except InvalidArgument as error:
                results.append(error)

        threads = [threading.Thread(target=put, args=(key,)) for key in ("a", "x" * 600, "b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(isinstance(result, InvalidArgument) for result in results) == 1
        assert {item.key for item in store.search(("n",))} == {"a", "b"}

    def test_a_graph_reads_and_writes_the_store(self, sync_memory: SyncMemory) -> None:
        class State(TypedDict):
            said: str

        def listen(state: State, runtime: Runtime[None]) -> State:
            assert runtime.store is not None
            runtime.store.put(("users", "ada"), "last", {"said": state["said"]})
            return state

        builder = StateGraph(State)
        builder.add_node("listen", listen)
        builder.add_edge(START, "listen")
        builder.add_edge("listen", END)
        builder.compile(store=PgmemStore(sync_memory)).invoke({"said": "I like green tea"})
        answer = sync_memory.search_memory("who likes tea?")
        assert [(row.label, row.title) for row in answer.results] == [("Item", "users/ada/last")]

    def test_a_value_that_could_not_be_read_back_is_refused(self, sync_memory: SyncMemory) -> None:
        store = PgmemStore(sync_memory)
        with pytest.raises(InvalidArgument, match=r"holds the character U\+0000"):
            store.put(("n",), "k", {"text": "a\0b"})
        value = {
            "text": r"written as \u0001 and \\u0001",
            "big": 2**60,
            "float": 0.1,
            "none": None,
            "é": [[], {}],
        }
        store.put(("n",), "k", value)
        item = store.get(("n",), "k")
        assert item is not None
        assert item.value == value

    def test_an_item_keeps_its_time_to_live_without_versions(self, sync_memory: SyncMemory, dsn: str) -> None:
        store = PgmemStore(sync_memory, ttl={"default_ttl": 10})
        store.put(("n",), "k", {"v": 1})
        for _ in range(3):
            assert store.get(("n",), "k", refresh_ttl=True) is not None
        (row,) = sync_memory.search_items(["n"])
        assert len(sync_memory.memory_history("Item", str(row.id)).versions) == 1
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("update pgmem.node set valid_to = now() - interval '1 s' where label = 'Item'")
        assert store.get(("n",), "k") is None
        assert sync_memory.search_memory("k").results == []
        assert (store.sweep_ttl(), store.sweep_ttl()) == (1, 0)

    def test_project_items_are_found_in_the_project_and_never_in_its_context(
        self, sync_memory: SyncMemory
    ) -> None:
        with pytest.raises(MemoryNotFound, match="No project 'shop' found"):
            PgmemStore(sync_memory, project_id="shop").put(("n",), "k", {"text": "sell tea"})
        sync_memory.save_session("Open the shop", "shop")
        PgmemStore(sync_memory, project_id="shop").put(("n",), "k", {"text": "sell tea"})
        found = sync_memory.search_memory("tea", project_id="shop").results
        assert found[0].label == "Item"
        assert {item.label for item in sync_memory.retrieve_context("shop", "project").items} == {"Session"}
        assert PgmemStore(sync_memory).get(("n",), "k") is None


NAMES = st.sampled_from(["a", "A", "b", "a_b", "a%", "é", "*x", '"', "\\", "a b"])
NAMESPACES = st.lists(NAMES, min_size=1, max_size=3).map(tuple)
VALUES = st.dictionaries(
    st.sampled_from(["n", "t", "l"]),
    st.one_of(
        st.integers(-20, 20), st.sampled_from(["x", "y"]), st.lists(st.integers(0, 2), max_size=2), st.none()
    ),
    max_size=3,
)
FILTERS = st.dictionaries(
    st.sampled_from(["n", "t"]), st.one_of(st.integers(-20, 20), st.sampled_from(["x", "y"])), max_size=1
)


@tried(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    puts=st.lists(st.tuples(NAMESPACES, NAMES, st.one_of(st.none(), VALUES)), max_size=12),
    prefix=st.lists(NAMES, max_size=2).map(tuple),
    asked=FILTERS,
    depth=st.one_of(st.none(), st.integers(1, 3)),
)
def test_the_store_answers_as_the_store_in_memory_does(
    sync_memory: SyncMemory, puts: Any, prefix: tuple[str, ...], asked: Any, depth: int | None
) -> None:
    mine, reference = PgmemStore(sync_memory), InMemoryStore()
    for item in mine.search((), limit=1000):
        mine.delete(item.namespace, item.key)
    stores: tuple[BaseStore, ...] = (mine, reference)
    for namespace, key, value in puts:
        for store in stores:
            store.batch([PutOp(namespace, key, value)])
    found = [
        sorted(
            (item.namespace, item.key, json.dumps(item.value, sort_keys=True))
            for item in store.search(prefix, filter=asked, limit=99)
        )
        for store in stores
    ]
    assert found[0] == [(n, k, v) for n, k, v in found[1]]
    # The store in memory lists a namespace whose items are all deleted.
    left = {item.namespace[:depth] for item in reference.search((), limit=999)}
    assert set(mine.list_namespaces(max_depth=depth, limit=999)) == left
    for namespace, key, _ in puts:
        here, there = mine.get(namespace, key), reference.get(namespace, key)
        assert (here and here.value) == (there and there.value)


class TestFiles:
    """MemoryTool beyond Anthropic's own tests."""

    def test_an_edit_is_a_version_and_a_delete_can_be_reverted(
        self, tool: Callable[..., str], sync_memory: SyncMemory
    ) -> None:
        path = "/memories/notes/tea.md"
        tool("create", path=path, file_text="Green tea\nBlack tea\n")
        tool("str_replace", path=path, old_str="Black", new_str="White")
        tool("insert", path=path, insert_line=2, insert_text="Oolong")
        tool("delete", path="/memories/notes")
        versions = sync_memory.memory_history("File", path).versions
        assert [v.properties["text"] for v in versions[:3]] == [
            "Green tea\nBlack tea\n",
            "Green tea\nWhite tea\n",
            "Green tea\nWhite tea\nOolong\n",
        ]
        assert versions[3].status == "archived"
        with pytest.raises(ToolError, match="does not exist"):
            tool("view", path=path)
        sync_memory.revert("File", path, 1)
        assert tool("view", path=path).endswith("     1\tGreen tea\n     2\tBlack tea\n     3\t")

    def test_history_goes_with_a_renamed_file(
        self, tool: Callable[..., str], sync_memory: SyncMemory
    ) -> None:
        tool("create", path="/memories/b.md", file_text="earlier b")
        tool("delete", path="/memories/b.md")
        tool("create", path="/memories/a/a.md", file_text="one")
        tool("str_replace", path="/memories/a/a.md", old_str="one", new_str="two")
        tool("rename", old_path="/memories/a/a.md", new_path="/memories/b.md")
        (file,) = sync_memory.view_files("/memories/b.md")
        versions = sync_memory.memory_history("File", str(file.id)).versions
        assert [v.properties["text"] for v in versions] == ["one", "two", "two"]
        sync_memory.revert("File", "/memories/b.md", 1)
        (file,) = sync_memory.view_files("/memories/b.md")
        assert (file.path, file.text) == ("/memories/b.md", "one")

    def test_of_edits_at_once_none_is_lost(self, tool: Callable[..., str], sync_memory: SyncMemory) -> None:
        """The reference tool reads, changes and writes without a lock."""
        tool("create", path="/memories/log.md", file_text="")

        def write(name: str) -> None:
            for number in range(5):
                tool("insert", path="/memories/log.md", insert_line=0, insert_text=f"{name}{number}")

        threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (file,) = sync_memory.view_files("/memories/log.md")
        assert sorted((file.text or "").split()) == sorted(f"{n}{i}" for n in "abcd" for i in range(5))

    def test_a_directory_shows_two_levels_with_sizes(self, tool: Callable[..., str]) -> None:
        empty = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n0B\t/memories"
        assert tool("view", path="/memories") == empty
        for path, text in {"a/b/c.md": "12345", "a/d.md": "1" * 2048, ".hidden": "x", "z.md": "123"}.items():
            tool("create", path=f"/memories/{path}", file_text=text)
        assert tool("view", path="/memories").splitlines()[1:] == [
            "2.0K\t/memories",
            "2.0K\t/memories/a/",
            "5B\t/memories/a/b/",
            "2K\t/memories/a/d.md",
            "3B\t/memories/z.md",
        ]

    @pytest.mark.parametrize(
        ("command", "given", "said"),
        [
            ("create", {"path": "/memoriesx/a", "file_text": ""}, "Path must start with /memories"),
            ("create", {"path": "/memories/a/../../b", "file_text": ""}, "would escape /memories"),
            ("create", {"path": "/memories/f.md/g.md", "file_text": ""}, "/memories/f.md is a file"),
            ("create", {"path": "/memories", "file_text": ""}, "File /memories already exists"),
            ("str_replace", {"path": "/memories", "old_str": "a", "new_str": "b"}, "is not a file"),
            (
                "str_replace",
                {"path": "/memories/f.md", "old_str": "", "new_str": "b"},
                "old_str must not be empty",
            ),
            ("rename", {"old_path": "/memories/d", "new_path": "/memories/d/e"}, "lies below"),
            ("create", {"path": "/memories/n.md", "file_text": "a\0b"}, r"U\+0000"),
        ],
    )
    def test_a_mistake_is_reported_and_changes_nothing(
        self, tool: Callable[..., str], command: str, given: dict[str, str], said: str
    ) -> None:
        tool("create", path="/memories/f.md", file_text="x")
        tool("create", path="/memories/d/g.md", file_text="y")
        before = tool("view", path="/memories")
        with pytest.raises(ToolError, match=said):
            tool(command, **given)
        assert tool("view", path="/memories") == before


class TestMessages:
    """PgmemSession beyond the SDK's own tests."""

    @pytest.mark.anyio
    async def test_an_item_that_cannot_be_stored_leaves_nothing_behind(self, sync_memory: SyncMemory) -> None:
        session = PgmemSession("s", sync_memory)
        with pytest.raises(TypeError):
            await session.add_items([{"role": "user", "content": "a"}, {"role": "user", "content": object()}])  # type: ignore[list-item,misc]
        assert await session.get_items() == []

    @pytest.mark.anyio
    @pytest.mark.parametrize(
        ("output", "kept"), [("PK\x03\x04\x00", "PK\x03\x04"), ("half \ud83d here", "half \ufffd here")]
    )
    async def test_the_output_of_a_tool_that_no_store_keeps_ends_no_run(
        self, sync_memory: SyncMemory, caplog: pytest.LogCaptureFixture, output: str, kept: str
    ) -> None:
        session = PgmemSession("s", sync_memory)
        found = {"type": "function_call_output", "call_id": "c", "output": output}
        await session.add_items([cast(Any, found), {"role": "user", "content": "a\r\nb"}])
        assert await session.get_items() == [{**found, "output": kept}, {"role": "user", "content": "a\r\nb"}]
        assert len([record for record in caplog.records if "is changed" in record.message]) == 1

    @pytest.mark.anyio
    async def test_a_cleared_session_begins_again(self, sync_memory: SyncMemory) -> None:
        session = PgmemSession("s", sync_memory, session_settings={"limit": 2})
        await session.add_items([{"role": "user", "content": str(n)} for n in range(3)])
        await session.clear_session()
        await session.add_items([{"role": "user", "content": str(n)} for n in range(3, 6)])
        assert [item["content"] for item in await session.get_items()] == ["4", "5"]  # type: ignore[typeddict-item]
        assert await PgmemSession("s%", sync_memory).get_items() == []

    @pytest.mark.anyio
    async def test_a_closed_memory_raises_a_clear_error(self, settings: Settings) -> None:
        memory = SyncMemory.connect(settings)
        with pytest.raises(MemoryNotOpen, match="is not open"):
            await PgmemSession("s", memory).get_items()
        memory.open()
        memory.close()
        with pytest.raises(MemoryNotOpen, match="is closed"):
            await PgmemSession("s", memory).add_items([{"role": "user", "content": "a"}])


def fill(memory: SyncMemory) -> None:
    """One memory by each integration."""
    PgmemStore(memory).put(("users",), "k", {"text": "the item of lute players"})
    MemoryTool(memory).call(
        {"command": "create", "path": "/memories/f.md", "file_text": "the file of lute players"}
    )
    memory.add_messages("s", [{"role": "user", "content": "the message of lute players"}])
    memory.create_entities(
        [{"name": "Lute", "entityType": "instrument", "observations": ["of lute players"]}]
    )


def labels(memory: SyncMemory) -> set[str]:
    return {row.label for row in memory.search_memory("lute players", limit=20).results}


ALL = {"Item", "File", "Message", "Concept"}


def test_search_finds_what_every_integration_wrote(sync_memory: SyncMemory) -> None:
    fill(sync_memory)
    assert labels(sync_memory) == ALL


def test_tenants_do_not_see_each_other_through_any_integration(sync_memory: SyncMemory) -> None:
    ada, ben = sync_memory.acting_as(ADA), sync_memory.acting_as(BEN)
    fill(ada)
    assert labels(ada) == ALL
    assert labels(ben) == set()
    assert PgmemStore(ben).search(()) == []
    assert PgmemStore(ben).list_namespaces() == []
    assert ben.view_files("/memories") == []
    assert ben.list_messages("s") == []
    assert ben.pop_message("s") is None
    assert ben.read_graph().entities == []
    (row,) = ada.search_items()
    assert ben.renew_items([row.id]) == 0


def test_an_agent_does_not_change_what_a_more_trusted_source_wrote(sync_memory: SyncMemory) -> None:
    fill(sync_memory)
    agent = sync_memory.acting_as(source="mcp")
    changes: tuple[Callable[[], object], ...] = (
        lambda: PgmemStore(agent).put(("users",), "k", {"text": "mine"}),
        lambda: PgmemStore(agent).delete(("users",), "k"),
        lambda: agent.insert_in_file("/memories/f.md", 0, "mine"),
        lambda: agent.delete_files("/memories/f.md"),
        lambda: agent.pop_message("s"),
        lambda: agent.add_observations([{"entityName": "Lute", "contents": ["mine"]}]),
        lambda: agent.delete_entities(["Lute"]),
    )
    for change in changes:
        with pytest.raises(NotPermitted, match="was written by a more trusted source"):
            change()
    assert labels(sync_memory) == ALL


def test_an_export_carries_what_every_integration_wrote(
    sync_memory: SyncMemory, store: str, server: str, template: str, tmp_path: Path
) -> None:
    fill(sync_memory)
    sync_memory.create_relations([{"from": "Lute", "to": "Wood", "relationType": "made_of"}])
    lines: list[str] = []
    with SyncMemory.connect(Settings(dsn=store, data_dir=tmp_path / "store")) as itself:
        itself.admin.export_lines(lines.append)
    with new_database(server, template) as other:
        settings = Settings(dsn=other, data_dir=tmp_path / "other", retry_wait_s=0)
        with SyncMemory.connect(settings) as copy:
            copy.admin.import_lines("".join(lines).splitlines(keepends=True))
            assert labels(copy) == ALL
            item = PgmemStore(copy).get(("users",), "k")
            assert item is not None
            assert item.value == {"text": "the item of lute players"}
            assert [file.path for file in copy.view_files()] == ["/memories/f.md"]
            assert [m.value for m in copy.list_messages("s")] == [
                {"role": "user", "content": "the message of lute players"}
            ]
            assert copy.read_graph() == sync_memory.read_graph()


def test_an_erased_subject_is_deleted_from_every_integration(sync_memory: SyncMemory) -> None:
    ada = sync_memory.acting_as(ADA)
    fill(ada)
    sync_memory.admin.erase_subject("acme", "ada", dry_run=False, by="the test")
    assert labels(ada) == set()
    assert (PgmemStore(ada).search(()), ada.view_files(), ada.list_messages("s")) == ([], [], [])


def test_the_graph_follows_every_integration(sync_memory: SyncMemory, dsn: str) -> None:
    fill(sync_memory)
    sync_memory.create_relations(
        [{"from": "Lute", "to": "Wood", "relationType": t} for t in ("made_of", "USES", "x")]
    )
    sync_memory.delete_relations([{"from": "Lute", "to": "Wood", "relationType": "x"}])
    sync_memory.rename_files("/memories/f.md", "/memories/g.md")
    sync_memory.pop_message("s")
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        assert differences(connection) == []
