"""Spans of Triton: `InferRequest`, the model's own span under it, `compute` under that. Pure.

Times stand in events of the spans. Steps of an ensemble are model spans under a model span and
become its stages. Reference: Triton 24.10, trace mode opentelemetry, level TIMESTAMPS.

Spans of Triton carry no status. A request that a full queue refused lacks REQUEST_END; one that its
backend failed looks like an answered one; one that timed out in the queue looks like an answer from
the response cache. Seen with 2.51.0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from monitor.fields import STAGE
from monitor.intake.claimed_tags import claimed_tags
from monitor.intake.otlp.trace import Trace, base_record
from monitor.intake.otlp.wire import Span
from monitor.intake.producer_record import ProducerRecord
from monitor.records import RequestOutcome

MODEL = "triton.model_name"
_SPANS = {
    "queue_time": ("QUEUE_START", "COMPUTE_START"),
    "preprocess_time": ("COMPUTE_START", "COMPUTE_INPUT_END"),
    "compute_time": ("COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START"),
    "postprocess_time": ("COMPUTE_OUTPUT_START", "COMPUTE_END"),
}


class Triton:
    """The model's span is the request; its parent has the time with transport."""

    name = "triton"

    def is_request(self, span: Span) -> bool:
        """A span that names its model; steps are sorted out when the trace is put together."""
        return MODEL in span.attributes

    def is_part(self, span: Span) -> bool:
        """The spans around it."""
        return span.name in ("InferRequest", "compute") and "triton" in span.scope.lower()

    def read(self, span: Span, trace: Trace) -> ProducerRecord:
        """The request of a model's span."""
        around = next((up for up in trace.ancestors(span) if up.name == "InferRequest"), None)
        times = {event.name: event.at for event in span.events}
        steps = []
        for child in trace.children(span):
            times |= {event.name: event.at for event in child.events}
            if MODEL in child.attributes:
                steps.append(child)
        fields: dict[str, Any] = {
            field: (times[end] - times[start]) / 1e6
            for field, (start, end) in _SPANS.items()
            if start in times and end in times and times[end] >= times[start]
        }
        if around is not None:
            fields["latency"] = around.milliseconds
        for step in steps:
            name = f"{STAGE}{str(step.attributes[MODEL])[:80]}"
            fields[name] = fields.get(name, 0.0) + step.milliseconds
        stamped = {*times, *(event.name for event in (around.events if around else ()))}
        version, name = span.attributes.get("triton.model_version"), span.attributes[MODEL]
        told = span.attributes.get("triton.request_id")
        made = base_record(
            span,
            (name,),
            fields=fields,
            attributes={"triton.request_id": told} if isinstance(told, str) and told else {},
            request_tags={
                **({"model_version": str(version)} if version not in (None, "") else {}),
                **claimed_tags(span.attributes),
                "runtime": "triton",
            },
        )
        outcome, why = _outcome(stamped, has_steps=bool(steps))
        if outcome is RequestOutcome.ANSWERED:
            return made
        return replace(made, outcome=outcome, outcome_reason=why)


def _outcome(stamped: set[str], *, has_steps: bool) -> tuple[RequestOutcome, str]:
    """How a request ended, by the stamps that its spans lack."""
    if "REQUEST_START" in stamped and "REQUEST_END" not in stamped:
        return RequestOutcome.FAILED, "Triton never ended the request: its queue was full"
    computed = has_steps or "COMPUTE_START" in stamped
    if "INFER_RESPONSE_COMPLETE" in stamped and not computed:
        return RequestOutcome.CACHED, "no compute: from the response cache, or timed out in queue"
    return RequestOutcome.ANSWERED, ""


TRITON = Triton()
