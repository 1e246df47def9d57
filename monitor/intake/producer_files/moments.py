"""Times as producers write them, into moments. Pure; a time without a zone is never guessed."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from monitor.intake.producer_files.base import BadRecord, ReadOptions
from monitor.intake.times import TimeFault, read_moment
from monitor.records import RejectionReason

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_SUCH = "there is no such time"
_MOST_MILLISECONDS = 253_402_300_799_999
_NAIVE = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?", re.ASCII)
NO_ZONE = "the time has no zone; say whose clock wrote it with --time-zone, as Europe/Berlin"


def moment_of(value: Any, options: ReadOptions, request_id: str | None = None) -> datetime:
    """A time as text, or as a table's cell; raises BadRecord."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return _local(value, options, request_id)
        try:
            return value.astimezone(UTC)
        except OverflowError:
            raise BadRecord(RejectionReason.BAD_TIME, _NO_SUCH, request_id) from None
    if not isinstance(value, str) or not value.strip():
        raise BadRecord(RejectionReason.MISSING_TIME, "the entry tells no time", request_id)
    text = value.strip()
    if text.upper().endswith(" UTC"):
        text = f"{text[:-4]}Z"
    read = read_moment(text)
    if read is TimeFault.WITHOUT_ZONE or (read is TimeFault.BAD and _NAIVE.fullmatch(text)):
        return _local(_naive(text, request_id), options, request_id)
    if isinstance(read, TimeFault):
        raise BadRecord(RejectionReason.BAD_TIME, "the time is no RFC 3339 time", request_id)
    return _EPOCH + timedelta(microseconds=read)


def epoch_moment(value: Any, unit_milliseconds: float, request_id: str | None = None) -> datetime:
    """A count of units since 1970 UTC, as a number or digits; raises BadRecord."""
    try:
        count = float(value) * unit_milliseconds if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError):
        count = math.nan
    if not math.isfinite(count) or not 0 <= count <= _MOST_MILLISECONDS:
        raise BadRecord(RejectionReason.BAD_TIME, "the time is no count since 1970 UTC", request_id)
    if isinstance(value, int):
        return _EPOCH + timedelta(microseconds=round(value * (unit_milliseconds * 1_000)))
    return _EPOCH + timedelta(milliseconds=count)


def moment_after(start: datetime, microseconds: Any, request_id: str | None = None) -> datetime:
    """A moment so long after another, by a file's own clock; raises BadRecord."""
    try:
        return start + timedelta(microseconds=microseconds)
    except (OverflowError, ValueError, TypeError):
        raise BadRecord(RejectionReason.BAD_TIME, _NO_SUCH, request_id) from None


def _naive(text: str, request_id: str | None) -> datetime:
    try:
        return datetime.fromisoformat(text.replace(",", "."))
    except ValueError:
        raise BadRecord(RejectionReason.BAD_TIME, _NO_SUCH, request_id) from None


def _local(local: datetime, options: ReadOptions, request_id: str | None) -> datetime:
    if options.clock is None:
        raise BadRecord(RejectionReason.TIME_WITHOUT_ZONE, NO_ZONE, request_id)
    try:
        return options.clock.moment(local)
    except OverflowError:
        raise BadRecord(RejectionReason.BAD_TIME, _NO_SUCH, request_id) from None
    except ValueError as error:
        raise BadRecord(RejectionReason.BAD_TIME, str(error), request_id) from None
