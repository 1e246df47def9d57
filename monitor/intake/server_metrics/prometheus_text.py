"""The text format of Prometheus, read into points of metrics.

The library's parser knows the syntax; here its families become series: the `_bucket`, `_sum` and
`_count` lines of one histogram are one point. Quantiles of summaries are left out: quantiles of
several minutes or workers can't be put together.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from monitor.intake.server_metrics.points import (
    MOST_BUCKETS,
    Amount,
    Buckets,
    MetricPoint,
    MetricRead,
    PointKind,
    usable_labels,
)

PROCESS_START = "process_start_time_seconds"
MOST_SAMPLES = 200_000
Wanted = Callable[[str], bool]


class UnreadableMetrics(ValueError):
    """The text is no Prometheus exposition; nothing of it was used."""


def read_prometheus(text: str, at: datetime, wanted: Wanted, scope: str = "") -> MetricRead:
    """The wanted families of a page of metrics, as of `at`. Raises UnreadableMetrics.

    Counts are taken to have begun at the process's start, where the page tells it.
    """
    read, samples = MetricRead(), 0
    families = []
    try:
        for family in text_string_to_metric_families(text):
            samples += len(family.samples)
            if samples > MOST_SAMPLES:
                raise UnreadableMetrics(f"it has more than {MOST_SAMPLES:,} samples")
            if family.name == PROCESS_START:
                read.process_start = _moment(family.samples)
            if wanted(family.name):
                families.append(family)
    except UnreadableMetrics:
        raise
    except (ValueError, KeyError, IndexError) as error:
        raise UnreadableMetrics(f"it is no Prometheus text: {str(error)[:200]}") from None
    for family in families:
        _read_family(family, at, scope, read)
    return read


def _moment(samples: Iterable[Any]) -> datetime | None:
    value = next((each.value for each in samples), math.nan)
    if not math.isfinite(value) or not 0 < value < 2**35:
        return None
    return datetime.fromtimestamp(value, UTC)


def _read_family(family: Any, at: datetime, scope: str, read: MetricRead) -> None:
    if family.type in ("histogram", "summary"):
        amounts = _grouped(family, read)
        kind = PointKind.CUMULATIVE
    else:
        kind = PointKind.CUMULATIVE if family.type == "counter" else PointKind.LEVEL
        amounts = _single(family, read)
    start = read.process_start if kind is PointKind.CUMULATIVE else None
    read.points += [
        MetricPoint(family.name, kind, at, amount, labels, start, scope)
        for labels, amount in amounts
    ]


def _single(family: Any, read: MetricRead) -> Iterable[tuple[tuple[tuple[str, str], ...], Amount]]:
    for sample in family.samples:
        if sample.name.endswith("_created"):
            continue
        labels = usable_labels(sample.labels)
        if labels is None:
            read.refuse(f"{family.name}: too many labels, or one too long")
        elif not math.isfinite(sample.value):
            read.refuse(f"{family.name}: {sample.value} is no number to add")
        else:
            yield labels, Amount(0, float(sample.value))


def _grouped(family: Any, read: MetricRead) -> Iterable[tuple[tuple[tuple[str, str], ...], Amount]]:
    found: dict[tuple[tuple[str, str], ...], dict[str, Any]] = defaultdict(lambda: {"le": {}})
    for sample in family.samples:
        rest = {
            name: text for name, text in sample.labels.items() if name not in ("le", "quantile")
        }
        labels = usable_labels(rest)
        if labels is None:
            read.refuse(f"{family.name}: too many labels, or one too long")
            continue
        if sample.name.endswith("_bucket"):
            found[labels]["le"][_edge(sample.labels.get("le", ""))] = float(sample.value)
        elif sample.name.endswith(("_sum", "_count")):
            found[labels][sample.name.rpartition("_")[2]] = float(sample.value)
    for labels, told in found.items():
        amount = _amount(told)
        if amount is None:
            read.refuse(f"{family.name}: a histogram whose counts do not add up")
        else:
            yield labels, amount


def _edge(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _amount(told: dict[str, Any]) -> Amount | None:
    """The counts between the edges, from counts up to each edge."""
    edges = sorted(told["le"])
    n = told.get("count", told["le"].get(math.inf))
    total = told.get("sum")
    if n is None or not math.isfinite(n) or n < 0 or any(math.isnan(each) for each in edges):
        return None
    total = total if total is not None and math.isfinite(total) else None
    if not edges:
        return Amount(n, total)
    upto = [told["le"][each] for each in edges if not math.isinf(each)]
    steps = [high - low for low, high in zip([0.0, *upto], [*upto, n], strict=True)]
    if min(steps) < 0 or len(steps) > MOST_BUCKETS:
        return None
    finite = tuple(each for each in edges if not math.isinf(each))
    return Amount(n, total, Buckets(finite, tuple(steps)))
