"""A store whose engine lacks a feature: the core installs, saves, and answers."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.rows import dict_row

from pgmem import registry
from pgmem.install import schema
from tests.conftest import caller, past_the_pooler


@pytest.mark.parametrize("feature", ["cards", "feed"])
def test_the_engine_installs_without_the_chapters_of_a_feature(
    empty: str, monkeypatch: pytest.MonkeyPatch, feature: str
) -> None:
    """scripts/without deletes the folders of code too, and runs the tests of the core."""
    gone = {
        feature,
        *(name.rpartition(".")[2] for name, needs in registry.by_feature("NEEDS") if feature in needs),
    }
    left = tuple(
        path for path in schema._chapters() if "features" not in path.parts or path.parent.name not in gone
    )
    monkeypatch.setattr(schema, "_chapters", lambda: left)
    for cached in (schema.digest, schema._heads):
        cached.cache_clear()
    try:
        schema.upgrade(empty)
    finally:
        for cached in (schema.digest, schema._heads):
            cached.cache_clear()
    with psycopg.connect(past_the_pooler(empty), autocommit=True, row_factory=dict_row) as connection:
        call = caller(connection)
        call("save_session", objective="Open the shop", project_id="shop")
        saved = call("save_context", content="Tea is sold in the morning.", topic="Tea", project_id="shop")
        found = connection.execute("select id from pgmem.search_memory('tea', 5, 'shop')").fetchall()
        assert [row["id"] for row in found] == [saved["artifact_id"]]
        assert call("retrieve_context", project_id="shop")["items"]
        assert call("memory_health", project_id="shop")["saves_open"] == 0
        assert call("run_hygiene", project_id="shop")
        assert call("reflect")["created"] == 0
