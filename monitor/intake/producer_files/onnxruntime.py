"""ONNX Runtime's profile: a Chrome trace, one event a line. Pure.

`ts` and `dur` are microseconds from the profile's start, which stands in the file's name in local
time. A file whose session did not end has no closing bracket; its events are read all the same.
Reference: onnxruntime 1.32, `onnxruntime/core/common/profiler.cc`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from monitor.intake.producer_files.base import (
    BadRecord,
    FileFormat,
    Gathered,
    Piece,
    ReadOptions,
)
from monitor.intake.producer_files.moments import moment_after, moment_of
from monitor.intake.producer_files.sources import Container, Head, SourceFile, read_object
from monitor.intake.producer_record import ProducerRecord
from monitor.records import RejectionReason

_STARTED = re.compile(r"_(\d{4}-\d\d-\d\d)_(\d\d)-(\d\d)-(\d\d)(?:_(\d{3}))?\.json")
_LOADING = frozenset({"session_initialization", "model_loading_uri", "model_loading_array",
                      "model_loading_from_saved_proto", "model_loading_istream"})  # fmt: skip
_KERNEL = "_kernel_time"
_CPU = "CPUExecutionProvider"
MOST_NODES = 200_000


@dataclass
class _Run:
    """What happened since the last run: microseconds by provider, and loading before the first."""

    by_provider: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    on_cpu: set[str] = field(default_factory=set)
    loading: float = 0.0


def _read(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[Piece]:
    for file in files:
        yield from _profile(file, options)


def _profile(file: SourceFile, options: ReadOptions) -> Iterator[Piece]:
    gathered = Gathered(file.name)
    runs: dict[str, _Run] = defaultdict(_Run)
    started, number, closed = _start(file, options), 0, False
    providers: set[str] = set()
    for place, line in file.text_lines(gathered):
        text = line.strip().rstrip(",")
        closed = closed or text == "]"
        if text in ("", "[", "]"):
            continue
        gathered.place = place
        event = read_object(text.encode("utf-8", "surrogatepass"))
        if isinstance(event, BadRecord):
            gathered.refuse(event)
            continue
        thread = f"{event.get('pid')}/{event.get('tid')}"[:80]
        run = runs[thread]
        _note_event(event, run, providers)
        if event.get("name") == "model_run" and event.get("cat") == "Session":
            try:
                _add(event, run, f"{thread}/{number}", started, gathered)
            except BadRecord as bad:
                gathered.refuse(bad)
            runs[thread] = _Run()
            number += 1
        if gathered.full:
            yield gathered.take(0.0)
    if not closed:
        gathered.note("the profile was not ended: what was written is read")
    if len(providers) > 1:
        gathered.note(f"operators ran on {', '.join(sorted(providers))}")
    yield gathered.take(1.0)


def _note_event(event: Mapping[str, Any], run: _Run, providers: set[str]) -> None:
    took, name = event.get("dur"), str(event.get("name", ""))
    if isinstance(took, bool) or not isinstance(took, (int, float)):
        return
    if name in _LOADING:
        run.loading += took
    elif event.get("cat") == "Node" and name.endswith(_KERNEL):
        args = event.get("args")
        provider = args.get("provider") if isinstance(args, Mapping) else None
        if isinstance(provider, str) and provider:
            run.by_provider[provider] += took
            providers.add(provider)
            if provider == _CPU and isinstance(args, Mapping):
                run.on_cpu.add(str(args.get("op_name"))[:80])


def _add(
    event: Mapping[str, Any],
    run: _Run,
    place: str,
    started: datetime | BadRecord,
    gathered: Gathered,
) -> None:
    if isinstance(started, BadRecord):
        raise started
    at, took = event.get("ts"), event.get("dur")
    if not isinstance(at, (int, float)) or not isinstance(took, (int, float)):
        raise BadRecord(RejectionReason.BAD_TIME, "model_run has no ts or dur")
    fields: dict[str, Any] = {"compute_time": took / 1_000, "cold_start": place.endswith("/0")}
    if fields["cold_start"] and run.loading:
        fields["load_time"] = run.loading / 1_000
    for provider, spent in run.by_provider.items():
        fields[f"stage.{provider}"] = spent / 1_000
    used = sorted(run.by_provider)
    attributes: dict[str, Any] = {"onnxruntime.providers": ",".join(used)} if used else {}
    if len(used) > 1 and run.on_cpu:
        attributes["onnxruntime.operators_on_cpu"] = ",".join(sorted(run.on_cpu))[:1_000]
    gathered.add(
        ProducerRecord(
            request_id=f"{started.isoformat()}/{place}",
            event_time=moment_after(started, at),
            fields=fields,
            attributes=attributes,
            resource_tags={
                "runtime": "onnxruntime",
                **({"runtime_backend": "+".join(used)} if used else {}),
            },
        )
    )


def _start(file: SourceFile, options: ReadOptions) -> datetime | BadRecord:
    """When the profile began: as told, or by the file's name in the writer's local time."""
    if options.clock_start is not None:
        return options.clock_start
    found = _STARTED.search(file.path.name)
    if found is None:
        return BadRecord(
            RejectionReason.MISSING_TIME,
            "times count from the profile's start, which the file's name tells no more;"
            " say it with --clock-start",
        )
    day, hours, minutes, seconds, millis = found.groups()
    try:
        return moment_of(f"{day}T{hours}:{minutes}:{seconds}.{millis or '000'}", options)
    except BadRecord as bad:
        return bad


def _recognises(head: Head) -> bool:
    if head.container not in (Container.JSON, Container.JSON_LINES):
        return False
    first = head.entry
    return {"cat", "pid", "tid", "ts", "dur", "ph", "name"} <= first.keys() and first["cat"] in (
        "Session",
        "Node",
    )


ONNX_RUNTIME = FileFormat(
    name="onnxruntime-profile",
    producer="ONNX Runtime profile",
    gives=("time in the model by run", "loading before the first run",
           "time by execution provider, so that operators that fell back to the CPU show"),
    lacks=("inputs, outputs and ids of requests", "model name and version: --model, --tag",
           "time zone of the name's start: --time-zone, or --clock-start", "failed runs"),
    recognises=_recognises,
    read=_read,
)  # fmt: skip
