import asyncio

from array_store import ArrayVectorStore
from networkx_store import NetworkXGraphStore

from pgmem.embeddings import create_provider
from pgmem.stores import HybridSearchEngine, create_stores

CONFIG = {"GRAPH_BACKEND": "networkx", "VECTOR_BACKEND": "array", "EMBEDDING_PROVIDER": "static"}
TOOLS = {
    "hammer": "strikes nails into wood",
    "saw": "cuts planks",
    "kettle": "boils water for tea",
}


async def main() -> None:
    graph, vector = create_stores(CONFIG, {"networkx": NetworkXGraphStore, "array": ArrayVectorStore})
    embedder = create_provider(CONFIG)
    for name, description in TOOLS.items():
        await graph.merge_node("Tool", "name", name, {"description": description})
        await vector.store_vectors([(f"Tool/{name}", await embedder.embed(f"{name} {description}"))])
    await graph.merge_relation("Tool", "name", "hammer", "RELATED_TO", "Tool", "name", "saw")

    found = await HybridSearchEngine(graph, vector, embedder).search(
        "what do I need to build a wooden box?", limit=2
    )
    print(found.search_mode.mode)
    for hit in found:
        print(hit.label, hit.title, "has a neighbour among the results" if hit.graph_boost else "")


asyncio.run(main())
