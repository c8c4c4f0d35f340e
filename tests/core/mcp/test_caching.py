"""The part of an answer that a client may keep: only for the one who asked, since memories belong to somebody."""

from __future__ import annotations

import pytest
from mcp.client.client import Client

from tests.core.mcp.conftest import Answer

pytestmark = pytest.mark.anyio


async def test_every_read_is_private_to_who_asked(client: Client, answer: Answer) -> None:
    await answer("save_session", objective="Open", project_id="shop")
    read = [
        await client.list_tools(),
        await client.list_resources(),
        await client.list_resource_templates(),
        await client.list_prompts(),
        await client.read_resource("pgmem://schema"),
        await client.read_resource("pgmem://project/shop"),
    ]
    scopes = {type(result).__name__: getattr(result, "cache_scope", None) for result in read}
    assert set(scopes.values()) == {"private"}, scopes
