"""Encodes requests and labels for the collector: Arrow, and every tenth body as gzipped NDJSON.

Missing values are null on the wire. Knows no network.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from monitor.demo.flights import CATEGORY_FEATURES, FEATURES, Flights
from monitor.demo.plan import BodyKind
from monitor.demo.router import STAGES, Answers

ARROW = "application/vnd.apache.arrow.stream"
NDJSON = "application/x-ndjson"
NDJSON_EVERY = 10
INTEGER_FEATURES = ("hour", "minute")

_UTC = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class Body:
    """Bytes to send with their headers; `rows` is the number of records inside."""

    kind: BodyKind
    rows: int
    content: bytes
    headers: dict[str, str]


def request_table(
    flights: Flights, answers: Answers, deployment_ids: NDArray[np.int32]
) -> pa.Table:
    """One row a request: id, time, deployment number, features as seen, score, latencies."""
    columns: dict[str, pa.Array] = {
        "request_id": pa.array(flights.request_id, pa.string()),
        "event_time": pa.array(flights.event_time, _UTC),
        "deployment": pa.array(deployment_ids, pa.int32()),
        "score": pa.array(answers.score),
        "predicted_late": pa.array(answers.predicted_late),
    }
    columns |= {name: _feature(name, answers.features[name]) for name in FEATURES}
    columns |= {name: pa.array(answers.latencies[name]) for name in STAGES}
    return pa.table(columns)


def label_table(flights: Flights) -> pa.Table:
    """One row a label: whose it is, whether the flight was late, and when that was seen."""
    return pa.table(
        {
            "request_id": pa.array(flights.request_id, pa.string()),
            "value": pa.array(flights.late == 1),
            "observed_at": pa.array(flights.observed_at, _UTC),
            "event_time": pa.array(flights.event_time, _UTC),
        }
    )


def encode(kind: BodyKind, number: int, table: pa.Table) -> Body:
    """Arrow for most bodies; every tenth takes the other road, NDJSON with gzip."""
    if number % NDJSON_EVERY == NDJSON_EVERY - 1:
        content = gzip.compress(_ndjson(table), compresslevel=1, mtime=0)
        headers = {"Content-Type": NDJSON, "Content-Encoding": "gzip"}
    else:
        content, headers = _arrow(table), {"Content-Type": ARROW}
    return Body(kind, table.num_rows, content, headers)


def training_table(flights: Flights, scores: NDArray[np.float64], threshold: float) -> pa.Table:
    """The training months as a reference file: features, score, prediction and label."""
    columns: dict[str, pa.Array] = {
        "request_id": pa.array(flights.request_id, pa.string()),
        "event_time": pa.array(flights.event_time, _UTC),
        "score": pa.array(scores),
        "predicted_late": pa.array(scores >= threshold),
        "late": pa.array(flights.late == 1, mask=~flights.labelled),
    }
    columns |= {name: _feature(name, flights.features[name]) for name in FEATURES}
    return pa.table(columns)


def _feature(name: str, values: NDArray[Any]) -> pa.Array:
    if name in CATEGORY_FEATURES:
        return pa.array(values, pa.string())
    numbers = pa.array(values, pa.float64(), from_pandas=True)
    if name in INTEGER_FEATURES and not (values % 1).any():
        return numbers.cast(pa.int64())
    return numbers


def _arrow(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _ndjson(table: pa.Table) -> bytes:
    return msgspec.json.Encoder().encode_lines(table.to_pylist())
