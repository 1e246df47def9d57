"""Spans of MLflow tracing: every attribute is a JSON text; the root span is the request. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.fields import STAGE
from monitor.intake.bodies.openai import looks_like_openai, read_openai_values
from monitor.intake.otlp.trace import Trace, base_record
from monitor.intake.otlp.wire import Span
from monitor.intake.producer_files.payloads import PayloadFault, json_value
from monitor.intake.producer_files.versions import tags_said, version_tags
from monitor.intake.producer_record import ProducerRecord

_TOKENS = {"input_tokens": "prompt_tokens", "output_tokens": "output_tokens",
           "cache_read_input_tokens": "cached_tokens"}  # fmt: skip
_TRACE = "mlflow.traceRequestId"


class MlFlow:
    """The root of a trace; its own children are its stages."""

    name = "mlflow"

    def is_request(self, span: Span) -> bool:
        """The root span of a trace of MLflow."""
        return not span.parent_id and self._is_ours(span)

    def is_part(self, span: Span) -> bool:
        """All others."""
        return self._is_ours(span)

    def read(self, span: Span, trace: Trace) -> ProducerRecord:
        """The request of a trace."""
        said = {name: _json(value) for name, value in span.attributes.items()}
        asked, answer = said.get("mlflow.spanInputs"), said.get("mlflow.spanOutputs")
        body = _body(asked, answer)
        fields: dict[str, Any] = {**body.fields, **_tokens(said.get("mlflow.chat.tokenUsage"))}
        for child in trace.children(span):
            name = f"{STAGE}{child.name[:80]}"
            fields[name] = fields.get(name, 0.0) + child.milliseconds
        told = said.get(_TRACE)
        return base_record(
            span,
            (said.get("model"), said.get("mlflow.modelId"), *body.models, span.name),
            request_id=told if isinstance(told, str) else None,
            fields=fields,
            inputs=body.inputs,
            outputs=body.outputs,
            attributes={name: v for name, v in said.items() if not name.startswith("mlflow.")},
            request_tags={
                **body.request_tags,
                **tags_said(said, "mlflow", bare=True),
                **version_tags("mlflow", said.get("mlflow.modelId")),
            },
        )

    def _is_ours(self, span: Span) -> bool:
        return "mlflow.spanType" in span.attributes or _TRACE in span.attributes


def _json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json_value(value)
    except PayloadFault:
        return value


def _body(asked: Any, answer: Any) -> ProducerRecord:
    if looks_like_openai(asked, answer):
        return read_openai_values(asked, answer).record("", None)
    inputs = asked if isinstance(asked, Mapping) else {} if asked is None else {"0": asked}
    outputs = answer if isinstance(answer, Mapping) else {} if answer is None else {"0": answer}
    return ProducerRecord("", None, inputs=inputs, outputs=outputs)


def _tokens(used: Any) -> dict[str, Any]:
    if not isinstance(used, Mapping):
        return {}
    return {field: used[n] for n, field in _TOKENS.items() if isinstance(used.get(n), int)}


MLFLOW = MlFlow()
