"""TorchServe's logs: access log, model metrics, server metrics. Pure.

One request stands in several logs under no common key: the access log has no id, the model metrics
no status, the server metrics neither. So each request is taken from one of them: the access log,
where it is among the files, as it alone holds failed requests.
Reference: TorchServe 0.12, `docs/metrics.md` and `docs/logging.md`.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from monitor.intake.producer_files.base import (
    BadRecord,
    FileFormat,
    Gathered,
    Piece,
    ReadOptions,
)
from monitor.intake.producer_files.exchanges import outcome_of_status
from monitor.intake.producer_files.moments import epoch_moment, moment_of
from monitor.intake.producer_files.sources import Container, Head, SourceFile
from monitor.intake.producer_files.versions import version_tags
from monitor.intake.producer_record import ProducerRecord

_ACCESS = re.compile(
    r'(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{3}) .*?/\S+ "([A-Z]+) (\S+) HTTP/[\d.]+" (\d{3}) (\d+)\s*$'
)
_METRIC = re.compile(
    r"(?:\S+ - |.*\[METRICS\])([\w]+)\.(\w+):(-?[\d.eE+-]+)\|#([^|]*)"
    r"\|#(?:type:\w+\|#)?hostname:([^,|]+),(.*)$"
)
_PREDICTION = re.compile(
    r"/(?:predictions|explanations)/([^/?]+)(?:/([^/?]+))?(?:\?.*)?$"
    r"|/v[12]/models/([^/:?]+)(?:/versions/([^/:?]+))?[:/](?:predict|infer)(?:\?.*)?$"
)
_UNITS = {"ms": 1.0, "milliseconds": 1.0, "microseconds": 1e-3, "seconds": 1e3, "s": 1e3}
_STAGES = {"PredictionTime": "compute_time", "HandlerTime": "stage.handler"}
MOST_OPEN = 100_000
BOTH = (
    "model metrics: the same requests stand in the access log under no common key;"
    " import model_metrics.log alone to have them by request id instead"
)
SERVER = "server metrics: they name no request; scrape the metrics address instead"


def _read(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[Piece]:
    has_access = any(_is_access(file.head) for file in files)
    for file in files:
        if _is_access(file.head):
            yield from _access(file, options)
        else:
            yield from _metrics(file, has_access)


def _access(file: SourceFile, options: ReadOptions) -> Iterator[Piece]:
    gathered = Gathered(file.name)
    alike: Counter[str] = Counter()
    for place, line in file.text_lines(gathered):
        gathered.place = place
        found = _ACCESS.match(line)
        called = _PREDICTION.match(found[3]) if found is not None else None
        if found is None or called is None:
            gathered.ignore("lines that are no prediction (health checks, management)")
            continue
        alike[line] += 1
        name = hashlib.sha256(f"{line.strip()}\n{alike[line]}".encode()).hexdigest()[:24]
        try:
            gathered.add(_of_access(found, called, f"torchserve-{name}", options))
        except BadRecord as bad:
            gathered.refuse(bad)
        if gathered.full:
            yield gathered.take(0.0)
    yield gathered.take(1.0)


def _of_access(
    found: re.Match[str], called: re.Match[str], name: str, options: ReadOptions
) -> ProducerRecord:
    outcome, reason = outcome_of_status(int(found[4]))
    fields: dict[str, Any] = {"latency": float(found[5])}
    if reason is not None:
        fields["error_type"] = f"http_{found[4]}"
    return ProducerRecord(
        request_id=name,
        event_time=moment_of(found[1], options, name),
        models=(called[1] or called[3],),
        outcome=outcome,
        outcome_reason=reason,
        fields=fields,
        request_tags=version_tags("torchserve", called[2] or called[4]),
        resource_tags={"runtime": "torchserve"},
    )


def _metrics(file: SourceFile, has_access: bool) -> Iterator[Piece]:
    """Lines of one request come together, so a request is handed on when many others are open."""
    gathered = Gathered(file.name)
    open_requests: dict[str, tuple[int, ProducerRecord]] = {}
    for place, line in file.text_lines(gathered):
        gathered.place = place
        found = _METRIC.match(line)
        told = None if found is None else _about(found)
        if found is None or told is None or told["request"] is None:
            gathered.ignore(SERVER if found is not None else "lines that are no metric")
            continue
        if has_access:
            gathered.ignore(BOTH)
            continue
        try:
            _merge(open_requests, place, found, told)
        except BadRecord as bad:
            gathered.refuse(bad)
        if len(open_requests) > MOST_OPEN:
            yield from _hand_on(open_requests, gathered, MOST_OPEN // 2)
    yield from _hand_on(open_requests, gathered, len(open_requests))
    yield gathered.take(1.0)


def _hand_on(
    open_requests: dict[str, tuple[int, ProducerRecord]], gathered: Gathered, n: int
) -> Iterator[Piece]:
    for name in list(open_requests)[:n]:
        place, record = open_requests.pop(name)
        gathered.add(record, place)
        if gathered.full:
            yield gathered.take(0.0)


def _about(found: re.Match[str]) -> dict[str, str | None]:
    """Dimensions and tail; keys are written in mixed case and an older form has no keys."""
    dims = dict(p.split(":", 1) for p in found[4].split(",") if ":" in p)
    low = {key.lower().replace("_", ""): value for key, value in dims.items()}
    tail = found[6].split(",")
    keyed = dict(p.split(":", 1) for p in tail if ":" in p)
    plain = [p.strip() for p in tail if ":" not in p and p.strip()]
    at = keyed.get("timestamp") or next((p for p in plain if p.isdigit()), None)
    request = keyed.get("requestID") or next((p for p in plain if "-" in p), None)
    return {
        "model": low.get("modelname"), "version": low.get("modelversion"),
        "host": found[5], "at": at, "request": request,
    }  # fmt: skip


def _merge(
    open_requests: dict[str, tuple[int, ProducerRecord]],
    place: int,
    found: re.Match[str],
    told: dict[str, str | None],
) -> None:
    name = str(told["request"])
    field = _STAGES.get(found[1])
    unit = _UNITS.get(found[2].lower())
    value = float(found[3])
    if name not in open_requests:
        at = epoch_moment(told["at"], 1_000.0, name)
        record = ProducerRecord(
            request_id=name,
            event_time=at,
            models=(told["model"],) if told["model"] else (),
            fields={"replica": told["host"]},
            request_tags=version_tags("torchserve", told["version"]),
            resource_tags={"runtime": "torchserve"},
        )
        open_requests[name] = (place, record)
    first, record = open_requests[name]
    if field is not None and unit is not None:
        more = {**record.fields, field: value * unit}
        open_requests[name] = (first, _with(record, fields=more))
    else:
        attributes = {**record.attributes, f"torchserve.{found[1][:80]}": value}
        open_requests[name] = (first, _with(record, attributes=attributes))


def _with(record: ProducerRecord, **changes: Any) -> ProducerRecord:
    return ProducerRecord(**{**vars(record), **changes})


def _is_access(head: Head) -> bool:
    return bool(head.lines) and _ACCESS.match(head.lines[0]) is not None


def _is_metrics(head: Head) -> bool:
    return bool(head.lines) and _METRIC.match(head.lines[0]) is not None


def _recognises(head: Head) -> bool:
    return head.container is Container.TEXT and (_is_access(head) or _is_metrics(head))


TORCHSERVE = FileFormat(
    name="torchserve",
    producer="TorchServe logs",
    gives=("access log: latency, HTTP status, model, version where the caller asked for one",
           "model_metrics.log alone: request id, handler and prediction time"),
    lacks=("inputs and outputs", "an id that both logs share", "queue time by request",
           "time zone of the access log: --time-zone", "runtime version and hardware"),
    recognises=_recognises,
    read=_read,
)  # fmt: skip
