"""OpenTelemetry: one span for each call, under the span of the tool. Attributes are names and numbers.

A call that reads or writes memories is under a span of the memory operation, by the semantic conventions of generative
AI (`gen_ai.operation.name`). The server takes the trace of the agent from `traceparent` in `_meta` of a request.

OpenTelemetry's own variables, such as `OTEL_EXPORTER_OTLP_ENDPOINT`, set the destination.
"""

from __future__ import annotations

from pgmem.database.watch import Call, Save, Watcher
from pgmem.errors import InvalidArgument
from pgmem.install.schema import release

_MISSING = "PGMEM_OTEL needs the extra otel: pip install 'pgmem-agent[otel]'."


OPERATIONS = {
    verb: operation
    for operation, verbs in {
        "search_memory": (
            "search_answer search_memory retrieve_context memory_for_prompt memory_surface "
            "fulltext_search search_vectors get_relevant_memory query_engineering_memory search_items "
            "search_nodes get_node find_memory find_memories neighbours get_session memory_history "
            "project_opening what_changes which_files"
        ),
        "create_memory": (
            "capture_turns add_messages create_entities create_file save_session "
            "store_session_with_learnings record_candidate"
        ),
        "upsert_memory": (
            "save_context save_decision save_pattern upsert_entity remember put_items apply_extraction "
            "merge_node import_memories import_records apply_changes"
        ),
        "update_memory": (
            "edit_memory revert relate merge_entities supersede confirm resolve_review settle_conflict "
            "feedback add_observations insert_in_file replace_in_file rename_files retry_save"
        ),
        "delete_memory": (
            "forget forget_by_ttl forget_notes delete_entities delete_observations delete_relations "
            "delete_files clear_messages pop_message"
        ),
        "delete_memory_store": "erase_subject",
    }.items()
    for verb in verbs.split()
}
"""The memory operation that a verb is, as the conventions name it; of the others there is none."""


def tracer() -> Watcher:
    """Return a watcher that makes spans with the tracer provider of this process.

    Raises:
        InvalidArgument: OpenTelemetry is not installed.
    """
    try:
        from opentelemetry import trace
    except ImportError:
        raise InvalidArgument(_MISSING) from None
    spans = trace.get_tracer("pgmem", release())

    def record(seen: Call | Save) -> None:
        if isinstance(seen, Save):
            return
        made = []
        if operation := OPERATIONS.get(seen.verb):
            about = {"gen_ai.operation.name": operation, "gen_ai.provider.name": "pgmem"}
            made.append(
                spans.start_span(
                    operation, kind=trace.SpanKind.INTERNAL, start_time=seen.began_ns, attributes=about
                )
            )
        made.append(
            spans.start_span(
                f"pgmem.{seen.verb}",
                context=trace.set_span_in_context(made[0]) if made else None,
                kind=trace.SpanKind.CLIENT,
                start_time=seen.began_ns,
                attributes={
                    "db.system.name": "postgresql",
                    "db.operation.name": seen.verb,
                    "db.response.returned_rows": seen.rows,
                    "pgmem.outcome": seen.outcome,
                    "pgmem.replica": seen.replica,
                },
            )
        )
        for span in reversed(made):
            if seen.outcome not in ("ok", "refused"):
                span.set_status(trace.Status(trace.StatusCode.ERROR))
                span.set_attribute("error.type", seen.outcome)
            span.end(seen.began_ns + int(seen.seconds * 1e9))

    return record


def export() -> None:
    """Export the spans of this process by OTLP over HTTP, unless a tracer provider is set; for the programs of pgmem.

    Raises:
        InvalidArgument: the SDK or its exporter is not installed.
    """
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise InvalidArgument(_MISSING) from None
    if isinstance(trace.get_tracer_provider(), TracerProvider):
        return
    # Variables OTEL_* override these attributes.
    resource = Resource.create({"service.name": "pgmem", "service.version": release()})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
