"""Spans of any program that says `ml.*` of its requests. Pure.

A span with `ml.model.name`, `ml.input.NAME`, `ml.output.NAME` or `ml.score` of its own is a
request; `ml.stage` makes a span under it a stage. `ml.field.NAME` gives a standard field,
`ml.outcome` says how it ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.fields import standard_field
from monitor.intake.claimed_tags import claimed_tags, claimed_words
from monitor.intake.otlp.trace import STAGE_ATTRIBUTE, Trace, base_record
from monitor.intake.otlp.wire import Span
from monitor.intake.producer_record import ProducerRecord
from monitor.records import RequestOutcome

INPUT, FEATURE, OUTPUT, FIELD = "ml.input.", "ml.feature.", "ml.output.", "ml.field."
_SIGNS = (INPUT, FEATURE, OUTPUT)
_OUTCOMES = {each.name.lower(): each for each in RequestOutcome}


class Plain:
    """Attributes of our own, for programs that are instrumented by hand."""

    name = "ml"

    def is_request(self, span: Span) -> bool:
        """Inputs, outputs, a score or a model of its own."""
        said = span.attributes
        if STAGE_ATTRIBUTE in said:
            return False
        return (
            "ml.model.name" in said or "ml.score" in said
            or any(name.startswith(_SIGNS) for name in said)
        )  # fmt: skip

    def is_part(self, span: Span) -> bool:
        """A stage of a request."""
        return STAGE_ATTRIBUTE in span.attributes

    def read(self, span: Span, trace: Trace) -> ProducerRecord:  # noqa: ARG002 - stages come later
        """The request of a span."""
        said = span.attributes
        outputs = _under(said, OUTPUT)
        if "ml.score" in said:
            outputs.setdefault("score", said["ml.score"])
        told = said.get("ml.request.id")
        return base_record(
            span,
            (),
            request_id=told if isinstance(told, str) else None,
            outcome=_OUTCOMES.get(str(said.get("ml.outcome", "")).lower()),
            fields={**claimed_words(said), **_fields(said)},
            inputs={**_under(said, INPUT), **_under(said, FEATURE)},
            outputs=outputs,
            attributes={n: v for n, v in said.items() if not n.startswith("ml.")},
            request_tags=claimed_tags(said),
        )


def _under(said: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {n.removeprefix(prefix): v for n, v in said.items() if n.startswith(prefix)}


def _fields(said: Mapping[str, Any]) -> dict[str, Any]:
    return {n: v for n, v in _under(said, FIELD).items() if standard_field(n) is not None}


PLAIN = Plain()
