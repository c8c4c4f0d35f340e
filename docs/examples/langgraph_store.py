from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from pgmem.integrations.langgraph import PgmemStore
from pgmem.sync import Memory


class State(TypedDict):
    said: str


def listen(state: State, runtime: Runtime[None]) -> None:
    assert runtime.store is not None
    runtime.store.put(("users", "ada"), "drinks", {"said": state["said"], "cups": 10})


builder = StateGraph(State)
builder.add_node("listen", listen)
builder.add_edge(START, "listen")
builder.add_edge("listen", END)

with Memory.connect() as memory:
    store = PgmemStore(memory, ttl={"default_ttl": 60 * 24 * 30})
    builder.compile(store=store).invoke({"said": "I like green tea"})
    for item in store.search(("users",), filter={"cups": {"$gt": 4.99}}):
        print(item.namespace, item.key, item.value["said"])
    print(memory.search_memory("who likes tea?").results[0].title)
