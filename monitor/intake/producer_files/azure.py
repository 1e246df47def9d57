"""Azure Machine Learning data collector: structured CloudEvents, one a line. Pure.

Inputs and outputs are entries (and files) of their own, paired by `correlationid`. Data above
256 kB stands in a file of its own that `dataref` names. Reference: Azure Machine Learning,
"Collect production data from models deployed for real-time inferencing".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from monitor.intake.producer_files.base import (
    PAYLOAD_MISSING,
    BadRecord,
    FileFormat,
    Gathered,
    Piece,
    ReadOptions,
)
from monitor.intake.producer_files.exchanges import Exchange, add_exchange
from monitor.intake.producer_files.halves import Half, Halves
from monitor.intake.producer_files.moments import moment_of
from monitor.intake.producer_files.payloads import PayloadFault, json_value
from monitor.intake.producer_files.sources import Head, SourceFile
from monitor.intake.producer_files.versions import version_tags
from monitor.records import RejectionReason, RequestOutcome

TYPE = "azureml.inference."
MOST_LEVELS = 12
_SIDES = {"model_inputs": "inputs", "request": "inputs",
          "model_outputs": "outputs", "response": "outputs"}  # fmt: skip
_SOURCE = re.compile(r"onlineEndpoints/([^/]+)(?:/deployments/([^/]+))?", re.IGNORECASE)
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
NO_OUTPUTS = "no model_outputs were collected for this correlation id"


@dataclass(frozen=True)
class _Entry:
    correlation: str
    at: datetime
    endpoint: str | None
    deployment: str | None
    version: Any
    data: Any
    missing: str | None


def _read(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[Piece]:
    waiting: Halves[_Entry] = Halves()
    seen: set[str] = set()
    for file in files:
        gathered = Gathered(file.name)
        for place, entry in file.entries():
            gathered.place = place
            try:
                if isinstance(entry, BadRecord):
                    raise entry
                _take(entry, file, options, gathered, waiting, seen)
            except BadRecord as bad:
                gathered.refuse(bad)
            if gathered.full:
                yield gathered.take(0.0)
        yield gathered.take(1.0)
    yield from _left(waiting, seen)


def _take(
    entry: Mapping[str, Any],
    file: SourceFile,
    options: ReadOptions,
    gathered: Gathered,
    waiting: Halves[_Entry],
    seen: set[str],
) -> None:
    kind = str(entry.get("type", "")).removeprefix(TYPE)
    if kind not in _SIDES and kind != "model_inputs_outputs":
        if "correlationid" not in entry and "specversion" not in entry:
            gathered.ignore()  # a raw file that a dataref names
            return
        gathered.ignore(f"entries of the collection {kind[:80]!r}: neither inputs nor outputs")
        return
    told = _entry(entry, options, file)
    if told.missing:
        gathered.note(f"data that is not in the entry: {told.missing}")
    if kind == "model_inputs_outputs":
        add_exchange(gathered, _exchange(told, None), told.data, None)
        return
    side = _SIDES[kind]
    seen.add(side)
    sides = waiting.put(
        f"{told.endpoint}/{told.deployment}/{told.correlation}",
        Half(side, file.name, gathered.place, told),
    )
    if sides is not None:
        _put(told.correlation, sides, gathered, seen)


def _entry(entry: Mapping[str, Any], options: ReadOptions, file: SourceFile) -> _Entry:
    name = entry.get("correlationid") or entry.get("xrequestid") or entry.get("id")
    if not isinstance(name, str):
        raise BadRecord(RejectionReason.MISSING_ID, "the entry has no correlationid")
    found = _SOURCE.search(str(entry.get("source", "")))
    data, missing = _data(entry, name, file)
    return _Entry(
        correlation=name,
        at=moment_of(entry.get("time"), options, name),
        endpoint=found[1] if found else None,
        deployment=found[2] if found else None,
        version=entry.get("modelversion"),
        data=data,
        missing=missing,
    )


def _data(entry: Mapping[str, Any], name: str, file: SourceFile) -> tuple[Any, str | None]:
    """The entry's data, and why it is not whole."""
    part = _RANGE.fullmatch(str(entry.get("contentrange", "")))
    if part is not None and not (int(part[1]) == 0 and int(part[2]) + 1 == int(part[3])):
        return None, f"a part of its bytes only ({part[0]})"
    try:
        if entry.get("data") is not None:
            data = entry["data"]
            return (json_value(data) if isinstance(data, str) else data), None
        if isinstance(entry.get("dataref"), str):
            held = _referred(file, entry["dataref"])
            if held is None:
                return None, "dataref to a file that is not in the imported folder"
            return json_value(held.whole()), None
    except PayloadFault as fault:
        raise BadRecord(RejectionReason.UNREADABLE, str(fault), name) from None
    return None, "no data"


def _referred(file: SourceFile, reference: str) -> SourceFile | None:
    """The raw file that a reference names, by its longest end that is in the imported folder."""
    parts = [part for part in reference.split("/") if part]
    if ".." in parts:
        return None
    for n in range(min(len(parts), MOST_LEVELS), 0, -1):
        for folder in file.path.parents[:MOST_LEVELS]:
            path = folder.joinpath(*parts[-n:])
            if folder.is_relative_to(file.root) and path.is_file() and not path.is_symlink():
                return SourceFile(path, file.root)
    return None


def _put(key: str, sides: Mapping[str, Half[_Entry]], gathered: Gathered, seen: set[str]) -> None:
    asked, told = sides.get("inputs"), sides.get("outputs")
    first = asked or told
    if first is None:
        raise AssertionError(f"{key} waits without a side")
    exchange = _exchange(first.body, _missing(asked, told))
    if told is None and "outputs" in seen:
        exchange = _as_failed(exchange)
    place = first.place
    try:
        add_exchange(
            gathered, exchange, asked.body.data if asked else None,
            told.body.data if told else None, place,
        )  # fmt: skip
    except BadRecord as bad:
        gathered.refuse(bad, place)


def _left(waiting: Halves[_Entry], seen: set[str]) -> Iterator[Piece]:
    """Entries whose other side is in no file of the import."""
    for key, sides in waiting.rest():
        half = next(iter(sides.values()))
        gathered = Gathered(half.file)
        if "outputs" not in seen:
            gathered.note("no model_outputs among the files: how requests ended is not known")
        elif half.side == "inputs":
            gathered.note("inputs without outputs: stored as failed requests")
        else:
            gathered.note("outputs without inputs")
        _put(key, sides, gathered, seen)
        yield gathered.take(1.0)


def _missing(asked: Half[_Entry] | None, told: Half[_Entry] | None) -> str | None:
    why = [
        f"{side}: {half.body.missing if half is not None else 'not collected'}"
        for side, half in (("inputs", asked), ("outputs", told))
        if half is None or half.body.missing
    ]
    return "; ".join(why) or None


def _exchange(entry: _Entry, missing: str | None) -> Exchange:
    missing = missing or entry.missing
    names = (entry.endpoint, entry.deployment)
    joins = {"endpoint": entry.endpoint, "deployment": entry.deployment}
    return Exchange(
        request_id=entry.correlation,
        event_time=entry.at,
        models=tuple(name for name in names if name),
        fields={"variant": entry.deployment} if entry.deployment else {},
        attributes={PAYLOAD_MISSING: missing} if missing else {},
        request_tags=version_tags("azure", entry.version),
        joins={key: value for key, value in joins.items() if value},
    )


def _as_failed(exchange: Exchange) -> Exchange:
    return Exchange(
        **{**vars(exchange), "outcome": RequestOutcome.FAILED, "outcome_reason": NO_OUTPUTS}
    )


def _recognises(head: Head) -> bool:
    kind = head.entry.get("type")
    return isinstance(kind, str) and kind.startswith(TYPE)


AZURE = FileFormat(
    name="azure-data-collector",
    producer="Azure Machine Learning data collector",
    gives=("inputs and outputs by row, paired by correlationid", "time of collection",
           "endpoint and deployment", "model version unless it is the placeholder `default`"),
    lacks=("latency", "why a request failed", "runtime and hardware",
           "data above 256 kB unless its file is imported too"),
    recognises=_recognises,
    read=_read,
    share_unknown=True,
)  # fmt: skip
