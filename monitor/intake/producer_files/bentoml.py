"""BentoML's file monitor: one entry a call, roles in a schema file beside it. Pure.

`MONITOR/data/data.N.log` and `MONITOR/schema/schema.N.log`, newline-delimited JSON. Times are local
and have no zone. Ids are decimal; the header `x-bentoml-request-id` and OTLP write them in hex,
so they are kept in hex. Reference: BentoML 1.4, `bentoml/_internal/monitoring/default.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monitor.intake.producer_files.base import (
    BadRecord,
    FileFormat,
    Gathered,
    Piece,
    ReadOptions,
)
from monitor.intake.producer_files.moments import moment_of
from monitor.intake.producer_files.sources import Container, Head, SourceFile, read_object
from monitor.intake.producer_files.versions import version_tags
from monitor.intake.producer_record import ProducerLabel, ProducerRecord
from monitor.records import RejectionReason

_OWN = frozenset({"timestamp", "request_id", "trace_id"})
_SPAN_DIGITS, _TRACE_DIGITS = 16, 32
_MOST_SCHEMA_BYTES = 4 << 20


@dataclass(frozen=True)
class _Schema:
    roles: Mapping[str, str]
    bento: str | None
    version: str | None
    monitor: str


def hex_id(decimal: str, digits: int) -> str | None:
    """An id written in decimal, as the same id is written in hex; None when it is none."""
    if not decimal.isascii() or not decimal.isdigit() or len(decimal) > 40:
        return None
    return f"{int(decimal):0{digits}x}"


def _read(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[Piece]:
    for file in files:
        gathered = Gathered(file.name)
        if _is_schema(file.head):
            gathered.ignore()
            yield gathered.take(1.0)
            continue
        schema = _schema_beside(file)
        if not schema.roles:
            gathered.note("no schema file beside the data: all columns are matched by name alone")
        for place, entry in file.entries():
            gathered.place = place
            try:
                if isinstance(entry, BadRecord):
                    raise entry
                _add(entry, schema, options, gathered)
            except BadRecord as bad:
                gathered.refuse(bad)
            if gathered.full:
                yield gathered.take(0.0)
        yield gathered.take(1.0)


def _add(
    entry: Mapping[str, Any], schema: _Schema, options: ReadOptions, gathered: Gathered
) -> None:
    name = hex_id(str(entry.get("request_id", "")), _SPAN_DIGITS)
    if name is None:
        raise BadRecord(RejectionReason.MISSING_ID, "the entry has no request_id in digits")
    at = moment_of(entry.get("timestamp"), options, name)
    sides: dict[str, dict[str, Any]] = {"feature": {}, "prediction": {}, "target": {}, "": {}}
    for column, value in entry.items():
        if column not in _OWN:
            sides.get(schema.roles.get(column, ""), sides[""])[column] = value
    trace = hex_id(str(entry.get("trace_id", "")), _TRACE_DIGITS)
    models = tuple(filter(None, (schema.bento, schema.monitor)))
    gathered.add(
        ProducerRecord(
            request_id=name,
            event_time=at,
            models=models,
            inputs=sides["feature"],
            outputs=sides["prediction"],
            attributes={**sides[""], **({"trace_id": trace} if trace else {})},
            request_tags=version_tags("bentoml", schema.version),
        )
    )
    for value in sides["target"].values():
        if value is not None:
            gathered.label(
                ProducerLabel(name, value, at, source="bentoml", event_time=at, models=models)
            )


def _schema_beside(file: SourceFile) -> _Schema:
    """The schema of the same worker, or any of the monitor's: they are alike."""
    folder = file.path.resolve().parent.parent
    found = sorted((folder / "schema").glob("schema.*.log*"))
    worker = [path for path in found if path.name == file.path.name.replace("data.", "schema.", 1)]
    for path in (*worker, *found):
        entry = _first_entry(path)
        if entry is not None:
            about = entry.get("meta_data")
            about = about if isinstance(about, Mapping) else {}
            columns = entry.get("columns")
            roles = {
                str(c.get("name")): str(c.get("role"))
                for c in (columns if isinstance(columns, list) else [])
                if isinstance(c, Mapping)
            }
            return _Schema(roles, about.get("bento_name"), about.get("bento_version"), folder.name)
    return _Schema({}, None, None, folder.name)


def _first_entry(path: Path) -> Mapping[str, Any] | None:
    try:
        with path.open("rb") as file:
            entry = read_object(file.readline(_MOST_SCHEMA_BYTES))
    except OSError:
        return None
    return None if isinstance(entry, BadRecord) else entry


def _is_schema(head: Head) -> bool:
    about = head.entry.get("meta_data")
    return isinstance(about, Mapping) and "bento_name" in about and head.has("columns")


def _recognises(head: Head) -> bool:
    if head.container is not Container.JSON_LINES:
        return False
    if _is_schema(head):
        return True
    ids = (head.entry.get("request_id"), head.entry.get("trace_id"))
    digits = all(isinstance(each, str) and each.isdigit() for each in ids)
    return digits and isinstance(head.entry.get("timestamp"), str)


BENTOML = FileFormat(
    name="bentoml",
    producer="BentoML file monitor",
    gives=("features, predictions and targets by their roles", "bento name",
           "bento version unless it is `not available`"),
    lacks=("time zone: say it with --time-zone", "latency", "failed requests",
           "runtime and hardware"),
    recognises=_recognises,
    read=_read,
)  # fmt: skip
