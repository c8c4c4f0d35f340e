"""OpenTelemetry: one span for each call, under the span of the tool. Attributes are names and numbers.

OpenTelemetry's own variables, such as `OTEL_EXPORTER_OTLP_ENDPOINT`, set the destination.
"""

from __future__ import annotations

from pgmem.database.watch import Call, Save, Watcher
from pgmem.errors import InvalidArgument
from pgmem.install.schema import release

_MISSING = "PGMEM_OTEL needs the extra otel: pip install 'pgmem-agent[otel]'."


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
        span = spans.start_span(
            f"pgmem.{seen.verb}",
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
