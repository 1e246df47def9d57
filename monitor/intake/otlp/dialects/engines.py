"""Spans `llm_request` of vLLM and SGLang: one a request, with names and seconds of their own. Pure.

Their first-token time begins at the arrival, queue included. Reference: vLLM `vllm/tracing.py`,
SGLang `sglang/srt/tracing`. gRPC is their default: set the protocol to http/protobuf.
"""

from __future__ import annotations

from typing import Any

from monitor.intake.claimed_tags import claimed_tags
from monitor.intake.otlp.dialects.genai import TOKENS
from monitor.intake.otlp.trace import Trace, base_record
from monitor.intake.otlp.wire import Span
from monitor.intake.producer_record import ProducerRecord

_LATENCY = "gen_ai.latency."
_TIMES = {
    "time_in_queue": "queue_time",
    "time_to_first_token": "first_token_time",
    "time_in_model_prefill": "prefill_time",
    "time_in_model_decode": "decode_time",
    "time_in_model_inference": "compute_time",
    "e2e": "latency",
}


class Engines:
    """Spans of the engine itself."""

    name = "engine"

    def is_request(self, span: Span) -> bool:
        """Any latency of the engine's own says so."""
        return any(name.startswith(_LATENCY) for name in span.attributes)

    def is_part(self, span: Span) -> bool:  # noqa: ARG002 - the protocol asks
        """The engine sends one span a request."""
        return False

    def read(self, span: Span, trace: Trace) -> ProducerRecord:  # noqa: ARG002
        """The request as the engine saw it."""
        said = span.attributes
        fields: dict[str, Any] = {}
        for name, field in _TIMES.items():
            value = said.get(_LATENCY + name)
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
                fields[field] = value * 1_000
        if "first_token_time" in fields:
            fields |= {"first_token_from": "arrival"}
        for field, names in TOKENS.items():
            told = next((said[n] for n in names if isinstance(said.get(n), (int, float))), None)
            if told is not None:
                fields[field] = told
        made = fields.get("output_tokens")
        if isinstance(made, int) and made > 1 and "decode_time" in fields:
            fields["inter_token_time"] = fields["decode_time"] / (made - 1)
        request_id = said.get("gen_ai.request.id")
        return base_record(
            span,
            (said.get("gen_ai.response.model"), said.get("gen_ai.request.model")),
            request_id=request_id if isinstance(request_id, str) else None,
            fields=fields,
            request_tags=claimed_tags(said),
        )


ENGINES = Engines()
