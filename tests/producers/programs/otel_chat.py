"""Chats by the OpenAI client under its official instrumentation. Arguments: address, model."""

import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)

from openai import APIStatusError, OpenAI  # noqa: E402 - instrumented once the provider is set
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor  # noqa: E402

OpenAIInstrumentor().instrument()
client = OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="none", max_retries=0)
asked = {"model": sys.argv[2], "max_tokens": 6}
client.chat.completions.create(messages=[{"role": "user", "content": "one two"}], **asked)
for _ in client.chat.completions.create(
    messages=[{"role": "user", "content": "one two"}],
    stream=True,
    stream_options={"include_usage": True},
    **asked,
):
    pass
try:
    client.chat.completions.create(messages=[{"role": "user", "content": "x " * 3000}], **asked)
except APIStatusError as error:
    sys.stdout.write(f"{error.status_code}\n")
provider.force_flush()
provider.shutdown()
