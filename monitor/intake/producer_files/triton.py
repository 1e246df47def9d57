"""Triton's trace file: fragments that share an id, in no order. Pure.

`ns` is a monotonic clock (nanoseconds since the machine started), so an event time needs the moment
at which it stood at zero. A fragment with `parent_id` is a step of an ensemble, not a request.
Reference: Triton Inference Server, `docs/user_guide/trace.md`, run with 2.51.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from monitor.intake.producer_files.base import BadRecord, FileFormat, Gathered, Piece, ReadOptions
from monitor.intake.producer_files.moments import moment_after
from monitor.intake.producer_files.payloads import PayloadFault, tensor_rows
from monitor.intake.producer_files.sources import Container, Head, SourceFile
from monitor.intake.producer_record import ProducerRecord
from monitor.intake.text_cells import TextCell
from monitor.records import RejectionReason, RequestOutcome

_SPANS = {
    "queue_time": (("QUEUE_START", "COMPUTE_START"),),
    "compute_time": (("COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START"),),
    "preprocess_time": (("COMPUTE_START", "COMPUTE_INPUT_END"),),
    "postprocess_time": (("COMPUTE_OUTPUT_START", "COMPUTE_END"),),
    "latency": (
        ("HTTP_RECV_START", "HTTP_SEND_END"),
        ("GRPC_WAITREAD_END", "GRPC_SEND_END"),
        ("REQUEST_START", "REQUEST_END"),
    ),
}
_STARTS = ("HTTP_RECV_START", "GRPC_WAITREAD_END", "REQUEST_START", "QUEUE_START")
_NO_CLOCK = (
    "times count from the machine's start; say when that was with --clock-start"
    " (`uptime -s` on the server's machine, with its zone)"
)
MOST_TENSOR_VALUES = 100_000


@dataclass
class _Trace:
    """Fragments of one id, put together."""

    place: int
    said: dict[str, Any] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    inputs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    outputs: dict[str, Mapping[str, Any]] = field(default_factory=dict)


def _read(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[Piece]:
    for file in files:
        gathered = Gathered(file.name)
        traces: dict[Any, _Trace] = {}
        for place, entry in file.entries():
            gathered.place = place
            if isinstance(entry, BadRecord):
                gathered.refuse(entry)
            elif isinstance(entry.get("id"), (int, str)):
                _join(entry, traces.setdefault(entry["id"], _Trace(place)))
            else:
                told = "the fragment has no id of its trace"
                gathered.refuse(BadRecord(RejectionReason.MISSING_ID, told))
        steps = _steps(traces)
        for number, trace in traces.items():
            if trace.said.get("parent_id") is not None and trace.said["parent_id"] in traces:
                gathered.ignore("steps of ensembles: told as stages of their request")
                continue
            try:
                _add(number, trace, steps.get(number, {}), options, gathered)
            except BadRecord as bad:
                gathered.refuse(bad, trace.place)
            if gathered.full:
                yield gathered.take(0.0)
        yield gathered.take(1.0)


def _join(entry: Mapping[str, Any], trace: _Trace) -> None:
    for key in ("model_name", "model_version", "request_id", "parent_id"):
        if isinstance(entry.get(key), (int, str)) and entry[key] != "":
            trace.said[key] = entry[key]
    times = entry.get("timestamps")
    for each in times if isinstance(times, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("ns"), int):
            trace.times.setdefault(str(each.get("name")), each["ns"])
    tensor, activity = entry.get("tensor"), entry.get("activity")
    if isinstance(tensor, Mapping):
        side = trace.inputs if activity == "TENSOR_QUEUE_INPUT" else trace.outputs
        side.setdefault(str(tensor.get("name")), tensor)


def _steps(traces: Mapping[Any, _Trace]) -> dict[Any, dict[str, float]]:
    found: dict[Any, dict[str, float]] = {}
    for trace in traces.values():
        took = _span(trace, *_SPANS["latency"])
        if trace.said.get("parent_id") is not None and took is not None:
            stages = found.setdefault(trace.said["parent_id"], {})
            name = f"stage.{str(trace.said.get('model_name'))[:80]}"
            stages[name] = stages.get(name, 0.0) + took
    return found


def _add(
    number: Any,
    trace: _Trace,
    stages: Mapping[str, float],
    options: ReadOptions,
    gathered: Gathered,
) -> None:
    start = next((trace.times[name] for name in _STARTS if name in trace.times), None)
    told = trace.said.get("request_id")
    name = told if isinstance(told, str) else f"triton-{number}-{start}"
    if start is None:
        raise BadRecord(RejectionReason.MISSING_TIME, "the trace has no time of its start", name)
    if options.clock_start is None:
        raise BadRecord(RejectionReason.MISSING_TIME, _NO_CLOCK, name)
    spans = {field: _span(trace, *pairs) for field, pairs in _SPANS.items()}
    cached = _is_cached(trace) and not stages
    model, version = trace.said.get("model_name"), trace.said.get("model_version")
    gathered.add(
        ProducerRecord(
            request_id=name,
            event_time=moment_after(options.clock_start, start // 1_000, name),
            models=(model,) if isinstance(model, str) else (),
            outcome=RequestOutcome.CACHED if cached else RequestOutcome.ANSWERED,
            fields={**{k: v for k, v in spans.items() if v is not None}, **stages},
            inputs=_values(trace.inputs, gathered),
            outputs=_values(trace.outputs, gathered),
            attributes={"triton.trace_id": number},
            request_tags={"model_version": str(version)} if isinstance(version, int) else {},
            resource_tags={"runtime": "triton"},
        ),
        trace.place,
    )


def _is_cached(trace: _Trace) -> bool:
    """Answered without computing: the response cache stamps nothing of its own (2.51.0)."""
    return "COMPUTE_START" not in trace.times and "INFER_RESPONSE_COMPLETE" in trace.times


def _span(trace: _Trace, *pairs: tuple[str, str]) -> float | None:
    """Milliseconds of the first pair that has both ends."""
    for start, end in pairs:
        if start in trace.times and end in trace.times:
            return (trace.times[end] - trace.times[start]) / 1e6
    return None


def _values(tensors: Mapping[str, Mapping[str, Any]], gathered: Gathered) -> dict[str, Any]:
    """Values by tensor; a batch stays one request, as its times are those of the whole."""
    found: dict[str, Any] = {}
    for tensor, said in tensors.items():
        cells = str(said.get("data", "")).split(",", MOST_TENSOR_VALUES)
        shape = [int(d) for d in str(said.get("shape", "")).split(",") if d.strip().isdigit()]
        try:
            rows = tensor_rows([_value(cell, said.get("dtype")) for cell in cells], shape)
        except PayloadFault:
            gathered.note(
                "tensors whose values do not fit their shape (texts with commas): left out"
            )
            continue
        found[tensor] = rows[0] if len(rows) == 1 else rows
    return found


def _value(cell: str, dtype: Any) -> Any:
    text = cell.strip()
    if dtype == "BYTES":
        return TextCell(text)
    if dtype == "BOOL":
        return text in ("1", "true")
    try:
        return float(text) if str(dtype).startswith(("FP", "BF")) else int(text)
    except ValueError:
        return TextCell(text)


def _recognises(head: Head) -> bool:
    if head.container is not Container.JSON or "id" not in head.entry:
        return False
    times = head.entry.get("timestamps")
    first = times[0] if isinstance(times, list) and times else None
    stamped = isinstance(first, Mapping) and {"name", "ns"} <= first.keys()
    return stamped or {"id", "model_name", "model_version"} <= head.entry.keys()


TRITON_TRACE = FileFormat(
    name="triton-trace",
    producer="Triton trace file",
    gives=("latency, queue, compute input, compute and compute output time",
           "model version", "tensors at level TENSORS", "steps of ensembles as stages"),
    lacks=("time of day: say --clock-start", "failed requests' reasons",
           "runtime version and hardware"),
    recognises=_recognises,
    read=_read,
    share_unknown=True,
)  # fmt: skip
