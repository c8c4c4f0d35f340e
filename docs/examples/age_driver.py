import os

import age

graph = age.connect(graph="pgmem_graph", dsn=os.environ["PGMEM_DSN"])
rows = graph.execCypher(
    "MATCH p = (d:Decision)-[:BELONGS_TO]->(:Project {key: %s}) RETURN d, p ORDER BY d.title",
    cols=["d", "p"],
    params=("shop",),
)
for decision, path in rows:
    print(decision.label, decision["title"], "|", len(path), "parts, the last is", path[2].properties["key"])
graph.close()
