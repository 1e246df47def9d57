"""MLflow traces as JSON, two generations. Pure.

3.x: `info.trace_id`, `request_time`, `execution_duration_ms`, `state`; spans in OTLP's words with
ids in base64. 2.x: `info.request_id`, `timestamp_ms`, `execution_time_ms`, `status`; spans with
`context`. Every attribute's value is a JSON text of its own in both. Reference: mlflow 3.18,
`mlflow/entities/trace.py`, `trace_info.py`, `trace_info_v2.py`, `span.py`, `assessment.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.intake.bodies.openai import looks_like_openai, read_openai_values
from monitor.intake.producer_files.base import (
    BadRecord,
    FileFormat,
    Gathered,
    ReadOptions,
    each_entry,
)
from monitor.intake.producer_files.moments import epoch_moment, moment_of
from monitor.intake.producer_files.payloads import PayloadFault, json_value
from monitor.intake.producer_files.sources import Head, SourceFile
from monitor.intake.producer_files.versions import tags_said, version_tags
from monitor.intake.producer_record import ProducerLabel, ProducerRecord
from monitor.records import RejectionReason, RequestOutcome

MOST_SPANS = 10_000
_FAILED = frozenset({"ERROR", "TRACE_STATUS_ERROR"})
_OPEN = frozenset({"IN_PROGRESS", "TRACE_STATUS_IN_PROGRESS"})
_TOKENS = {"input_tokens": "prompt_tokens", "output_tokens": "output_tokens",
           "cache_read_input_tokens": "cached_tokens"}  # fmt: skip


def _read(
    entry: Mapping[str, Any], _: SourceFile, options: ReadOptions, gathered: Gathered
) -> None:
    info, data = _object(entry.get("info")), _object(entry.get("data"))
    name = _text(info.get("trace_id")) or _text(info.get("request_id"))
    if name is None:
        raise BadRecord(RejectionReason.MISSING_ID, "info has no trace_id or request_id")
    state = str(info.get("state") or info.get("status") or "")
    if state in _OPEN:
        gathered.ignore("traces that are still in progress: import them when they ended")
        return
    spans = [each for each in _list(data.get("spans"))[:MOST_SPANS] if isinstance(each, Mapping)]
    if len(_list(data.get("spans"))) > MOST_SPANS:
        gathered.note(f"only the first {MOST_SPANS} spans of a trace are read")
    root = next((span for span in spans if _parent(span) is None), {})
    record = _record(name, info, spans, root, state in _FAILED, options)
    gathered.add(record)
    for assessment in _list(info.get("assessments")):
        label = _label(_object(assessment), record, options)
        if label is None:
            gathered.note("assessments without a value (an error of their judge, or invalid)")
        else:
            gathered.label(label)


def _record(
    name: str,
    info: Mapping[str, Any],
    spans: list[Mapping[str, Any]],
    root: Mapping[str, Any],
    failed: bool,
    options: ReadOptions,
) -> ProducerRecord:
    about = {**_object(info.get("request_metadata")), **_object(info.get("trace_metadata"))}
    tags, said = _pairs(info.get("tags")), _attributes(root)
    asked = said.get("mlflow.spanInputs", _json(data_of(info, "request")))
    answer = said.get("mlflow.spanOutputs", _json(data_of(info, "response")))
    base = _bodies(asked, answer)
    fields = {**base.fields, **_tokens(about, said), **_stages(spans, root)}
    took = info.get("execution_duration_ms", info.get("execution_time_ms"))
    if isinstance(took, (int, float)) and not isinstance(took, bool):
        fields["latency"] = float(took)
    session = _text(about.get("mlflow.trace.session"))
    if session is not None:
        fields["conversation"] = session
    client = _text(info.get("client_request_id"))
    return ProducerRecord(
        request_id=name,
        event_time=_when(info, options, name),
        models=_models(about, tags, said, base),
        outcome=RequestOutcome.FAILED if failed else base.outcome,
        outcome_reason=_reason(root) if failed else base.outcome_reason,
        fields=fields,
        inputs=base.inputs,
        outputs=base.outputs,
        attributes={**base.attributes, **_told(tags, said),
                    **({"client_request_id": client} if client else {})},
        request_tags={**base.request_tags, **_versions(about, tags, said)},
        joins=base.joins,
    )  # fmt: skip


def data_of(info: Mapping[str, Any], side: str) -> Any:
    """A preview, where the spans have no inputs or outputs; it may be cut off."""
    return info.get(f"{side}_preview")


def _bodies(asked: Any, answer: Any) -> ProducerRecord:
    """Inputs and outputs as they are, read as an OpenAI exchange where they are one."""
    if looks_like_openai(asked, answer):
        return read_openai_values(asked, answer).record("", None)
    inputs = asked if isinstance(asked, Mapping) else {} if asked is None else {"0": asked}
    outputs = answer if isinstance(answer, Mapping) else {} if answer is None else {"0": answer}
    return ProducerRecord("", None, inputs=inputs, outputs=outputs)


def _attributes(span: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of a span, each decoded from its JSON text."""
    found = _object(span.get("attributes"))
    return {name: _json(value) if isinstance(value, str) else value
            for name, value in found.items()}  # fmt: skip


def _json(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return json_value(text)
    except PayloadFault:
        return text


def _tokens(about: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    used = _json(about.get("mlflow.trace.tokenUsage")) or said.get("mlflow.chat.tokenUsage")
    return {
        field: used[name]
        for name, field in _TOKENS.items()
        if isinstance(used, Mapping) and isinstance(used.get(name), int)
    }


def _stages(spans: list[Mapping[str, Any]], root: Mapping[str, Any]) -> dict[str, float]:
    """Times of the root's own steps by name; steps of one name add up."""
    found: dict[str, float] = {}
    for span in spans:
        start = span.get("start_time_unix_nano", span.get("start_time"))
        end = span.get("end_time_unix_nano", span.get("end_time"))
        if span is root or _parent(span) != _id(root):
            continue
        if isinstance(start, int) and isinstance(end, int):
            name = f"stage.{str(span.get('name'))[:80]}"
            found[name] = found.get(name, 0.0) + (end - start) / 1e6
    return found


def _parent(span: Mapping[str, Any]) -> Any:
    return span.get("parent_span_id") or span.get("parent_id") or None


def _id(span: Mapping[str, Any]) -> Any:
    return span.get("span_id") or _object(span.get("context")).get("span_id")


def _versions(
    about: Mapping[str, Any], tags: Mapping[str, Any], said: Mapping[str, Any]
) -> dict[str, str]:
    """The logged model is the surest version; then a `model_version` of the trace or its root."""
    found: dict[str, str] = {}
    for source in (said, tags, about):
        found |= tags_said(source, "mlflow", bare=True)
    return {**found, **version_tags("mlflow", about.get("mlflow.modelId"))}


def _models(
    about: Mapping[str, Any],
    tags: Mapping[str, Any],
    said: Mapping[str, Any],
    base: ProducerRecord,
) -> tuple[str, ...]:
    names = (tags.get("model"), said.get("model"), tags.get("mlflow.traceName"),
             about.get("mlflow.modelId"), *base.models)  # fmt: skip
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name))


def _told(tags: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in tags.items() if not name.startswith("mlflow.")}
    more = {name: value for name, value in said.items() if not name.startswith("mlflow.")}
    kind = said.get("mlflow.spanType")
    return {**more, **own, **({"mlflow.span_type": kind} if isinstance(kind, str) else {})}


def _when(info: Mapping[str, Any], options: ReadOptions, name: str) -> Any:
    if info.get("timestamp_ms") is not None:
        return epoch_moment(info["timestamp_ms"], 1.0, name)
    return moment_of(info.get("request_time"), options, name)


def _label(
    told: Mapping[str, Any], record: ProducerRecord, options: ReadOptions
) -> ProducerLabel | None:
    held = _object(told.get("feedback")) or _object(told.get("expectation"))
    value = held.get("value")
    if value is None or told.get("valid") is False:
        return None
    if told.get("last_update_time_ms") or told.get("create_time_ms"):
        observed = epoch_moment(
            told.get("last_update_time_ms") or told["create_time_ms"], 1.0, record.request_id
        )
    else:
        at = told.get("last_update_time") or told.get("create_time")
        observed = moment_of(at, options, record.request_id)
    source = _object(told.get("source"))
    return ProducerLabel(
        request_id=record.request_id,
        value=value,
        observed_at=observed,
        label=_text(told.get("assessment_name")) or _text(told.get("name")),
        source=_text(source.get("source_id")) or _text(source.get("source_type")),
        event_time=record.event_time,
        models=record.models,
    )


def _reason(root: Mapping[str, Any]) -> str:
    """Messages are left out: they may hold what the request held."""
    kinds = [
        _json(_object(event.get("attributes")).get("exception.type"))
        for event in _list(root.get("events"))
        if isinstance(event, Mapping)
    ]
    kind = next((k for k in kinds if isinstance(k, str)), None)
    return "the trace ended with an error" + (f": {kind[:80]}" if kind else "")


def _pairs(value: Any) -> Mapping[str, Any]:
    """Tags as an object, or as the list of keys and values of the older service."""
    if isinstance(value, list):
        return {
            str(p["key"]): p.get("value") for p in value if isinstance(p, Mapping) and "key" in p
        }
    return _object(value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _recognises(head: Head) -> bool:
    info, data = _object(head.entry.get("info")), _object(head.entry.get("data"))
    identified = "trace_id" in info or ("request_id" in info and "timestamp_ms" in info)
    return identified and ("spans" in data or "request_time" in info or "timestamp_ms" in info)


MLFLOW_TRACE = FileFormat(
    name="mlflow-trace",
    producer="MLflow trace JSON",
    gives=("inputs and outputs", "latency and stages", "tokens", "assessments as labels",
           "git commit and logged model"),
    lacks=("queue time", "runtime and hardware", "cached tokens unless the flavour logs them"),
    recognises=_recognises,
    read=each_entry(_read),
)  # fmt: skip
