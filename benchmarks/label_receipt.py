"""Labels over HTTP into the real collector, and raw COPY of the same labels into the same table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import adbc_driver_postgresql.dbapi as adbc
import psycopg
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.bodies import NDJSON, Bodies, arrow_bodies, sliced
from benchmarks.collector import Server, timed_send
from benchmarks.data import MODEL
from benchmarks.database import Workspace
from benchmarks.processes import family, peak_megabytes
from benchmarks.senders import Target
from benchmarks.stored_rows import reading_context
from benchmarks.timing import Run
from monitor.intake.arrow_labels import labels_of_table
from monitor.store.engine import Role
from monitor.store.partitions import prepare_label_months

RAW, ARROW, NDJSON_ONE = "raw COPY, one connection", "Arrow, 1 sender", "NDJSON, 1 sender"
MANY_SENDERS = 4
_WARM_BODIES = 2


@dataclass(frozen=True)
class LabelMaterial:
    """The same labels as stored tables and as bodies, encoded beforehand."""

    raw: tuple[pa.Table, ...]
    arrow: Bodies
    ndjson: Bodies


def encode(place: Workspace, labels: pa.Table, size: int) -> LabelMaterial:
    """Labels in bodies and transactions of `size`."""
    tables = sliced(labels, size)
    context = reading_context(place.model, size, datetime.now(UTC))
    raw = []
    for table in tables:
        batch = labels_of_table(table, context)
        if batch.rejections:
            raise AssertionError(f"a benchmark label was rejected: {batch.rejections[0]}")
        raw.append(batch.table)
    lines = tuple(label_lines(table) for table in tables)
    n = labels.num_rows
    return LabelMaterial(tuple(raw), arrow_bodies(tables), Bodies(NDJSON, lines, n, n))


def contenders_of(
    place: Workspace, target: Target, server: Server, material: LabelMaterial
) -> dict[str, Callable[[], Run]]:
    """Each empties the label table first. One sender, or four on connections of their own."""

    def http(bodies: Bodies, senders: int) -> Callable[[], Run]:
        def run() -> Run:
            empty_labels(place)
            return send_labels(target, server, bodies, senders)

        return run

    return {
        RAW: lambda: raw_copy(place, material.raw),
        ARROW: http(material.arrow, 1),
        NDJSON_ONE: http(material.ndjson, 1),
        f"Arrow, {MANY_SENDERS} senders": http(material.arrow, MANY_SENDERS),
        f"NDJSON, {MANY_SENDERS} senders": http(material.ndjson, MANY_SENDERS),
    }


def send_labels(target: Target, server: Server, bodies: Bodies, senders: int = 1) -> Run:
    """Send bodies of labels; beside the time the most memory that the collector ever held."""
    there = replace(target, path=f"/v1/labels?model={MODEL}")
    run = timed_send(there, server, bodies, senders)
    peak = peak_megabytes(family(server.collector))
    return Run(run.seconds, run.rows, {**run.extra, "collector_peak_mb": peak})


def warm_up(place: Workspace, target: Target, server: Server, material: LabelMaterial) -> None:
    """A few bodies from many senders, so that every worker has its connections open."""
    months = pc.unique(pc.strftime(material.raw[-1]["observed_at"], "%Y-%m-01"))
    first = pc.unique(pc.strftime(material.raw[0]["observed_at"], "%Y-%m-01"))
    days = {
        datetime.fromisoformat(text).date() for text in [*months.to_pylist(), *first.to_pylist()]
    }
    prepare_label_months(place.engine, days, Role.OWNER)
    for whole in (material.arrow, material.ndjson):
        for body in whole.bodies[:_WARM_BODIES]:
            empty_labels(place)
            n = next(len(table) for table in material.raw)
            few = Bodies(whole.content_type, (body,), n, n)
            send_labels(target, server, few)


def raw_copy(place: Workspace, tables: tuple[pa.Table, ...]) -> Run:
    """COPY the labels as they are stored into the empty table, a transaction a body's rows.

    One connection, nothing else written: no marks, no counts, no check of anything.
    """
    empty_labels(place)
    with adbc.connect(place.url) as connection:
        started = time.perf_counter()
        for table in tables:
            with connection.cursor() as cursor:
                cursor.adbc_ingest("label", table, mode="append")
            connection.commit()
        seconds = time.perf_counter() - started
    return Run(seconds, sum(table.num_rows for table in tables))


def empty_labels(place: Workspace) -> None:
    """Remove every label and what intake noted of it, and start from a settled database."""
    with psycopg.connect(place.url, autocommit=True) as connection:
        connection.execute("truncate label, label_mark")
    place.settle("label")


def label_lines(table: pa.Table) -> bytes:
    """Labels as newline-delimited JSON."""
    ids = table["request_id"].to_pylist()
    truths = ["true" if value else "false" for value in table["value"].to_pylist()]
    times = pc.strftime(table["observed_at"], "%Y-%m-%dT%H:%M:%SZ").to_pylist()
    return "".join(
        f'{{"request_id":"{name}","value":{truth},"observed_at":"{when}"}}\n'
        for name, truth, when in zip(ids, truths, times, strict=True)
    ).encode()
