"""OpenTelemetry spans: one a call, below the tool's, with names and numbers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.types import CallToolRequest, CallToolRequestParams, CallToolResult
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pgmem._verbs import VERBS
from pgmem.errors import InvalidArgument
from pgmem.mcp.server import create_server
from pgmem.settings import Settings
from pgmem.telemetry import tracing
from tests.conftest import output_of

pytestmark = pytest.mark.anyio
CANARY = "xylophone"


@pytest.fixture(scope="module")
def provider() -> TracerProvider:
    """The provider of this process: it can be set once."""
    provider = TracerProvider()
    trace.set_tracer_provider(provider)
    return provider


@pytest.fixture
def exporter(provider: TracerProvider) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield exporter
    exporter.shutdown()


async def test_a_call_is_a_span_below_that_of_its_tool_and_says_nothing_of_its_contents(
    exporter: InMemorySpanExporter, dsn: str, tmp_path: Path
) -> None:
    settings = Settings(dsn=dsn, data_dir=tmp_path, otel=True, embedding_provider="none")
    async with Client(create_server(settings)) as client:
        await client.call_tool("save_session", {"objective": CANARY, "project_id": CANARY})
        await client.call_tool("search_memory", {"query": CANARY})
        await client.call_tool("neighbours", {"label": CANARY, "key": CANARY})
    spans = exporter.get_finished_spans()
    by_name = {span.name: span for span in spans}
    tool, call = by_name["tools/call search_memory"], by_name["pgmem.search_answer"]
    assert call.parent is not None
    (operation,) = (span for span in spans if span.context.span_id == call.parent.span_id)
    assert operation.parent is not None
    assert operation.parent.span_id == tool.context.span_id
    assert operation.name == "search_memory"
    assert dict(operation.attributes or {}) == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.provider.name": "pgmem",
    }
    assert call.context.trace_id == tool.context.trace_id
    assert call.attributes is not None
    assert dict(call.attributes) == {
        "db.system.name": "postgresql",
        "db.operation.name": "search_answer",
        "db.response.returned_rows": 1,
        "pgmem.outcome": "ok",
        "pgmem.replica": False,
    }
    assert call.start_time is not None
    assert call.end_time is not None
    assert tool.start_time is not None
    assert tool.start_time <= call.start_time < call.end_time
    refused = by_name["pgmem.neighbours"]
    assert refused.attributes is not None
    assert refused.attributes["pgmem.outcome"] == "refused"
    assert CANARY not in "".join(span.to_json() for span in spans)


async def test_one_trace_goes_from_the_agent_by_the_tool_to_the_database(
    exporter: InMemorySpanExporter, dsn: str, tmp_path: Path
) -> None:
    """The agent sends its place in the trace as traceparent in `_meta`."""
    settings = Settings(dsn=dsn, data_dir=tmp_path, otel=True, embedding_provider="none")
    trace_id, agent_span = 0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7
    meta = {"traceparent": f"00-{trace_id:032x}-{agent_span:016x}-01"}
    # The client of the SDK has a span too, which would be the parent of the server's; this request has only
    # its _meta.
    params = CallToolRequestParams.model_validate(
        {
            "name": "save_decision",
            "arguments": {"title": CANARY, "rationale": CANARY, "project_id": "shop"},
            "_meta": meta,
        }
    )
    async with Client(create_server(settings)) as client:
        await client.call_tool("save_session", {"objective": "Open", "project_id": "shop"})
        exporter.clear()
        await client.session.send_request(CallToolRequest(params=params), CallToolResult)
    ours = {span.name: span for span in exporter.get_finished_spans() if span.context.trace_id == trace_id}
    tool, operation, call = (
        ours[name] for name in ("tools/call save_decision", "upsert_memory", "pgmem.save_decision")
    )
    for child, parent in ((operation, tool), (call, operation)):
        assert child.parent is not None
        assert child.parent.span_id == parent.context.span_id
    assert CANARY not in "".join(span.to_json() for span in ours.values())


def test_every_memory_operation_is_of_a_verb_and_named_by_the_conventions() -> None:
    known = {"create_memory", "update_memory", "upsert_memory", "search_memory", "delete_memory"}
    assert set(tracing.OPERATIONS) <= set(VERBS)
    assert set(tracing.OPERATIONS.values()) == known | {"delete_memory_store"}
    tools = {
        name
        for name, verb in VERBS.items()
        if {"core", "graph"} & set(verb.toolsets) and verb.effect == "read"
    }
    assert tools - set(tracing.OPERATIONS) == {"get_scope_state"}


async def test_without_the_setting_no_span_is_made_of_a_call(
    exporter: InMemorySpanExporter, dsn: str, tmp_path: Path
) -> None:
    async with Client(
        create_server(Settings(dsn=dsn, data_dir=tmp_path, embedding_provider="none"))
    ) as client:
        await client.call_tool("get_scope_state", {"project_id": "shop"})
    assert not [span.name for span in exporter.get_finished_spans() if span.name.startswith("pgmem.")]


def test_a_provider_that_is_set_is_kept(provider: TracerProvider) -> None:
    tracing.export()
    assert trace.get_tracer_provider() is provider


def test_without_the_extra_the_setting_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(InvalidArgument, match=r"pip install 'pgmem-agent\[otel\]'"):
        tracing.export()


def test_a_server_that_uses_neither_imports_neither_metrics_nor_the_sdk() -> None:
    script = (
        "import sys, pgmem.mcp.run; from pgmem.mcp.server import create_server; from pgmem.settings import load;"
        "create_server(load()); print([m for m in ('prometheus_client', 'opentelemetry.sdk', 'pythonjsonlogger',"
        " 'pgmem.telemetry.metrics') if m in sys.modules])"
    )
    assert output_of(sys.executable, "-c", script) == "[]\n"
