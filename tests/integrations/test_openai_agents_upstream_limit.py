"""The SDK's own tests of its sessions (test_session_limit.py), run against PgmemSession."""

from __future__ import annotations

import agents
import pytest

from pgmem.sync import Memory as SyncMemory
from tests.integrations import openai_upstream as theirs
from tests.integrations.upstream import applying

pytestmark = pytest.mark.anyio

SUITE = "openai-agents-session"
_module = theirs.suite("test_session_limit")
globals().update(applying(SUITE, _module, without=("pytest", "pytestmark")))


@pytest.fixture(autouse=True)
def _here(dsn: str, sync_memory: SyncMemory) -> None:
    agents.set_tracing_disabled(True)
    theirs.Here.dsn, theirs.Here.sync_memory = dsn, sync_memory
