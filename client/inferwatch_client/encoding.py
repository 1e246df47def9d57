"""Items as lines of JSON. Runs in the background, one record at a time: see `packer`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

from inferwatch_client.items import Item, Kind

RESERVED = frozenset(
    {"request_id", "event_time", "deployment", "tags", "outcome", "outcome_reason"}
)
NANOS = 1_000_000_000


class ReservedName(ValueError):
    """A column that bears the name of a field of every request."""


def lines_of(item: Item) -> Iterator[bytes]:
    """The records of an item as JSON.

    Raises ReservedName, or ValueError, TypeError or RecursionError for what can't be written.
    """
    if item.kind is Kind.ROWS:
        yield from _rows(item)
        return
    if item.kind is Kind.REQUEST and not RESERVED.isdisjoint(item.columns):
        raise ReservedName(_reserved_of(item))
    yield _json({**_timed(item.envelope), **item.columns})


def _rows(item: Item) -> Iterator[bytes]:
    if not RESERVED.isdisjoint(item.columns):
        raise ReservedName(_reserved_of(item))
    envelope = _timed(item.envelope)
    ids = envelope.pop("request_ids")
    columns = {name: _listed(values) for name, values in item.columns.items()}
    for row, request_id in enumerate(ids):
        values = {name: values[row] for name, values in columns.items()}
        yield _json({"request_id": request_id, **envelope, **values})


def _listed(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else values


def _reserved_of(item: Item) -> str:
    return ", ".join(sorted(RESERVED & item.columns.keys()))


def _timed(envelope: dict[str, Any]) -> dict[str, Any]:
    made = dict(envelope)
    for name in ("event_time", "observed_at"):
        moment = made.get(name)
        if type(moment) is int:
            made[name] = rfc3339(moment)
        elif isinstance(moment, datetime):
            # One without a zone is sent as it is: the collector rejects and counts it.
            made[name] = moment.isoformat()
    return made


def rfc3339(nanoseconds: int) -> str:
    """A moment since 1970 as text, to the microsecond."""
    seconds, rest = divmod(nanoseconds, NANOS)
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"


def _plain(value: Any) -> Any:
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a value of type {type(value).__name__} can't be written as JSON")


_ENCODER = json.JSONEncoder(separators=(",", ":"), default=_plain)


def _json(record: dict[str, Any]) -> bytes:
    return _ENCODER.encode(record).encode("ascii")
