"""A memory for code without await, on this test's database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pgmem import Settings
from pgmem.sync import Memory as SyncMemory


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "asyncio: of the tests of other projects; anyio runs them here")


@pytest.fixture
def settings(dsn: str, tmp_path: Path) -> Settings:
    # Their tests with threads wait for ever once a call fails, which on a busy machine a time limit would do.
    return Settings(
        dsn=dsn, data_dir=tmp_path, prepare=True, retry_wait_s=0, retrieval_timeout_s=300, write_timeout_s=300
    )


@pytest.fixture
def openai_agents(dsn: str, sync_memory: SyncMemory) -> None:
    """The store of the sessions of the SDK's own tests."""
    import agents

    from tests.features.integrations.openai_upstream import Here

    agents.set_tracing_disabled(True)
    Here.dsn, Here.sync_memory = dsn, sync_memory


@pytest.fixture
def sync_memory(settings: Settings) -> Iterator[SyncMemory]:
    with SyncMemory.connect(settings) as memory:
        yield memory
