"""OTLP metrics, protobuf or JSON, into points.

Exemplars are dropped before JSON is read: they alone hold ids, which OTLP writes as hex where
protobuf's own JSON would take them for base64.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from google.protobuf.json_format import ParseDict
from google.protobuf.json_format import ParseError as JsonParseError
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from monitor.intake.server_metrics.points import (
    MOST_BUCKETS,
    RESOURCE_MODEL,
    Amount,
    Buckets,
    MetricPoint,
    MetricRead,
    PointKind,
    usable_labels,
)

DELTA, CUMULATIVE = 1, 2
NO_VALUE_FLAG = 1
MOST_NESTING = 40
SCOPE_LABELS = ("service.namespace", "service.name", "service.instance.id", "host.name")


class UnreadableOtlp(ValueError):
    """The body is no ExportMetricsServiceRequest."""


def parse_metrics(body: bytes, *, is_json: bool) -> ExportMetricsServiceRequest:
    """The message. Raises UnreadableOtlp."""
    if not is_json:
        try:
            return ExportMetricsServiceRequest.FromString(body)
        except DecodeError as error:
            raise UnreadableOtlp(f"no OTLP metrics in protobuf: {str(error)[:200]}") from None
    try:
        value = json.loads(body)
        if not isinstance(value, dict):
            raise UnreadableOtlp("no OTLP metrics in JSON: it is no object")
        return ParseDict(
            _without_exemplars(value, MOST_NESTING),
            ExportMetricsServiceRequest(),
            ignore_unknown_fields=True,
            max_recursion_depth=MOST_NESTING,
        )
    except (JsonParseError, ValueError, RecursionError, TypeError, AttributeError) as error:
        raise UnreadableOtlp(f"no OTLP metrics in JSON: {str(error)[:200]}") from None


def _without_exemplars(value: Any, depth: int) -> Any:
    if depth == 0:
        raise UnreadableOtlp(f"no OTLP metrics in JSON: nested deeper than {MOST_NESTING}")
    if isinstance(value, dict):
        return {
            name: _without_exemplars(each, depth - 1)
            for name, each in value.items()
            if name != "exemplars"
        }
    if isinstance(value, list):
        return [_without_exemplars(each, depth - 1) for each in value]
    return value


def count_points(message: ExportMetricsServiceRequest) -> int:
    """How many data points a message holds."""
    return sum(len(_data(each).data_points) for _, each in _metrics(message) if _data(each))


def read_metrics(message: ExportMetricsServiceRequest) -> dict[str, MetricRead]:
    """Points by who told them: `SERVICE/INSTANCE`, or `otlp` where the resource does not say."""
    found: dict[str, MetricRead] = {}
    for resource, metric in _metrics(message):
        source, scope = source_of(resource), scope_of(resource)
        read = found.setdefault(source, MetricRead())
        model = resource.get(RESOURCE_MODEL)
        for point in _points(metric, read, scope):
            labels = dict(point.labels)
            if model:
                labels.setdefault(RESOURCE_MODEL, model)
            usable = usable_labels(labels)
            if usable is None:
                read.refuse(f"{point.name}: too many attributes, or one too long")
                continue
            read.points.append(
                MetricPoint(
                    point.name, point.kind, point.at, point.amount, usable, point.start, scope,
                    point.unit,
                )
            )  # fmt: skip
    return found


def source_of(resource: dict[str, str]) -> str:
    """Who tells, on one line."""
    service = resource.get("service.name", "")
    if service.startswith("unknown_service"):
        service = ""
    instance = resource.get("service.instance.id") or resource.get("host.name") or ""
    return "/".join(each[:100] for each in (service, instance) if each) or "otlp"


def scope_of(resource: dict[str, str]) -> str:
    """The process that counts: two processes never share a series."""
    named = [resource.get(name, "") for name in SCOPE_LABELS]
    return "\0".join([*named, resource.get("process.pid", "")])


def _metrics(message: ExportMetricsServiceRequest) -> Iterator[tuple[dict[str, str], Any]]:
    for group in message.resource_metrics:
        resource = _texts(group.resource.attributes)
        for scope in group.scope_metrics:
            for metric in scope.metrics:
                yield resource, metric


def _data(metric: Any) -> Any:
    kind = metric.WhichOneof("data")
    return getattr(metric, kind) if kind else None


def _points(metric: Any, read: MetricRead, scope: str) -> Iterator[MetricPoint]:
    kind = metric.WhichOneof("data")
    data = _data(metric)
    if kind is None or data is None:
        return
    name, point_kind = metric.name, _kind(kind, data)
    if kind == "sum" and data.is_monotonic and name.endswith("_total"):
        name = name.removesuffix("_total")
    if point_kind is None:
        read.refuse(f"{name}: its temporality is not told", len(data.data_points))
        return
    for point in data.data_points:
        amount = _AMOUNTS[kind](point)
        at, start = _moment(point.time_unix_nano), _moment(point.start_time_unix_nano)
        if point.flags & NO_VALUE_FLAG:
            continue  # the series ended: it says nothing at this moment, as the sender means it to
        if at is None:
            read.refuse(f"{name}: a point without a time")
        elif amount is None:
            read.refuse(f"{name}: a value that is no finite number, or counts that do not add up")
        else:
            labels = tuple(sorted(_texts(point.attributes).items()))
            yield MetricPoint(name, point_kind, at, amount, labels, start, scope, metric.unit)


def _kind(kind: str, data: Any) -> PointKind | None:
    if kind == "gauge":
        return PointKind.LEVEL
    if kind == "summary":
        return PointKind.CUMULATIVE
    if data.aggregation_temporality == CUMULATIVE:
        # A sum that may fall, such as requests in work, is a state.
        falls = kind == "sum" and not data.is_monotonic
        return PointKind.LEVEL if falls else PointKind.CUMULATIVE
    return PointKind.DELTA if data.aggregation_temporality == DELTA else None


def _number(point: Any) -> Amount | None:
    kind = point.WhichOneof("value")
    value = float(getattr(point, kind)) if kind else math.nan
    return Amount(0, value) if math.isfinite(value) else None


def _histogram(point: Any) -> Amount | None:
    total = point.sum if point.HasField("sum") and math.isfinite(point.sum) else None
    edges, counts = tuple(point.explicit_bounds), tuple(float(c) for c in point.bucket_counts)
    if not counts:
        return Amount(float(point.count), total)
    usable = len(counts) == len(edges) + 1 and len(counts) <= MOST_BUCKETS
    rising = all(low < high for low, high in itertools.pairwise(edges))
    if not usable or not rising or sum(counts) != point.count:
        return None
    return Amount(float(point.count), total, Buckets(edges, counts))


def _exponential(point: Any) -> Amount | None:
    """Buckets with their edges written out; those below zero are no durations or sizes."""
    total = point.sum if point.HasField("sum") and math.isfinite(point.sum) else None
    whole = Amount(float(point.count), total)
    positive = point.positive
    if sum(point.negative.bucket_counts) or not -10 <= point.scale <= 20:
        return whole
    counts = [float(each) for each in positive.bucket_counts]
    if not counts or len(counts) + 2 > MOST_BUCKETS:
        return whole
    exponents = range(positive.offset, positive.offset + len(counts) + 1)
    try:
        edges = tuple(2.0 ** (each * 2.0**-point.scale) for each in exponents)
    except OverflowError:
        return whole
    if sum(counts) + point.zero_count != point.count or len(set(edges)) != len(edges):
        return None
    return Amount(whole.n, total, Buckets(edges, (float(point.zero_count), *counts, 0.0)))


def _summary(point: Any) -> Amount | None:
    return Amount(float(point.count), point.sum) if math.isfinite(point.sum) else None


_AMOUNTS = {
    "gauge": _number,
    "sum": _number,
    "histogram": _histogram,
    "exponential_histogram": _exponential,
    "summary": _summary,
}


def _moment(nanoseconds: int) -> datetime | None:
    if not 0 < nanoseconds < 2**63:
        return None
    return datetime.fromtimestamp(nanoseconds // 1000 / 1e6, UTC)


def _texts(attributes: Iterable[Any]) -> dict[str, str]:
    """Attributes as text; lists, maps and bytes are no labels."""
    found = {}
    for each in attributes:
        kind = each.value.WhichOneof("value")
        if kind in ("string_value", "int_value", "double_value", "bool_value"):
            value = getattr(each.value, kind)
            found[each.key] = str(value).lower() if kind == "bool_value" else str(value)
    return found
