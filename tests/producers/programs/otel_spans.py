"""Spans by the OpenTelemetry SDK. Arguments: how many, model; the rest by OTEL_ variables."""

import importlib
import os
import sys
import time

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

form = "json" if os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") == "http/json" else "proto"
exporter = importlib.import_module(f"opentelemetry.exporter.otlp.{form}.http.trace_exporter")
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(exporter.OTLPSpanExporter()))
tracer = provider.get_tracer("app")
for number in range(int(sys.argv[1])):
    with tracer.start_as_current_span("rank", kind=trace.SpanKind.SERVER) as span:
        span.set_attribute("ml.model.name", sys.argv[2])
        span.set_attribute("ml.request.id", f"sdk-{number}")
        span.set_attribute("ml.input.age", 40 + number)
        span.set_attribute("ml.score", 0.25)
        with tracer.start_as_current_span("search") as stage:
            stage.set_attribute("ml.stage", "retrieval")
            time.sleep(0.01)
provider.force_flush()
provider.shutdown()
